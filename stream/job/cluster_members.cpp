#include "stream/job/cluster_members.h"

#include <algorithm>

namespace tocsin::stream {

void ClusterMembers::see(Level level, std::span<const Slot> slots, Time arrival) {
  if (level != Level::gpu && level != Level::node) return;
  auto& times = seen(level);
  for (const Slot slot : slots) {
    if (slot >= Topology::most_slots) continue;
    if (slot >= times.size()) times.resize(slot + std::size_t{1}, long_ago);
    times[slot] = std::max(times[slot], arrival);
  }
}

void ClusterMembers::gap(Time from, Time to) {
  for (auto* times : {&nodes_, &gpus_})
    for (Time& time : *times)
      if (time != long_ago && time < to) time += to - std::max(time, from);  // records can come in a hole of beats
}

void ClusterMembers::place(std::string_view node, std::string_view job) {
  if (node.empty()) return;
  const auto known = jobs_.find(node);
  if (job.empty()) {
    if (known != jobs_.end()) jobs_.erase(known);
  } else if (known != jobs_.end()) {
    if (known->second != job) known->second = job;
  } else if (jobs_.size() < Topology::most_nodes) {
    jobs_.emplace(node, job);
  }
}

void ClusterMembers::place(const Entry& entry) {
  for (const LineRecord& line : entry.lines) place(line.member.node, entry.attempt);
  for (const EventRecord& event : entry.events) place(event.member.node, entry.attempt);
}

void ClusterMembers::name_job(std::string_view node, Symbols& symbols, std::vector<EventField>& fields) const {
  const auto known = jobs_.find(node);
  const bool named =
      std::any_of(fields.begin(), fields.end(), [](const EventField& field) { return field.name == job_field; });
  if (known != jobs_.end() && !named) fields.push_back({job_field, symbols.intern(known->second)});
}

void ClusterMembers::look(Topology& topology, const std::function<void(Level, Slot)>& leaving) {
  const Time now = next_look_;
  next_look_ += between_looks;
  nodes_.resize(topology.size(Level::node), now), gpus_.resize(topology.size(Level::gpu), now);
  // A node is there while one of its GPUs is.
  for (Slot gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (gpus_[gpu] == long_ago) gpus_[gpu] = now;  // known by an event about it: its time begins
    if (const Slot node = topology.container(Level::gpu, gpu, Level::node); node != no_slot)
      nodes_[node] = std::max(nodes_[node], gpus_[gpu]);
  }
  const auto leave = [&](Level level, Slot slot) {
    leaving(level, slot);
    if (level == Level::node) jobs_.erase(std::string{topology.node_name(slot)});
    topology.retire(level, slot);
  };
  std::map<std::string_view, Slot> by_uuid;
  std::vector<Slot> moved;
  for (Slot gpu = 0; gpu < gpus_.size(); ++gpu) {
    const std::string_view uuid = topology.gpu_uuid(gpu);
    if (uuid.empty()) continue;
    const auto [other, first] = by_uuid.emplace(uuid, gpu);
    if (first) continue;
    moved.push_back(gpus_[gpu] >= gpus_[other->second] ? other->second : gpu);
    if (gpus_[gpu] >= gpus_[other->second]) other->second = gpu;
  }
  for (const Slot gpu : moved) leave(Level::gpu, gpu);
  for (Slot gpu = 0; gpu < gpus_.size(); ++gpu)
    if (topology.exists(Level::gpu, gpu) && gpus_[gpu] + kept <= now) leave(Level::gpu, gpu);
  for (Slot node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node] == long_ago) nodes_[node] = now;
    if (topology.exists(Level::node, node) && nodes_[node] + kept <= now) leave(Level::node, node);
  }
}

}  // namespace tocsin::stream
