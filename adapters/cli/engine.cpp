#include "adapters/cli/engine.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>
#include <variant>
#include <vector>

#include "adapters/cli/packs.h"
#include "adapters/cli/terminal.h"
#include "adapters/formats/alerts.h"
#include "adapters/journal/alert_history.h"
#include "adapters/journal/follow.h"
#include "adapters/journal/state.h"
#include "adapters/packs/pack_store.h"
#include "stream/values/digest.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Time;

// Hands transitions on to the terminal and a file. Where a history is kept, only those that it does not have, and only once they are
// on disk there: together, at `settle`.
class Sinks final : public stream::AlertSink {
 public:
  Sinks(const RunOptions& options, Terminal& terminal) : quiet_(options.quiet), terminal_(&terminal) {
    if (options.alerts == "-") lines_ = &std::cout;
    else if (!options.alerts.empty()) file_.open(options.alerts), lines_ = &file_;
  }
  void keep(journal::AlertHistory& history) { history_ = &history; }
  [[nodiscard]] bool failed() const { return lines_ && !*lines_; }

  void transition(const stream::AlertTransition& t) override { add(t.id, t.number, {t, formats::alert_to_json(t)}); }
  void verdict(const stream::Verdict& v) override {
    add(stream::hash_text(v.attempt, stream::hash_text(v.subject)), 0, {v, formats::verdict_to_json(v)});
  }

  // To be called where nobody waits for the next entry, and before what a restart would go on from is stored.
  void settle() {
    if (history_)
      if (auto synced = history_->sync(); !synced) fmt::print(stderr, "tocsin: {}\n", synced.error().message);
    for (const Said& said : waiting_) publish(said);
    waiting_.clear();
    if (lines_) lines_->flush();
  }

 private:
  struct Said {
    std::variant<stream::AlertTransition, stream::Verdict> what;
    std::string line;
  };
  static constexpr std::size_t most_waiting = 256;

  void add(std::uint64_t id, std::uint32_t number, Said said) {
    if (!history_) return publish(said);
    auto added = history_->add(id, number, said.line);
    if (!added) fmt::print(stderr, "tocsin: {}\n", added.error().message);
    if (added && !*added) return;
    waiting_.push_back(std::move(said));
    if (waiting_.size() >= most_waiting) settle();
  }
  void publish(const Said& said) {
    if (!quiet_) {
      if (const auto* transition = std::get_if<stream::AlertTransition>(&said.what)) terminal_->transition(*transition);
      else terminal_->verdict(std::get<stream::Verdict>(said.what));
    }
    if (lines_) *lines_ << said.line << '\n';
  }

  std::vector<Said> waiting_;
  bool quiet_;
  Terminal* terminal_;
  std::ofstream file_;
  std::ostream* lines_ = nullptr;
  journal::AlertHistory* history_ = nullptr;
};

// Waits so that arrivals pass at `speed` times real time.
class Pace {
 public:
  explicit Pace(double speed) : speed_(speed) {}
  void wait_for(Time arrival, Sinks& sinks) {
    if (speed_ <= 0) return;
    sinks.settle();
    if (first_ == stream::never) first_ = arrival, began_ = std::chrono::steady_clock::now();
    const auto due = began_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                  std::chrono::duration<double>(stream::seconds(arrival - first_) / speed_));
    std::this_thread::sleep_until(due);
  }

 private:
  double speed_;
  Time first_ = stream::never;
  std::chrono::steady_clock::time_point began_;
};

// Until there may be more to read; cut short where `descriptor` is at its end. An alert need not be sooner, and each look costs.
void wait_for_more(int descriptor) {
  pollfd poll_for{descriptor, POLLIN, 0};
  poll(&poll_for, 1, 100);
}

bool parent_is_gone(int descriptor) {
  if (descriptor < 0) return false;
  pollfd poll_for{descriptor, POLLIN, 0};
  return poll(&poll_for, 1, 0) > 0;
}

RunReport cannot(const std::string& why) {
  fmt::print(stderr, "tocsin: {}\n", why);
  RunReport report;
  report.exit = 2;
  return report;
}

void keep(journal::StateStore& store, stream::Shard& shard, const stream::Entry& last) {
  stream::Bundle bundle;
  bundle.sections = shard.take_sections();
  bundle.position = last.next;
  if (bundle.sections.empty()) return;
  if (auto stored = store.store(bundle); !stored) fmt::print(stderr, "tocsin: {}\n", stored.error().message);
}

