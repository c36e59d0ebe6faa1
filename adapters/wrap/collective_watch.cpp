#include "adapters/wrap/collective_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/nccl/reader.h"
#include "adapters/wrap/supervisor.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;

namespace {

constexpr stream::Duration described_after = 2s;  // a collective that is open for so long is written down in full

// What the tracer calls kinds of calls that it counts no more.
constexpr std::array<std::string_view, 2> collectives{"c10d", "nccl"}, launches{"cuLaunchKernel", "cuGraphLaunch"};
constexpr std::array<std::string_view, 1> waits{"cuStreamSynchronize"};

// Descriptors of probes, programs and tables of the kernel.
std::vector<int> of_the_kernel() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd", error})
    if (std::filesystem::read_symlink(entry.path(), error).native().starts_with("anon_inode:"))
      found.push_back(std::atoi(entry.path().filename().c_str()));
  return found;
}

// Where our plugin is not in NCCL, its launches are known and their end is not. A process that has waited for its GPU
// for long waits for the last one.
std::optional<trace::OpenCollective> last_of_nccl(const trace::ProcessTrace& trace) {
  if (!trace.gpu.waiting || trace.collectives.oldest) return std::nullopt;
  const trace::GroupTrace* largest = nullptr;
  for (const trace::GroupTrace& group : trace.groups)
    if (group.library == trace::GroupTrace::Library::nccl && (largest == nullptr || group.size > largest->size))
      largest = &group;
  if (largest == nullptr || largest->last.empty()) return std::nullopt;
  const auto space = largest->last.find(' ');
  trace::OpenCollective open;
  open.function = largest->last.substr(0, space);
  if (space != std::string::npos) open.arguments = largest->last.substr(space + 1);
  open.sequence = largest->launched;
  open.group = largest->name, open.group_size = largest->size;
  open.open = trace.gpu.waiting->open;
  return open;
}

// Of these calls there were too many for the budget of the tracer: where their counts stand says nothing.
bool no_longer_counted(const trace::ProcessTrace& trace, std::span<const std::string_view> kinds) {
  return std::ranges::find_first_of(trace.stopped, kinds) != trace.stopped.end();
}

bool stays_open(const trace::ProcessTrace& trace) {
  const auto& oldest = trace.collectives.oldest;
  return oldest && oldest->open >= described_after && !no_longer_counted(trace, collectives);
}

bool is_in(const trace::ProcessTrace& trace, const std::string& group) {
  return !group.empty() && std::ranges::find(trace.groups, group, &trace::GroupTrace::name) != trace.groups.end();
}

void write_gpu(EntryBuilder& entry, stream::Time now, const EntryBuilder::Member& member,
               const trace::ProcessTrace& trace) {
  const trace::GpuTrace& gpu = trace.gpu;
  const auto number = [](auto count) { return static_cast<double>(count); };
  std::vector<EntryBuilder::Value> values{{"gpu_attached", gpu.attached ? 1.0 : 0.0, {}, false}};
  if (gpu.attached && !no_longer_counted(trace, launches))
    values.push_back({"kernel_launches", number(gpu.kernel_launches + gpu.graph_launches), {}, false});
  if (gpu.attached && !no_longer_counted(trace, waits)) {
    const stream::Duration waiting = gpu.waiting ? gpu.waiting->open : stream::Duration{};
    values.push_back({"cuda_waits", number(gpu.waits), {}, false});
    values.push_back({"cuda_wait_time", stream::seconds(gpu.waited + waiting), {}, false});
  }
  entry.sample(now, member, values, "tracer");
}

}  // namespace

CollectiveWatch::~CollectiveWatch() {
  if (tracer_) leave_probes();
}

void CollectiveWatch::leave_probes() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  if (::fork() == 0) {
    std::vector<int> keep = of_the_kernel();
    keep.push_back(ends[0]);
    close_all_but(keep);
    for (const int standard : {0, 1, 2}) ::close(standard);
    char byte;
    while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {}
    ::_exit(0);
  }
  [[maybe_unused]] const trace::Tracer* left = tracer_.release();  // the end of our process closes it, and the pipe
}

void CollectiveWatch::load_tracer() {
  auto started = trace::Tracer::start();
  if (started) tracer_ = std::move(*started);
  else why_not_ = started.error().message;
  // Where collectives are counted here, tocsin.py leaves out its own counts.
  if (tracer_ && !rings_.empty()) std::ofstream{rings_ / "traced"};
}

void CollectiveWatch::look(const std::unordered_map<pid_t, Process>& processes,
                           const std::map<pid_t, std::uint32_t>& ranks, stream::Time now) {
  if (!std::exchange(looked_, true)) load_tracer();
  if (!why_not_.empty() && ranks.size() > 1)
    printed_.print("collectives are not traced, so the rank of a hang may stay unnamed: " +
                   std::exchange(why_not_, {}));
  if (!note_.empty() && ranks.size() > 1 && std::filesystem::exists("/dev/nvidiactl"))
    printed_.print(std::exchange(note_, {}));
  ranks_.clear();
  if (tracer_) {
    std::vector<pid_t> pids;
    for (const auto& [pid, process] : processes) pids.push_back(pid);
    std::sort(pids.begin(), pids.end());
    tracer_->look(pids);
    for (trace::ProcessTrace& trace : tracer_->read())
      if (const auto rank = ranks.find(trace.collectives.pid); rank != ranks.end())
        ranks_.insert_or_assign(rank->second, std::move(trace));
    for (auto& [rank, trace] : ranks_)
      if (auto open = last_of_nccl(trace)) trace.collectives.oldest = std::move(open);
    for (const std::string& note : tracer_->take_notes()) printed_.print(note);
  }
  uncalled_.clear();
  for (const auto& [pid, rank] : ranks)
    if (tracer_ && !ranks_.contains(rank)) uncalled_.insert(rank);
  if (!rings_.empty()) look_at_nccl(ranks);
  std::map<std::uint32_t, Entered> entered;
  for (const auto& [rank, trace] : ranks_) {
    Entered& last = entered[rank] = entered_[rank];
    if (last.count == trace.collectives.launched) continue;
    if (last.count > 0) last.usual = std::max(now - last.since, last.usual - last.usual / 16);
    last.count = trace.collectives.launched, last.since = now;
  }
  entered_ = std::move(entered);
}

