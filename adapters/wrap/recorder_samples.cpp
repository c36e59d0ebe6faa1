#include <unistd.h>

#include <algorithm>
#include <utility>

#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/recorder.h"
#include "stream/values/value.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Time;

namespace {

// Between glances at the ranks: uneven, so that they do not fall into step with the training.
constexpr stream::Duration between_glances[] = {170ms, 230ms, 190ms, 260ms, 150ms, 210ms, 240ms};

}  // namespace

EntryBuilder::Member Recorder::member(std::uint32_t rank) const { return {stream::Level::rank, rank, setup_.node, {}}; }

std::optional<double> Recorder::cpu_below(Rank& rank, Time now) const {
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto& processes = tree_->processes();
  const pid_t root = rank.worker ? rank.worker->pid() : rank.pid;
  std::map<pid_t, std::uint64_t> seen;
  std::uint64_t ticks = 0;
  for (const auto& [pid, process] : processes) {
    bool below = false;
    for (auto at = processes.find(process.parent); at != processes.end() && !below;
         at = processes.find(at->second.parent))
      below = at->first == root;
    if (!below) continue;
    char buffer[1024];
    const auto stat = read_stat(pid, buffer);
    if (!stat) continue;
    const auto before = rank.below.find(pid);
    if (before != rank.below.end() && stat->cpu_ticks > before->second) ticks += stat->cpu_ticks - before->second;
    seen.emplace(pid, stat->cpu_ticks);
  }
  rank.below = std::move(seen);
  const Time last = std::exchange(rank.below_at, now);
  if (last == stream::long_ago || now <= last) return std::nullopt;
  return static_cast<double>(ticks) * tick / stream::seconds(now - last);
}

void Recorder::glance(Time now) {
  for (Rank& rank : ranks_) (rank.worker ? *rank.worker : *rank.probe).glance();
  next_glance_ = now + between_glances[glances_++ % std::size(between_glances)];
}

void Recorder::sample(Time now) {
  entry_.clear();
  about_job();
  if (const auto memory = memory_->read()) {
    const EntryBuilder::Value values[] = {{"host_memory_used", memory->used, {}, false},
                                          {"host_memory_limit", memory->limit, {}, false}};
    entry_.sample(now, {stream::Level::node, 0, setup_.node, {}}, values, "sampler");
  }
  for (Rank& rank : ranks_) {
    rank.reading = rank.probe->read(now);
    if (!rank.reading) continue;
    if (rank.worker) {
      if (auto of_worker = rank.worker->read(now)) rank.reading = of_worker;
      else rank.worker.reset();
    }
    const EntryBuilder::Value values[] = {
        {"process_rss", rank.reading->resident_bytes, {}, false},
        {"wait_share", rank.reading->wait_share.value_or(stream::absent), {}, false},
        {"children_cpu", cpu_below(rank, now).value_or(stream::absent), {}, false},
        {"process_cpu", rank.reading->cpu.value_or(stream::absent), {}, false},
        {"process_pid", static_cast<double>((rank.worker ? *rank.worker : *rank.probe).pid()), {}, false},
        {"process_state", 0, rank.reading->state, true}};
    entry_.sample(now, member(rank.rank), values, "sampler");
  }
  for (const auto& [signal, wait] :
       {std::pair{"wait_syscall", &ProcReading::wait_syscall}, std::pair{"wait_channel", &ProcReading::wait_channel}}) {
    for (const Rank& rank : ranks_) {
      if (!rank.reading || ((*rank.reading).*wait).empty()) continue;
      const EntryBuilder::Value value[] = {{signal, 0, (*rank.reading).*wait, true}};
      entry_.sample(now, member(rank.rank), value, "sampler");
    }
  }
  for (const Rank& rank : ranks_) {
    if (!rank.reading || !rank.reading->exit_status) continue;
    const EntryBuilder::Value value[] = {{"exit_status", *rank.reading->exit_status, {}, false}};
    entry_.sample(now, member(rank.rank), value, "sampler");
  }
  recording_.append(entry_);
  about_attempt();
  for (const Rank& rank : ranks_)
    if (!rank.reading) drop_rank(rank, now);
  recording_.append(entry_);
  std::erase_if(ranks_, [](const Rank& rank) { return !rank.reading; });
}

void Recorder::coverage() {
  std::vector<EntryBuilder::Member> lines, samples;
  for (const Rank& rank : ranks_) {
    if (rank.coverage) lines.push_back(member(rank.rank));
    samples.push_back(member(rank.rank));
  }
  about_job();
  // No rank is known, or all of them are here or with others like us: our coverage is that of the whole job.
  if (setup_.options->part || ranks_.empty() || (finder_.complete() && lines.size() == ranks_.size()))
    entry_.coverage("log", {});
  if (!lines.empty()) entry_.coverage("log", lines);
  samples.push_back({stream::Level::node, 0, setup_.node, {}});
  entry_.coverage("sampler", samples);
  gpus_.cover(entry_, setup_.node);
  recording_.append(entry_);
}

void Recorder::look_at_collectives() {
  std::map<pid_t, std::uint32_t> ranks;
  std::vector<evidence::StackTarget> targets;
  for (const Rank& rank : ranks_) {
    const ProcProbe& probe = rank.worker ? *rank.worker : *rank.probe;
    ranks.emplace(probe.pid(), rank.rank);
    targets.push_back({probe.pid(), rank.rank, probe.start()});
  }
  const Time now = setup_.clock.now();
  collectives_.look(tree_->processes(), ranks, now);
  entry_.clear();
  about_job();
  collectives_.write(entry_, now, setup_.node);
  if (entry_.empty()) entry_.clear();
  recording_.append(entry_);
  stacks_.look(now, collectives_.longest_standing(now), targets);
  look_at_stacks();
}

void Recorder::look_at_stacks() {
  entry_.clear();
  about_attempt();
  stacks_.write(entry_, setup_.clock.now());
  if (entry_.empty()) entry_.clear();
  recording_.append(entry_);
}

void Recorder::look_at_gpus() {
  about_attempt();
  gpus_.write(entry_, setup_.clock.now(), setup_.node, [this](pid_t pid) {
    GpuWatch::Owner owner;
    for (auto at = tree_->processes().find(pid); at != tree_->processes().end();
         at = tree_->processes().find(at->second.parent)) {
      owner.ours = true;
      const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.pid == at->first; });
      if (rank == ranks_.end()) continue;
      owner.rank = rank->rank;
      owner.pid = rank->pid;
      break;
    }
    return owner;
  });
  if (entry_.empty()) entry_.clear();
  recording_.append(entry_);
}

}  // namespace tocsin::adapters::wrap
