#include "adapters/wrap/recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>

#include "adapters/wrap/run_directory.h"
#include "adapters/wrap/supervisor.h"
#include "stream/values/value.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Time;

namespace {

constexpr std::size_t most_at_once = 256u << 10;
// A line an instant must not wake us each time: the pipe holds it meanwhile, and the parent reports when it is full.
constexpr stream::Duration between_reads = 100ms;
constexpr stream::Duration between_coverage = 10s;
constexpr stream::Duration task_after = 5s;    // a task of srun is a rank, unless it starts ranks meanwhile
constexpr stream::Duration look_often = 60s;   // after a change look for processes each second, later every five
constexpr stream::Duration pack_lead = 3s;     // a reload takes effect so much later
constexpr stream::Duration ends_within = 60s;  // of an end that a person, or a scheduler, asked for

// A sample in the middle of its row of a second falls in no other.
Time next_half_second(Time now) { return stream::row_end(now - 500ms + 1ns, 1s) + 500ms; }

}  // namespace

Recorder::Recorder(const RecorderSetup& setup)
    : setup_(setup),
      recording_(setup.directory, setup.options->journal_bytes, setup.clock, setup.restarts),
      out_{setup.out, false, true, {}},
      err_{setup.err, true, true, {}},
      finder_(*setup.legacy),
      state_(setup.known),
      next_second_(next_half_second(setup.clock.now())),
      changed_(setup.clock.now()) {}

Recorder::~Recorder() = default;

void Recorder::about_attempt() {
  entry_.about(setup_.job, setup_.options->attempts + std::to_string(setup_.legacy->attempt), setup_.node);
}

void Recorder::tell_start(Time now) {
  const WrapOptions& options = *setup_.options;
  std::vector<EntryBuilder::Field> fields;
  if (setup_.legacy->world_size > 0)
    fields.push_back({"world_size", static_cast<double>(setup_.legacy->world_size), {}, false});
  if (options.part) {
    fields.push_back({"part", 0, options.part->part, true});
    fields.push_back({"parts", static_cast<double>(options.part->parts), {}, false});
    fields.push_back({"step", 0, options.part->step, true});
  }
  std::vector<std::string> names;
  names.reserve(options.labels.size());
  for (const auto& [label, value] : options.labels)
    fields.push_back({names.emplace_back("labels." + label), 0, value, true});
  entry_.event(now, EntryBuilder::job(), "start", fields);
}

// The lines of several programs that report one job are not one stream.
EntryBuilder::Member Recorder::speaker() const {
  if (!setup_.options->part) return EntryBuilder::job();
  if (finder_.assumed() && !ranks_.empty()) return member(ranks_.front().rank);
  return {stream::Level::node, 0, setup_.node, {}};
}

// Records of a job that others can report too, or that runs again meanwhile, name their attempt.
void Recorder::about_job() {
  if (!setup_.options->attempts.empty()) return about_attempt();
  entry_.about(setup_.job, {}, setup_.node);
}

// The pack, the start, and the first coverage: on disk before the command runs.
void Recorder::begin() {
  const Time now = setup_.clock.now();
  Legacy& legacy = *setup_.legacy;
  if (!legacy.begun) {
    if (setup_.options->first_pack) {
      if (auto pack = setup_.options->first_pack(); pack) {
        entry_.pack(pack->hash, now, pack->text);
        recording_.append(entry_);
      } else {
        ::fprintf(stderr, "tocsin: %s\n", pack.error().message.c_str());
      }
    }
    about_attempt();
    tell_start(now);
    entry_.coverage("log", {});
    recording_.append(entry_);
    beat();
    recording_.sync(Recording::Sync::frames);
    legacy.begun = recording_.working();
  } else {
    beat();
  }
  next_coverage_ = now + between_coverage;
  if (setup_.ready >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(setup_.ready, "", 1);
    ::close(setup_.ready);
  }
}

