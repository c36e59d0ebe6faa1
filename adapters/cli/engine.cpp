#include "adapters/cli/engine.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "adapters/cli/ending.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/terminal.h"
#include "adapters/formats/alert_form.h"
#include "adapters/journal/alert_history.h"
#include "adapters/journal/follow.h"
#include "adapters/journal/state.h"
#include "adapters/packs/pack_store.h"
#include "adapters/runtime/disk_sink.h"
#include "adapters/runtime/shard_loop.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Result;
using stream::Time;

// Where reports go that are to be seen: the terminal and a file.
class Publisher {
 public:
  Publisher(const RunOptions& options, Terminal& terminal, const Ending& ending)
      : quiet_(options.quiet),
        wrapped_(options.wrapped && !options.verbose),
        terminal_(&terminal),
        ending_(&ending),
        file_name_(options.alerts) {
    if (options.alerts == "-") lines_ = &std::cout;
    else if (!options.alerts.empty()) file_.open(options.alerts), lines_ = &file_;
  }
  void publish(const stream::Report& report, std::string_view line) {
    if (!quiet_) {
      const auto* transition = std::get_if<stream::AlertTransition>(&report);
      if (transition != nullptr && wrapped_ && ending_->over()) held_.push_back(*transition);
      else if (transition != nullptr) terminal_->transition(*transition);
      else show(std::get<stream::Verdict>(report));
    }
    if (lines_) *lines_ << line << '\n';
  }
  ~Publisher() { show_held(); }
  // What was published is with whoever reads it.
  stream::Result<void> flush() {
    if (lines_ && !lines_->flush()) return stream::Error{stream::Errc::io, "cannot write " + file_name_.string()};
    return {};
  }

 private:
  void show(stream::Verdict verdict) {
    ending_->correct(verdict);
    const bool unexplained = verdict.family.empty() && verdict.end_reason == "failed";
    // The command's end is not that of an attempt that another followed.
    const bool last = ending_->attempt().empty() || ending_->attempt() == verdict.attempt;
    if (!wrapped_ || verdict.training) show_held();
    held_.clear();
    if (wrapped_ && last && (!verdict.training || unexplained)) terminal_->note(ending_->text(verdict.subject));
    if (!wrapped_ || verdict.training) terminal_->verdict(verdict);
  }
  void show_held() {
    for (const auto& transition : held_) terminal_->transition(transition);
    held_.clear();
  }

  bool quiet_, wrapped_;
  Terminal* terminal_;
  const Ending* ending_;
  std::vector<stream::AlertTransition>
      held_;  // after the command's end: of a command that was no training they are not shown
  std::filesystem::path file_name_;
  std::ofstream file_;
  std::ostream* lines_ = nullptr;
};

// The log as it is judged: arrivals pass at `speed` times real time, and tests of recovery die before an entry.
class WatchedLog final : public stream::LogReader {
 public:
  WatchedLog(stream::LogReader& log, const RunOptions& options, const Observers& observers, Ending& ending)
      : log_(&log),
        observer_(observers.entry),
        ending_(options.wrapped ? &ending : nullptr),
        until_(options.until),
        speed_(options.speed),
        kill_at_(options.kill_at) {}
  void begin() { begun_ = true; }  // what was read before is backfilled

  stream::Result<const stream::Entry*> next() override {
    const auto entry = log_->next();
    if (ending_ && entry && *entry != nullptr) ending_->read(**entry);
    if (observer_ && entry && *entry != nullptr) observer_(**entry);
    if (!begun_ || !entry || *entry == nullptr) return entry;
    if (!first_) first_ = (*entry)->appended, started_ = std::chrono::steady_clock::now();
    if (over_ = over_ || (until_ && (*entry)->appended > until_->in_log(*first_)); over_) return nullptr;
    if (speed_ > 0) wait_for((*entry)->appended);
    if (kill_at_ && entries_ == *kill_at_) kill(getpid(), SIGKILL);
    ++entries_;
    return entry;
  }
  stream::Result<void> seek(stream::Position position) override { return log_->seek(position); }
  stream::Result<stream::Position> oldest() override { return log_->oldest(); }
  [[nodiscard]] std::optional<Time> first() const noexcept {
    return first_;
  }  // the append time of the first entry that was judged

