#include "adapters/trace/traces.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "adapters/trace/probes.h"

namespace tocsin::adapters::trace {
namespace {

stream::Duration between(std::uint64_t since, std::uint64_t now) {
  return stream::Duration{static_cast<std::int64_t>(now > since ? now - since : 0)};
}

ProcessTrace trace_of(const Life& life, const kernel::process& counts) {
  ProcessTrace trace;
  trace.collectives.pid = static_cast<pid_t>(life.first);
  trace.collectives.launched = counts.launched;
  if (counts.unfinished == 0) trace.collectives.done = counts.done;
  trace.peer_launched = counts.peer_launched;
  trace.peer_done = counts.peer_done;
  GpuTrace& gpu = trace.gpu;
  gpu.kernel_launches = counts.calls[kernel::call_launch];
  gpu.graph_launches = counts.calls[kernel::call_graph];
  gpu.copies = counts.calls[kernel::call_copy];
  gpu.allocations = counts.calls[kernel::call_allocate];
  gpu.waits = counts.calls[kernel::call_wait];
  gpu.attached = counts.attached != 0 || gpu.kernel_launches + gpu.graph_launches + gpu.copies + gpu.allocations != 0;
  gpu.bytes_to_device = counts.copied[kernel::copy_to_device];
  gpu.bytes_to_host = counts.copied[kernel::copy_to_host];
  gpu.bytes_other = counts.copied[kernel::copy_on_device] + counts.copied[kernel::copy_other];
  gpu.waited = between(0, counts.waited);
  return trace;
}

std::string last_call(const kernel::group& group) {
  static constexpr std::array types = {"int8",    "uint8",   "int32",   "uint32",   "int64",       "uint64",
                                       "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
  if (group.last_function == 0) return {};
  std::string text{function_name(group.last_function)};
  text += ' ' + std::to_string(group.last_count);
  if (group.last_type < types.size()) text += std::string{" x "} + types[group.last_type];
  if (group.last_root >= 0) text += ", root " + std::to_string(group.last_root);
  return text;
}

std::string hexadecimal(std::uint64_t number) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); number != 0; number >>= 4) *digit++ = "0123456789abcdef"[number & 15];
  return text;
}

class Groups {
 public:
  explicit Groups(const Tables& tables) {
    for (const auto& [key, group] : tables.groups) {
      groups_[{life_of(key), key.object}] = {key.kind, &group};
      if (group.order != 0) of_size_[{life_of(key), group.size}].push_back(group.order);
    }
  }

  struct One {
    std::uint32_t kind = 0;
    const kernel::group* group = nullptr;
  };
  [[nodiscard]] const auto& all() const noexcept { return groups_; }
  [[nodiscard]] const kernel::group* find(const Life& life, std::uint64_t object) const {
    const auto found = groups_.find({life, object});
    return found != groups_.end() ? found->second.group : nullptr;
  }

  // A group of c10d whose name is not known goes by its place among those of its size, which is equal in its members.
  [[nodiscard]] std::string name_of(const Life& life, const One& one) const {
    const kernel::group& group = *one.group;
    if (one.kind == kernel::kind_nccl) return group.identity != 0 ? hexadecimal(group.identity) : std::string{};
    if (group.name[0] != '\0') return {group.name, ::strnlen(group.name, sizeof group.name)};
    if (group.order == 0) return {};
    const auto& orders = of_size_.at({life, group.size});
    const auto before = std::count_if(orders.begin(), orders.end(), [&](auto order) { return order < group.order; });
    return std::to_string(group.size) + " ranks, no. " + std::to_string(before + 1);
  }

 private:
  std::map<std::pair<Life, std::uint64_t>, One> groups_;
  std::map<std::pair<Life, std::uint32_t>, std::vector<std::uint64_t>> of_size_;
};

GroupTrace trace_of(const Groups& groups, const Life& life, const Groups::One& one) {
  const kernel::group& group = *one.group;
  GroupTrace trace;
  trace.library = one.kind == kernel::kind_nccl ? GroupTrace::Library::nccl : GroupTrace::Library::c10d;
  trace.name = groups.name_of(life, one);
  trace.rank = group.rank;
  trace.size = group.size;
  trace.complete = group.order != 0;
  trace.launched = group.launched;
  if (trace.library == GroupTrace::Library::c10d) trace.done = group.done;
  trace.peer_launched = group.peer_launched;
  for (std::uint64_t i = 0; i < kernel::most_functions; ++i)
    if (group.functions[i] != 0) trace.functions.emplace_back(function_name(i), group.functions[i]);
  trace.last = last_call(group);
  return trace;
}

}  // namespace

std::map<Life, ProcessTrace> traces_of(const Tables& tables, const std::vector<Life>& lives, std::uint64_t now) {
  std::map<Life, ProcessTrace> traces;
  for (const auto& [key, counts] : tables.processes) {
    const Life life = life_of(key, counts);
    if (std::find(lives.begin(), lives.end(), life) != lives.end()) traces.emplace(life, trace_of(life, counts));
  }

  const Groups groups{tables};
  for (const auto& [key, one] : groups.all()) {
    const auto trace = traces.find(key.first);
    if (trace == traces.end()) continue;
    trace->second.groups.push_back(trace_of(groups, key.first, one));
    if (one.group->order == 0) trace->second.complete = false;
  }

  std::map<Life, const kernel::work*> oldest;
  for (const auto& [key, work] : tables.works) {
    if ((work.peer != 0 && work.waiting == 0) || groups.find(life_of(key), work.group) == nullptr) continue;
    auto& first = oldest[life_of(key)];
    if (first == nullptr || work.start < first->start) first = &work;
  }
  for (const auto& [life, work] : oldest) {
    const auto trace = traces.find(life);
    if (trace == traces.end()) continue;
    const Groups::One group{kernel::kind_c10d, groups.find(life, work->group)};
    OpenCollective& open = trace->second.collectives.oldest.emplace();
    open.function = function_name(work->function);
    open.sequence = work->sequence;
    open.group = groups.name_of(life, group);
    open.group_size = group.group->size;
    open.open = between(work->peer != 0 ? work->waiting : work->start, now);
  }

  for (const auto& [key, wait] : tables.waits) {
    const auto trace = traces.find(life_of(key));
    if (trace == traces.end()) continue;
    auto& waiting = trace->second.gpu.waiting;
    const auto open = between(wait.since, now);
    if (!waiting || waiting->open < open) waiting = OpenWait{std::string{wait_name(wait.function)}, open};
  }
  return traces;
}

}  // namespace tocsin::adapters::trace