// Where the cap has deleted what was there, to the oldest that is left: what lay before is missing, as in every gap.
stream::Result<void> seek_at_least(journal::Follower& log, stream::Position position) {
  auto oldest = log.reader().oldest();
  if (!oldest) return oldest.error();
  return log.seek(std::max(position, *oldest));
}

std::uint64_t journal_bytes(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  return bytes;
}

}  // namespace

RunReport run_engine(const RunOptions& options, const Observer& observer) {
  auto files = dsl::read_pack(rules_directory(options.rules));
  if (!files) return cannot(files.error().message);
  dsl::Budgets budgets;
  budgets.all_scripted = options.force_scripted;
  const packs::PackOutcome outcome = packs::compile(*files, budgets);
  if (!outcome.pack) return cannot(refusal(outcome, rules_directory(options.rules)).message);
  auto reader = journal::Reader::open(options.journal);
  if (!reader) return cannot(reader.error().message);
  journal::Follower log{std::move(*reader)};

  Terminal terminal{stderr};
  Sinks sinks{options, terminal};
  if (sinks.failed()) return cannot("cannot write " + options.alerts.string());
  packs::PackStore store{[&terminal](std::string_view hash, const stream::Error& why) { terminal.note(journal_pack_refused(hash, why)); }};
  store.add(*outcome.pack);
  stream::ShardOptions shard_options;
  shard_options.digest_columns = options.digest_columns;
  shard_options.ignore_packs = !options.rules.empty();
  auto shard = std::make_unique<stream::Shard>(*outcome.pack, &store, sinks, shard_options);
  if (observer) shard->observe(observer);

  std::optional<journal::AlertHistory> history;
  std::optional<journal::StateStore> snapshots;
  if (options.resume) {
    auto opened = journal::AlertHistory::open(options.journal);
    if (!opened) return cannot(opened.error().message);
    history.emplace(std::move(*opened));
    sinks.keep(*history);
    snapshots.emplace(options.journal);
    auto newest = snapshots->newest();
    if (!newest) return cannot(newest.error().message);
    if (*newest) {
      auto from = shard->load((*newest)->sections, (*newest)->position);
      if (!from) return cannot(from.error().message);
      if (auto sought = seek_at_least(log, *from); !sought) return cannot(sought.error().message);
    }
  }

  Pace pace{options.speed};
  const bool shows_progress = !options.follow && !options.quiet && isatty(STDERR_FILENO);
  const std::uint64_t total = shows_progress ? journal_bytes(options.journal) : 0;
  std::uint64_t entries = 0;
  while (!shard->sealed()) {
    auto entry = log.next();
    if (!entry) {
      sinks.settle();
      return cannot(entry.error().message);
    }
    if (!*entry) {
      sinks.settle();
      if (!options.follow || parent_is_gone(options.stop_when_readable)) break;
      wait_for_more(options.stop_when_readable);
      continue;
    }
    pace.wait_for((*entry)->appended, sinks);
    if (options.kill_at && entries == *options.kill_at) kill(getpid(), SIGKILL);
    shard->consume(**entry);
    ++entries;
    if (snapshots && shard->sections_due()) {
      sinks.settle();  // what a snapshot knows of as said must have been said
      keep(*snapshots, *shard, **entry);
    }
    if (shows_progress && entries % 256 == 0)
      terminal.set_progress(fmt::format("replaying {}  {:3.0f} %", clock_text(shard->clock()),
                                        total ? 100.0 * static_cast<double>((*entry)->position) / static_cast<double>(total) : 0.0));
  }
  terminal.end_progress();
  sinks.settle();
  if (entries == 0 && !options.follow && !options.resume)
    return cannot("there is no journal in " + options.journal.string() + ": name a directory that `tocsin wrap` or `tocsin ingest` made");

  RunReport report;
  report.digests = shard->digests();
  report.row_digests = shard->row_digests();
  report.counters = shard->counters();
  report.corrupt_frames = log.reader().corrupt_frames();
  report.undecodable = log.undecodable();
  report.sealed = shard->sealed();
  return report;
}

}  // namespace tocsin::adapters::cli
