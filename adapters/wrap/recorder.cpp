#include "adapters/wrap/recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>

#include "adapters/wrap/impossible_ranks.h"
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
constexpr stream::Duration task_after = 5s;    // a task of srun is a rank, unless it starts ranks meanwhile
constexpr stream::Duration pack_lead = 3s;     // a reload takes effect so much later
constexpr stream::Duration ends_within = 60s;  // of an end that a person, or a scheduler, asked for

}  // namespace

Recorder::Recorder(const RecorderSetup& setup)
    : setup_(setup),
      recording_(setup.directory, setup.options->journal_bytes, setup.clock, setup.restarts),
      report_({setup.job, setup.node, setup.options->attempts, setup.options->labels, setup.options->part}, recording_,
              *setup.legacy),
      out_{setup.out, false, true, {}},
      err_{setup.err, true, true, {}},
      state_(setup.known),
      next_second_(next_half_second(setup.clock.now())) {}

Recorder::~Recorder() = default;

// The lines of several programs that report one job are not one stream.
EntryBuilder::Member Recorder::speaker() const {
  if (!setup_.options->part) return EntryBuilder::job();
  if (watch_ && watch_->finder().assumed() && !watch_->ranks().empty())
    return report_.member(watch_->ranks().front().rank);
  return report_.node();
}

// The pack, the start, and the first coverage: on disk before the command runs.
void Recorder::begin() {
  const Time now = setup_.clock.now();
  Legacy& legacy = *setup_.legacy;
  if (!legacy.begun) {
    if (setup_.options->first_pack) {
      if (auto pack = setup_.options->first_pack(); pack) {
        report_.entry().pack(pack->hash, now, pack->text);
        report_.write();
      } else {
        ::fprintf(stderr, "tocsin: %s\n", pack.error().message.c_str());
      }
    }
    report_.about_attempt();
    report_.tell_start(now);
    report_.entry().coverage("log", {});
    report_.write();
    report_.beat();
    recording_.sync(Recording::Sync::frames);
    legacy.begun = recording_.working();
  } else {
    report_.beat();
  }
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
  EntryBuilder& entry = report_.about_job();
  const auto write = [&](std::string_view text) { entry.line(now, by, text, stream.error); };
  if (size == 0) {
    stream.open = false;
    stream.lines.finish(write);
  } else {
    stream.lines.feed({buffer_.data(), static_cast<std::size_t>(size)}, write);
  }
  report_.write();
  return static_cast<std::size_t>(size) >= buffer_.size() / 4;
}

void Recorder::find_ranks(Time now) {
  if (!watch_->look(now)) return;
  if ((watch_->finder().assumed() || watch_->finder().all_gone()) && !kin_->among_ranks())
    tree_->name(unnamed_.look(tree_->processes(), state_.child, now));
  watch_->find(now);
  for (const Process* process : impossible_ranks(tree_->processes())) printed_.print(why_no_rank(*process));
  if (watch_->finder().ranks().empty() || watch_->finder().assumed()) look_for_lone_process(now);
  watch_->find_workers();
}

// A job of one process needs no launcher, and has no RANK. A task of srun or mpirun has the rank that ours names.
void Recorder::look_for_lone_process(Time now) {
  const auto command = tree_->processes().find(state_.child);
  const auto task = setup_.options->part ? kin_->own_identity() : std::nullopt;
  if (command == tree_->processes().end() || state_.ended || (!task && kin_->among_ranks())) return;
  const bool program = task && !is_shell(command->second.name);
  if (now - setup_.clock.start() < (program ? task_after : setup_.options->lone_after)) return;
  if (watch_->finder().assumed() && (program || watch_->ranks().empty() || watch_->ranks().front().worker)) return;
  const auto pid = program ? std::optional{command->first} : lone_.look(tree_->processes(), command->first, now);
  if (!pid || launches_ranks(command_line(*pid))) return;
  if (!watch_->finder().assumed())
    watch_->assume(command->second, task.value_or(Identity{0, 1, Identity::unnamed}), now);
  if (*pid != command->first) watch_->works_in(*pid);
}

void Recorder::cover(Time now) {
  std::vector<EntryBuilder::Member> lines;
  for (const RankWatch::Rank& rank : watch_->ranks())
    if (!rank.own_files) lines.push_back(report_.member(rank.rank));
  EntryBuilder& entry = report_.about_job();
  const bool all = watch_->finder().complete() && lines.size() == watch_->ranks().size();
  // No rank is known, or all of them are here or with others like us: our coverage is that of the whole job.
  if (setup_.options->part || watch_->ranks().empty() || all) entry.coverage("log", {});
  if (!lines.empty()) entry.coverage("log", lines);
  watch_->cover(entry, now);
  report_.write();
}

void Recorder::tell_dropped(Time now) {
  if (state_.dropped == dropped_reported_) return;
  dropped_reported_ = state_.dropped;
  const EntryBuilder::Field fields[] = {{"bytes", static_cast<double>(state_.dropped), {}, false}};
  report_.about_job().event(now, EntryBuilder::job(), "output_dropped", fields);
  report_.write();
}