void Recorder::take_state() {
  RunState state;
  for (;;) {
    const ssize_t size = ::recv(setup_.control, &state, sizeof state, MSG_DONTWAIT);
    if (size == static_cast<ssize_t>(sizeof state)) {
      apply(state);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size == 0 || (size < 0 && errno != EAGAIN)) parent_gone_ = true;
    return;
  }
}

void Recorder::apply(const RunState& state) {
  state_ = state;
  if (state_.reloads != setup_.legacy->reloads && setup_.options->reload && !reload_.running()) {
    setup_.legacy->reloads = state_.reloads;
    reload_.start(setup_.options->reload);
  }
}

bool Recorder::read(Stream& stream) {
  const ssize_t size = ::read(stream.descriptor, buffer_.data(), buffer_.size());
  if (size < 0) return false;
  const Time now = setup_.clock.now();
  const EntryBuilder::Member by = speaker();
  const auto write = [&](std::string_view text) { entry_.line(now, by, text, stream.error); };
  about_job();
  if (size == 0) {
    stream.open = false;
    stream.lines.finish(write);
  } else {
    stream.lines.feed({buffer_.data(), static_cast<std::size_t>(size)}, write);
  }
  if (entry_.empty()) entry_.clear();
  recording_.append(entry_);
  return static_cast<std::size_t>(size) >= buffer_.size() / 4;
}

void Recorder::beat() {
  entry_.clear();
  entry_.beat();
  recording_.append(entry_);
}

