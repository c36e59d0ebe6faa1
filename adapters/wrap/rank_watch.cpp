#include "adapters/wrap/rank_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "adapters/wrap/proc_stat.h"
#include "stream/values/value.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Time;

namespace {

constexpr stream::Duration look_often = 60s;  // after a change look for processes each second, later every five

}  // namespace

RankWatch::RankWatch(ProcessTree& tree, JobReport& report, Legacy& legacy, const RunClock& clock, Setup setup)
    : tree_(tree),
      report_(report),
      clock_(clock),
      setup_(std::move(setup)),
      finder_(legacy),
      stacks_(setup_.run, report.job().job, report.job().node),
      memory_(setup_.memory_of),
      next_coverage_(clock.now() + between_coverage),
      changed_(clock.now()) {
  gpus_.start(setup_.gpus);
  collectives_.begin(setup_.rings, setup_.nccl_note);
}

void RankWatch::resume() {
  const std::vector<Legacy::Rank> known{finder_.ranks().begin(), finder_.ranks().end()};
  report_.about_attempt();
  for (const Legacy::Rank& rank : known) {
    if (!rank.alive) continue;
    add_rank(rank.rank, rank.pid);
    const auto added = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.rank == rank.rank; });
    if (added->probe->start() == rank.start) continue;
    drop_rank(*added, clock_.now());  // another process is under its pid
    ranks_.erase(added);
  }
  report_.write();
}

void RankWatch::add_rank(std::uint32_t rank, pid_t pid) {
  char out[64], err[64];
  const std::string at = "/proc/" + std::to_string(pid) + "/fd/";
  const ssize_t out_size = ::readlink((at + '1').c_str(), out, sizeof out),
                err_size = ::readlink((at + '2').c_str(), err, sizeof err);
  const auto elsewhere = [](const char* name, ssize_t size) {
    const std::string_view target{name, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    return target.starts_with('/') && !target.starts_with("/dev/pts/");
  };
  Rank& added = ranks_.emplace_back();
  added.rank = rank;
  added.pid = pid;
  added.probe = std::make_unique<ProcProbe>(pid);
  added.own_files = elsewhere(out, out_size) && elsewhere(err, err_size);
  std::sort(ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
}

void RankWatch::drop_rank(const Rank& rank, Time now) {
  finder_.gone(rank.rank);
  tree_.gone(rank.pid);
  std::vector<EntryBuilder::Field> fields;
  if (const auto status = setup_.status_of ? setup_.status_of(rank.pid) : std::nullopt) {
    if (WIFEXITED(*status)) fields.push_back({"code", static_cast<double>(WEXITSTATUS(*status)), {}, false});
    if (WIFSIGNALED(*status)) fields.push_back({"signal", static_cast<double>(WTERMSIG(*status)), {}, false});
  }
  report_.entry().event(now, report_.member(rank.rank), "exit", fields, "sampler");
  changed_ = now;
}

void RankWatch::drop_gone(Time now, const std::function<bool(const Rank&)>& also) {
  report_.about_attempt();
  for (Rank& rank : ranks_)
    if (also(rank) || !rank.probe->read(now)) drop_rank(rank, now);
  report_.write();
}

bool RankWatch::look(Time now) {
  if (now < next_look_) return false;
  next_look_ = now + (now - changed_ < look_often ? 900ms : 4900ms);
  tree_.look();
  return true;
}

void RankWatch::find(Time now) { tell(finder_.look(tree_.processes()), now); }

void RankWatch::find_workers() {
  for (Rank& rank : ranks_) {
    if (finder_.assumed()) break;
    const pid_t worker = tree_.worker_of(rank.pid);
    if (worker == rank.pid) continue;
    if (!rank.worker || rank.worker->pid() != worker) rank.worker = std::make_unique<ProcProbe>(worker);
  }
}

void RankWatch::assume(const Process& process, const Identity& as, Time now) {
  finder_.assume(process, as);
  const RankFinder::Change changes[] = {{RankFinder::Change::Kind::world_size},
                                        {RankFinder::Change::Kind::appeared, as.rank, process.pid}};
  tell(changes, now);
}

void RankWatch::works_in(pid_t pid) { ranks_.front().worker = std::make_unique<ProcProbe>(pid); }

void RankWatch::tell(std::span<const RankFinder::Change> changes, Time now) {
  report_.about_attempt();
  for (const RankFinder::Change& change : changes) {
    changed_ = now;
    if (change.kind == RankFinder::Change::Kind::restarted) {
      ranks_.clear();
      gpus_.forget_ranks();
    }
    if (change.kind == RankFinder::Change::Kind::withdrawn) {
      std::erase_if(ranks_, [&](const Rank& rank) { return rank.rank == change.rank; });
      gpus_.forget_ranks();
    } else if (change.kind == RankFinder::Change::Kind::appeared) {
      add_rank(change.rank, change.pid);
      const EntryBuilder::Field fields[] = {{"node", 0, report_.job().node, true},
                                            {"pid", static_cast<double>(change.pid), {}, false}};
      report_.entry().event(now, report_.member(change.rank), "member", fields, "sampler");
      next_coverage_ = now;
    } else {
      // A start of the running attempt only carries the number of ranks.
      report_.tell_start(now);
    }
  }
  report_.write();
}

}  // namespace tocsin::adapters::wrap