 private:
  void wait_for(Time arrival) {
    const auto due = started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                    std::chrono::duration<double>(stream::seconds(arrival - *first_) / speed_));
    std::this_thread::sleep_until(due);
  }

  stream::LogReader* log_;
  std::function<void(const stream::Entry&)> observer_;
  Ending* ending_;
  std::optional<Moment> until_;
  bool over_ = false;  // the log has passed it
  double speed_;
  std::optional<std::uint64_t> kill_at_;
  bool begun_ = false;
  std::uint64_t entries_ = 0;
  std::optional<Time> first_;
  std::chrono::steady_clock::time_point started_;
};

std::uint64_t journal_bytes(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  return bytes;
}

// The loop over a journal, as a command looks after it: shows how far it is, and ends at the end of what is written
// unless the journal is followed.
class JournalLoopOwner final : public runtime::ShardLoop::Owner {
 public:
  JournalLoopOwner(const RunOptions& options, const stream::LoadedPack& pack, Terminal& terminal, Publisher& publisher)
      : options_(&options),
        pack_(&pack),
        terminal_(&terminal),
        publisher_(&publisher),
        shows_progress_(!options.follow && !options.quiet && isatty(STDERR_FILENO)),
        total_(shows_progress_ ? journal_bytes(options.journal) : 0) {}

  Result<stream::LoadedPack> first_pack() override { return *pack_; }
  bool goes_on() override { return !given_up_; }
  // After a failure. Nobody waits for another try once the parent is gone.
  void wait(std::chrono::milliseconds time) override { given_up_ = parent_is_gone_within(time); }
  void say(const std::string& line) override { terminal_->note(reported_ = line); }
  // An alert need not be sooner than a tenth of a second, and each look costs. What the parent wrote is read to its
  // end.
  bool wait_for_more() override {
    if (!options_->follow || parent_is_gone_) return false;
    parent_is_gone_ = parent_is_gone_within(std::chrono::milliseconds{100});
    return true;
  }
  Result<void> handed_over(const runtime::HandOver::Outcome& outcome) override {
    return outcome.kept ? publisher_->flush() : Result<void>{};
  }
  void before_step(runtime::ShardRunner& runner) override {
    if (!shows_progress_ || runner.shard().clock() == stream::long_ago) return;  // no record yet
    const double done = static_cast<double>(static_cast<std::uint64_t>(runner.position()));
    terminal_->set_progress(fmt::format("replaying {}  {:3.0f} %", formats::time_text(runner.shard().clock()),
                                        total_ ? 100.0 * done / static_cast<double>(total_) : 0.0));
  }
  // How the loop ended. The failure is printed unless it was the last line printed.
  [[nodiscard]] int exit_status(const Result<void>& ended) {
    if (ended) return 0;
    if (reported_ != ended.error().message) say(ended.error().message);
    return ended.error().code == stream::Errc::unknown_version ? 2 : 3;
  }

 private:
  [[nodiscard]] bool parent_is_gone_within(std::chrono::milliseconds time) const {
    pollfd parent{options_->stop_when_readable, POLLIN, 0};
    return poll(&parent, 1, static_cast<int>(time.count())) > 0;
  }

  const RunOptions* options_;
  const stream::LoadedPack* pack_;
  Terminal* terminal_;
  Publisher* publisher_;
  bool shows_progress_;
  std::uint64_t total_;
  std::string reported_;
  bool parent_is_gone_ = false, given_up_ = false;
};

RunReport failed_run(const std::string& why) {
  Terminal{{}}.note(why);
  RunReport report;
  report.exit = 2;
  return report;
}

dsl::Budgets budgets_of(const RunOptions& options) {
  dsl::Budgets budgets;
  budgets.all_scripted = options.force_scripted;
  return budgets;
}