void Recorder::add_rank(std::uint32_t rank, pid_t pid) {
  // Output that goes into a file of its own is not covered.
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
  added.coverage = !(elsewhere(out, out_size) && elsewhere(err, err_size));
  std::sort(ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
}

// Into the entry that is being built.
void Recorder::drop_rank(const Rank& rank, Time now) {
  finder_.gone(rank.rank);
  tree_->gone(rank.pid);
  std::vector<EntryBuilder::Field> fields;
  if (rank.pid == state_.child && state_.ended) {
    if (WIFEXITED(state_.status))
      fields.push_back({"code", static_cast<double>(WEXITSTATUS(state_.status)), {}, false});
    if (WIFSIGNALED(state_.status))
      fields.push_back({"signal", static_cast<double>(WTERMSIG(state_.status)), {}, false});
  }
  entry_.event(now, member(rank.rank), "exit", fields, "sampler");
  changed_ = now;
}

void Recorder::find_ranks(Time now) {
  if (now < next_look_) return;
  next_look_ = now + (now - changed_ < look_often ? 900ms : 4900ms);
  tree_->look();
  if ((finder_.assumed() || finder_.all_gone()) && !tree_->among_ranks())
    tree_->name(unnamed_.look(tree_->processes(), state_.child, now));
  tell_ranks(finder_.look(tree_->processes()), now);
  if (finder_.ranks().empty() || finder_.assumed()) look_for_lone_process(now);
  for (Rank& rank : ranks_) {
    if (finder_.assumed()) break;
    const pid_t worker = tree_->worker_of(rank.pid);
    if (worker == rank.pid) continue;
    if (!rank.worker || rank.worker->pid() != worker) rank.worker = std::make_unique<ProcProbe>(worker);
  }
}

void Recorder::tell_ranks(std::span<const RankFinder::Change> changes, Time now) {
  about_attempt();
  for (const RankFinder::Change& change : changes) {
    changed_ = now;
    if (change.kind == RankFinder::Change::Kind::restarted) {
      ranks_.clear();
      gpus_.forget_ranks();
    }
    if (change.kind == RankFinder::Change::Kind::appeared) {
      add_rank(change.rank, change.pid);
      const EntryBuilder::Field fields[] = {{"node", 0, setup_.node, true},
                                            {"pid", static_cast<double>(change.pid), {}, false}};
      entry_.event(now, member(change.rank), "member", fields, "sampler");
      next_coverage_ = now;
    } else {
      // A start of the running attempt only carries the number of ranks.
      tell_start(now);
    }
  }
  recording_.append(entry_);
}

// A job of one process needs no launcher, and has no RANK. A task of srun or mpirun has the rank that ours names.
void Recorder::look_for_lone_process(Time now) {
  const auto command = tree_->processes().find(state_.child);
  const auto task = setup_.options->part ? tree_->own_identity() : std::nullopt;
  if (command == tree_->processes().end() || state_.ended || (!task && tree_->among_ranks())) return;
  const bool program = task && !is_shell(command->second.name);
  if (now - setup_.clock.start() < (program ? task_after : setup_.options->lone_after)) return;
  if (finder_.assumed() && (program || ranks_.empty() || ranks_.front().worker)) return;
  const auto pid = program ? std::optional{command->first} : lone_.look(tree_->processes(), command->first, now);
  if (!pid || launches_ranks(command_line(*pid))) return;
  if (!finder_.assumed()) {
    const Identity identity = task.value_or(Identity{0, 1, Identity::unnamed});
    finder_.assume(command->second, identity);
    const RankFinder::Change changes[] = {{RankFinder::Change::Kind::world_size},
                                          {RankFinder::Change::Kind::appeared, identity.rank, command->first}};
    tell_ranks(changes, now);
  }
  if (*pid != command->first) ranks_.front().worker = std::make_unique<ProcProbe>(*pid);
}

void Recorder::tell_dropped(Time now) {
  if (state_.dropped == dropped_reported_) return;
  dropped_reported_ = state_.dropped;
  about_job();
  const EntryBuilder::Field fields[] = {{"bytes", static_cast<double>(state_.dropped), {}, false}};
  entry_.event(now, EntryBuilder::job(), "output_dropped", fields);
  recording_.append(entry_);
}

void Recorder::second(Time now) {
  sample(now);
  find_ranks(now);
  look_at_collectives();
  if (now >= next_coverage_) {
    coverage();
    next_coverage_ = now + between_coverage - 500ms;  // due at a second, however late that comes
  }
  tell_dropped(now);
  beat();
  next_second_ = next_half_second(now);
}

void Recorder::finish() {
  const Time now = setup_.clock.now();
  recording_.finishes();
  tell_dropped(now);
  if (state_.ended) {
    // What has gone with the command, the command itself among it, exited; the rest lives on without us.
    about_attempt();
    EntryBuilder::Member command = EntryBuilder::job();
    for (const Rank& rank : ranks_)
      if (rank.pid == state_.child) command = EntryBuilder::rank(rank.rank);
    for (Rank& rank : ranks_)
      if (rank.pid == state_.child || !rank.probe->read(now)) drop_rank(rank, now);
    recording_.append(entry_);
    const bool exited = WIFEXITED(state_.status);
    const int number = exited ? WEXITSTATUS(state_.status) : WTERMSIG(state_.status);
    const bool cancelled = !exited && (state_.asked_to_end || number == SIGINT);
    // A launcher that is asked to end exits with a status of its own, as one does that failed before it was asked.
    const bool asked =
        state_.asked_at != 0 && state_.ended_at - state_.asked_at < std::chrono::nanoseconds{ends_within}.count();
    const std::string_view reason = exited && number == 0 ? "completed" : cancelled ? "cancelled" : "failed";
    const EntryBuilder::Field fields[] = {{"reason", 0, reason, true},
                                          {exited ? "code" : "signal", static_cast<double>(number), {}, false},
                                          {"asked", 1, {}, false}};
    about_attempt();
    const Time ended = std::min(stream::at_nanoseconds(state_.ended_at), now);
    if (!exited && !cancelled) {  // as a shell would report it
      const EntryBuilder::Field killed[] = {{"pid", static_cast<double>(state_.child), {}, false},
                                            {"signal", static_cast<double>(number), {}, false}};
      entry_.event(ended, command, "process_killed", killed);
    }
    entry_.event(ended, EntryBuilder::job(), "end", std::span{fields, exited && number != 0 && asked ? 3u : 2u});
    recording_.append(entry_);
  }
  beat();
  entry_.seal();
  recording_.append(entry_);
  recording_.sync(Recording::Sync::all);
  recording_.report_lost();
}

int Recorder::run() {
  begin();
  tree_.emplace(setup_.parent);
  memory_.emplace();
  gpus_.start();
  collectives_.begin(setup_.rings, setup_.nccl_note);
  buffer_.resize(most_at_once);
  for (const Legacy::Rank& rank : finder_.ranks()) {
    if (!rank.alive) continue;
    // Known to the recorder before us. Another process under its pid means that it has gone.
    add_rank(rank.rank, rank.pid);
  }
  about_attempt();
  for (Rank& rank : ranks_) {
    const auto known = finder_.ranks();
    const auto at =
        std::find_if(known.begin(), known.end(), [&](const Legacy::Rank& r) { return r.rank == rank.rank; });
    if (rank.probe->start() == at->start) continue;
    drop_rank(rank, setup_.clock.now());
    rank.pid = 0;
  }
  recording_.append(entry_);
  std::erase_if(ranks_, [](const Rank& rank) { return rank.pid == 0; });
  apply(state_);
  bool tidied = setup_.state.empty(), named = false;

  Time quiet_until = stream::long_ago;
  while (out_.open || err_.open || (!state_.ended && !parent_gone_)) {
    Time now = setup_.clock.now();
    if (now >= next_second_) {
      second(now);
      if (!named) recording_.sync(Recording::Sync::all);
      named = true;
      if (!tidied) {
        const std::uint64_t others =
            setup_.options->state_bytes - std::min(setup_.options->state_bytes, setup_.options->journal_bytes);
        remove_oldest_runs(setup_.state, others);
        tidied = true;
      }
      now = setup_.clock.now();
    }
    if (now >= next_glance_) glance(now);
    const Time wake = std::min(next_second_, ranks_.empty() ? next_second_ : next_glance_);
    const bool quiet = now < quiet_until && !state_.ended;
    pollfd at[] = {{parent_gone_ ? -1 : setup_.control, POLLIN, 0},
                   {out_.open && !quiet ? out_.descriptor : -1, POLLIN, 0},
                   {err_.open && !quiet ? err_.descriptor : -1, POLLIN, 0},
                   {reload_.descriptor(), POLLIN, 0},
                   {gpus_.descriptor(), POLLIN, 0},
                   {stacks_.stacks_descriptor(), POLLIN, 0},
                   {stacks_.bundle_descriptor(), POLLIN, 0}};
    if (::poll(at, std::size(at), milliseconds_until(quiet ? std::min(quiet_until, wake) : wake, now)) < 0) continue;
    if (at[0].revents != 0) {
      take_state();
      quiet_until = stream::long_ago;
    }
    bool more = false;
    if (at[1].revents != 0) more |= read(out_);
    if (at[2].revents != 0) more |= read(err_);
    if ((at[1].revents | at[2].revents) != 0 && !more) quiet_until = setup_.clock.now() + between_reads;
    if (at[4].revents != 0) look_at_gpus();
    if ((at[5].revents | at[6].revents) != 0) look_at_stacks();
    if (at[3].revents != 0) {
      if (auto pack = reload_.poll()) {
        if (*pack) {
          const Time from = setup_.clock.now() + pack_lead;
          entry_.clear();
          entry_.pack((*pack)->hash, from, (*pack)->text);
          recording_.append(entry_);
          ::fprintf(stderr, "tocsin: rules reloaded\n");
        } else {
          ::fprintf(stderr, "tocsin: rules not reloaded, the previous ones stay: %s\n", pack->error().message.c_str());
        }
        apply(state_);
      }
    }
  }
  finish();
  std::error_code error;
  if (parent_gone_ && !state_.ended) std::filesystem::remove_all(setup_.rings, error);  // else the parent does
  return recording_.working() ? 0 : Supervisor::refused;  // what cannot be written now will not be in a moment
}

}  // namespace tocsin::adapters::wrap
