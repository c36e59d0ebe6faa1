#include <unistd.h>

#include <algorithm>
#include <utility>

#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/rank_watch.h"
#include "stream/values/value.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Time;

namespace {

// Between glances at the ranks: uneven, so that they do not fall into step with the training.
constexpr stream::Duration between_glances[] = {170ms, 230ms, 190ms, 260ms, 150ms, 210ms, 240ms};

}  // namespace

std::optional<double> RankWatch::cpu_below(Rank& rank, Time now) const {
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto& processes = tree_.processes();
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

Time RankWatch::due() const { return ranks_.empty() ? stream::never : next_glance_; }

void RankWatch::glance(Time now) {
  if (now < next_glance_) return;
  for (Rank& rank : ranks_) (rank.worker ? *rank.worker : *rank.probe).glance();
  next_glance_ = now + between_glances[glances_++ % std::size(between_glances)];
}

void RankWatch::sample(Time now) {
  EntryBuilder& entry = report_.about_job();
  if (const auto memory = memory_.read()) {
    const EntryBuilder::Value values[] = {{"host_memory_used", memory->used, {}, false},
                                          {"host_memory_limit", memory->limit, {}, false}};
    entry.sample(now, report_.node(), values, "sampler");
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
    entry.sample(now, report_.member(rank.rank), values, "sampler");
  }
  for (const auto& [signal, wait] :
       {std::pair{"wait_syscall", &ProcReading::wait_syscall}, std::pair{"wait_channel", &ProcReading::wait_channel}}) {
    for (const Rank& rank : ranks_) {
      if (!rank.reading || ((*rank.reading).*wait).empty()) continue;
      const EntryBuilder::Value value[] = {{signal, 0, (*rank.reading).*wait, true}};
      entry.sample(now, report_.member(rank.rank), value, "sampler");
    }
  }
  for (const Rank& rank : ranks_) {
    if (!rank.reading || !rank.reading->exit_status) continue;
    const EntryBuilder::Value value[] = {{"exit_status", *rank.reading->exit_status, {}, false}};
    entry.sample(now, report_.member(rank.rank), value, "sampler");
  }
  report_.write();
  report_.about_attempt();
  for (const Rank& rank : ranks_)
    if (!rank.reading) drop_rank(rank, now);
  report_.write();
  std::erase_if(ranks_, [](const Rank& rank) { return !rank.reading; });
}

void RankWatch::cover(EntryBuilder& entry, Time now) {
  next_coverage_ = now + between_coverage - 500ms;  // due at a second, however late that comes
  std::vector<EntryBuilder::Member> samples;
  for (const Rank& rank : ranks_) samples.push_back(report_.member(rank.rank));
  samples.push_back(report_.node());
  entry.coverage("sampler", samples);
  gpus_.cover(entry, report_.job().node);
}

void RankWatch::look_at_collectives() {
  std::map<pid_t, std::uint32_t> ranks;
  std::vector<evidence::StackTarget> targets;
  for (const Rank& rank : ranks_) {
    const ProcProbe& probe = rank.worker ? *rank.worker : *rank.probe;
    ranks.emplace(probe.pid(), rank.rank);
    targets.push_back({probe.pid(), rank.rank, probe.start()});
  }
  const Time now = clock_.now();
  collectives_.look(tree_.processes(), ranks, now);
  EntryBuilder& entry = report_.about_job();
  collectives_.write(entry, now, report_.job().node);
  report_.write();
  stacks_.look(now, collectives_.longest_standing(now), targets);
  look_at_stacks();
}

void RankWatch::look_at_stacks() {
  EntryBuilder& entry = report_.about_attempt();
  stacks_.write(entry, clock_.now());
  report_.write();
}

void RankWatch::look_at_gpus() {
  EntryBuilder& entry = report_.about_attempt();
  gpus_.write(entry, clock_.now(), report_.job().node, [this](pid_t pid) {
    GpuWatch::Owner owner;
    for (auto at = tree_.processes().find(pid); at != tree_.processes().end();
         at = tree_.processes().find(at->second.parent)) {
      owner.ours = true;
      const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.pid == at->first; });
      if (rank == ranks_.end()) continue;
      owner.rank = rank->rank;
      owner.pid = rank->pid;
      break;
    }
    return owner;
  });
  report_.write();
}

std::array<pollfd, 3> RankWatch::waits() const {
  return {{{gpus_.descriptor(), POLLIN, 0},
           {stacks_.stacks_descriptor(), POLLIN, 0},
           {stacks_.bundle_descriptor(), POLLIN, 0}}};
}

void RankWatch::react(const std::array<pollfd, 3>& ready) {
  if (ready[0].revents != 0) look_at_gpus();
  if ((ready[1].revents | ready[2].revents) != 0) look_at_stacks();
}

}  // namespace tocsin::adapters::wrap