// What the plugin reports of NCCL takes the place of what the tracer counts of it, which are launches alone.
void CollectiveWatch::look_at_nccl(const std::map<pid_t, std::uint32_t>& ranks) {
  nccl::Rings rings = nccl::read_rings(rings_);
  std::error_code error;
  for (const auto& file : rings.ended) std::filesystem::remove(file, error);
  for (const stream::Error& unread : rings.unread) printed_.print(unread.message);
  for (const nccl::ProcessRing& ring : rings.processes) {
    const auto rank = ranks.find(ring.pid);
    if (rank == ranks.end() || ring.communicators.empty()) continue;
    trace::ProcessCollectives all = ring.collectives();
    if (const auto traced = ranks_.find(rank->second); traced != ranks_.end()) {
      for (const trace::GroupTrace& group : traced->second.groups) {
        if (group.library == trace::GroupTrace::Library::nccl) continue;
        all.launched += group.launched;
        if (all.done && group.done) *all.done += *group.done;
      }
      const auto& other = traced->second.collectives.oldest;
      if (other && (!all.oldest || all.oldest->open < other->open)) all.oldest = other;
    }
    ranks_[rank->second].collectives = std::move(all);
  }
}

void CollectiveWatch::write(EntryBuilder& entry, stream::Time now, const std::string& node) const {
  for (const auto& [rank, trace] : ranks_) {
    const trace::ProcessCollectives& seen = trace.collectives;
    const EntryBuilder::Member member{stream::Level::rank, rank, node, {}};
    const EntryBuilder::Value counts[] = {
        {"collective_launched", static_cast<double>(seen.launched), {}, false},
        {"collective_waiting", seen.oldest ? stream::seconds(seen.oldest->open) : 0, {}, false},
        {"collective_done", static_cast<double>(seen.done.value_or(0)), {}, false}};
    if (!no_longer_counted(trace, collectives))
      entry.sample(now, member, std::span{counts, seen.done ? 3u : 2u}, "tracer");
    if (tracer_) write_gpu(entry, now, member, trace);
  }
  for (const std::uint32_t rank : uncalled_) write_gpu(entry, now, {stream::Level::rank, rank, node, {}}, {});
  for (const auto& [rank, trace] : ranks_) {
    if (!stays_open(trace)) continue;
    const EntryBuilder::Member member{stream::Level::rank, rank, node, {}};
    const trace::OpenCollective& open = *trace.collectives.oldest;
    std::vector<EntryBuilder::Value> values = {{"collective_function", 0, open.function, true}};
    // Numbers of groups that are older than the tracer differ between ranks.
    if (trace.complete) values.push_back({"collective_number", static_cast<double>(open.sequence), {}, false});
    if (!open.arguments.empty()) values.push_back({"collective_arguments", 0, open.arguments, true});
    if (open.started) values.push_back({"collective_stage", 0, *open.started ? "started" : "entered", true});
    if (!open.group.empty()) values.push_back({"collective_group", 0, open.group, true});
    if (open.group_size > 0)
      values.push_back({"collective_group_size", static_cast<double>(open.group_size), {}, false});
    entry.sample(now, member, values, "tracer");
  }
  write_awaited(entry, now, node);
}

// A rank that is no member of a group does not hold up those that wait in it.
void CollectiveWatch::write_awaited(EntryBuilder& entry, stream::Time now, const std::string& node) const {
  std::vector<std::string> groups;
  for (const auto& [rank, trace] : ranks_) {
    if (!stays_open(trace)) continue;
    const std::string& group = trace.collectives.oldest->group;
    if (!is_in(trace, group)) return;  // NCCL's plugin has names of its own
    groups.push_back(group);
  }
  if (groups.empty()) return;
  for (const auto& [rank, trace] : ranks_) {
    if (stays_open(trace)) continue;
    const bool known = std::ranges::all_of(trace.groups, &trace::GroupTrace::complete);
    const bool awaited = std::ranges::any_of(groups, [&trace](const auto& group) { return is_in(trace, group); });
    if (!known || trace.groups.empty()) continue;
    const EntryBuilder::Value value[] = {{"collective_awaited", awaited ? 1.0 : 0.0, {}, false}};
    entry.sample(now, {stream::Level::rank, rank, node, {}}, value, "tracer");
  }
}

stream::Duration CollectiveWatch::longest_standing(stream::Time now) const {
  stream::Duration longest{};
  for (const auto& [rank, trace] : ranks_) {
    const Entered& last = entered_.at(rank);
    if (trace.collectives.oldest) longest = std::max(longest, trace.collectives.oldest->open);
    else if (last.count > 0 && now - last.since > last.usual + last.usual / 2)
      longest = std::max(longest, now - last.since);
  }
  return longest;
}

}  // namespace tocsin::adapters::wrap