void Recorder::second(Time now) {
  watch_->sample(now);
  find_ranks(now);
  watch_->look_at_collectives();
  if (watch_->coverage_due(now)) cover(now);
  tell_dropped(now);
  report_.beat();
  next_second_ = next_half_second(now);
}

void Recorder::finish() {
  const Time now = setup_.clock.now();
  recording_.finishes();
  tell_dropped(now);
  if (state_.ended) {
    // What has gone with the command, the command itself among it, exited; the rest lives on without us.
    EntryBuilder::Member command = EntryBuilder::job();
    const auto is_command = [this](const RankWatch::Rank& rank) { return rank.pid == state_.child; };
    for (const RankWatch::Rank& rank : watch_->ranks())
      if (is_command(rank)) command = EntryBuilder::rank(rank.rank);
    const bool exited = WIFEXITED(state_.status);
    const int number = exited ? WEXITSTATUS(state_.status) : WTERMSIG(state_.status);
    const Time ended = std::min(stream::at_nanoseconds(state_.ended_at), now);
    // A code from 128 on may be how a shell passes on that its child was killed.
    if (exited && number < 128 && (command.level == stream::Level::rank || watch_->finder().ranks().empty())) {
      const EntryBuilder::Value status[] = {{"exit_status", static_cast<double>(number), {}, false}};
      report_.about_attempt().sample(ended, command, status, "sampler");
      report_.write();
    }
    watch_->drop_gone(now, is_command);
    // A launcher that is asked to end exits with a status of its own, as one does that failed before it was asked.
    const bool asked =
        state_.asked_at != 0 && state_.ended_at - state_.asked_at < std::chrono::nanoseconds{ends_within}.count();
    // One that handles the signal, for instance to save a checkpoint, exits with 0 and has not come to its end either.
    const bool cancelled = exited ? number == 0 && asked : state_.asked_to_end || number == SIGINT;
    const std::string_view reason = cancelled ? "cancelled" : exited && number == 0 ? "completed" : "failed";
    const EntryBuilder::Field fields[] = {{"reason", 0, reason, true},
                                          {exited ? "code" : "signal", static_cast<double>(number), {}, false},
                                          {"asked", 1, {}, false}};
    EntryBuilder& entry = report_.about_attempt();
    if (!exited && !cancelled) {  // as a shell would report it
      const EntryBuilder::Field killed[] = {{"pid", static_cast<double>(state_.child), {}, false},
                                            {"signal", static_cast<double>(number), {}, false}};
      entry.event(ended, command, "process_killed", killed);
    }
    entry.event(ended, EntryBuilder::job(), "end", std::span{fields, exited && asked ? 3u : 2u});
    report_.write();
  }
  report_.finish();
}

int Recorder::run() {
  begin();
  kin_.emplace(setup_.parent);
  tree_.emplace(*kin_);
  watch_.emplace(*tree_, report_, *setup_.legacy, setup_.clock,
                 RankWatch::Setup{.run = setup_.directory,
                                  .rings = setup_.rings,
                                  .nccl_note = setup_.nccl_note,
                                  .gpus = ::getenv("CUDA_VISIBLE_DEVICES"),
                                  .status_of = [this](pid_t pid) {
                                    return pid == state_.child && state_.ended ? std::optional{state_.status}
                                                                               : std::nullopt;
                                  }});
  watch_->resume();
  buffer_.resize(most_at_once);
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
    watch_->glance(now);
    const Time wake = std::min(next_second_, watch_->due());
    const auto seen = watch_->waits();
    const bool quiet = now < quiet_until && !state_.ended;
    pollfd at[] = {{parent_gone_ ? -1 : setup_.control, POLLIN, 0},
                   {out_.open && !quiet ? out_.descriptor : -1, POLLIN, 0},
                   {err_.open && !quiet ? err_.descriptor : -1, POLLIN, 0},
                   {reload_.descriptor(), POLLIN, 0},
                   seen[0],
                   seen[1],
                   seen[2]};
    if (::poll(at, std::size(at), milliseconds_until(quiet ? std::min(quiet_until, wake) : wake, now)) < 0) continue;
    if (at[0].revents != 0) {
      take_state();
      quiet_until = stream::long_ago;
    }
    bool more = false;
    if (at[1].revents != 0) more |= read(out_);
    if (at[2].revents != 0) more |= read(err_);
    if ((at[1].revents | at[2].revents) != 0 && !more) quiet_until = setup_.clock.now() + between_reads;
    watch_->react({at[4], at[5], at[6]});
    if (at[3].revents != 0) {
      if (auto pack = reload_.poll()) {
        if (*pack) {
          const Time from = setup_.clock.now() + pack_lead;
          report_.entry().clear();
          report_.entry().pack((*pack)->hash, from, (*pack)->text);
          report_.write();
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