// The pack that judges first: that of the command, else the one that the journal begins with, else the shipped one.
// What a journal names first also judges what arrived before its record, as it does in the service: records of other
// logs are late.
Result<stream::LoadedPack> first_pack_of(const RunOptions& options, packs::PackStore& store) {
  constexpr std::size_t most_entries = 1000;
  if (!options.pack && options.rules.empty())
    if (const auto named = journal::first_pack(options.journal, most_entries); named && *named) {
      store.remember((*named)->hash, (*named)->text);
      if (auto loaded = store.pack((*named)->hash)) return loaded;
    }
  auto pack =
      options.pack ? Result<stream::LoadedPack>{*options.pack} : load_pack_from(options.rules, budgets_of(options));
  if (pack) store.add(*pack);
  return pack;
}

}  // namespace

RunReport run_engine(const RunOptions& asked, const Observers& observers) {
  const auto recording = recording_named(asked.journal);
  if (!recording) return failed_run(recording.error().message);
  RunOptions options = asked;
  options.journal = *recording;
  auto reader = journal::Reader::open(options.journal);
  if (!reader) return failed_run(reader.error().message);
  journal::Follower journal_log{std::move(*reader)};
  Ending ending;
  WatchedLog log{journal_log, options, observers, ending};

  const bool text_on_stdout = options.to_stdout && options.alerts != "-";
  Terminal terminal{{text_on_stdout ? stdout : stderr, options.verbose,
                     options.temporary ? std::string{} : options.journal.string(), !options.wrapped}};
  Publisher publisher{options, terminal, ending};
  if (auto open = publisher.flush(); !open) return failed_run(open.error().message);
  const auto publish = [&](const stream::Report& report, std::string_view line) {
    if (observers.report) observers.report(report);
    publisher.publish(report, line);
  };
  packs::PackStore store{
      [&terminal](std::string_view hash, const stream::Error& why) { terminal.note(journal_pack_refused(hash, why)); },
      budgets_of(options)};
  const auto pack = first_pack_of(options, store);
  if (!pack) return failed_run(pack.error().message);
  stream::ShardOptions shard_options;
  shard_options.digest_columns = options.digest_columns;
  shard_options.most_state = options.state_size;
  shard_options.ignore_packs = options.pack || !options.rules.empty();

  journal::StateStore state{options.journal};
  std::unique_ptr<stream::BundleSink> sink = std::make_unique<runtime::PublishingSink>(publish);
  if (options.resume) {
    if (auto locked = state.lock(); !locked) return failed_run(locked.error().message);
    auto history = journal::AlertHistory::open(options.journal);
    if (!history) return failed_run(history.error().message);
    sink = std::make_unique<runtime::DiskSink>(std::move(*history), state, publish);
  }
  JournalLoopOwner owner{options, *pack, terminal, publisher};
  runtime::ShardLoop loop{{log, *sink, store, options.resume ? &state : nullptr},
                          owner,
                          {.shard = shard_options,
                           .patient = options.follow,
                           .entries_a_step = options.speed > 0 ? std::size_t{1} : std::size_t{256}}};
  if (auto restored = loop.restore(); !restored) return failed_run(restored.error().message);
  runtime::ShardRunner& runner = loop.runner();
  if (observers.evaluation) runner.shard().observe_settled(observers.evaluation);
  log.begin();
  const Result<void> ran = loop.run();
  terminal.end_progress();
  auto kept = loop.drain();
  if (kept) kept = publisher.flush();
  if (kept && ran && runner.judged() == 0 && options.until && log.first())
    return failed_run("--at: the first record is of " + formats::time_text(*log.first()));
  if (kept && ran && runner.judged() == 0 && !options.follow && !options.resume)
    return failed_run("there is no journal in " + options.journal.string() +
                      ": name a directory that `tocsin wrap` or `tocsin ingest` made");

  if (observers.end) observers.end(runner.shard());
  if (options.wrapped) static const stream::LoadedPack kept_to_the_end{*pack};  // the process ends: to free it takes ms
  RunReport report;
  report.first = log.first(), report.last = runner.shard().clock();
  report.exit = std::max(owner.exit_status(ran), owner.exit_status(kept));
  report.digests = runner.shard().digests();
  report.row_digests = runner.shard().row_digests();
  report.counters = runner.shard().counters();
  report.corrupt_frames = journal_log.reader().corrupt_frames();
  report.undecodable = journal_log.undecodable();
  return report;
}

}  // namespace tocsin::adapters::cli
