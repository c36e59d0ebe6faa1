#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stream/extractor.h"
#include "stream/job/cluster_members.h"
#include "stream/job/intake.h"
#include "stream/job/line_extraction.h"
#include "stream/rules/judge.h"
#include "stream/topology/topology.h"
#include "stream/values/symbols.h"
#include "stream/windows/history.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// What a job's attempts share with their shard; all of it outlives them.
struct JobContext {
  Context context;
  const PackTimeline* timeline = nullptr;
  PacksInUse* packs = nullptr;
  EarlierAttempts* earlier = nullptr;
  JobRules* rules = nullptr;
  const Time* controlled = nullptr;  // as in LogState
};

// What the records of one attempt say: its members and labels, who was covered, texts, and the values of the signals
// that the pack's windows retain. Lines become samples and events here. Judges nothing. Owned by its Attempt; a restore
// has a second one for a while, which reads entries again for their rows.
class Telemetry {
 public:
  Telemetry(std::string_view subject, Time start, const PackChange& pack, const Origins* origins,
            const JobContext& job);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
  // As `of` was at an earlier place in the log, under the pack in force there, but empty: it retains rows alone, and
  // counts for nothing.
  Telemetry(const Telemetry& of, Position place, const PackChange& pack);

  // The entry's records in their order. `origin`: which of the job's it came from, if it was re-keyed.
  // `more`: others follow, with nothing but pass() between them, until write_following().
  void read(const Entry& entry, std::optional<std::size_t> origin, bool more = false);
  void write_following() { intake_.write_following(); }
  // The clock moves on, and nothing is due.
  void pass(Time clock) {
    if (clock >= intake_.follows_until()) intake_.write_following();
    history_->pass(clock);
  }
  void gap(Time from, Time to);
  // Makes an event of each origin of the attempt that the clock waits for no more, or again. True: there was one.
  bool follow_origins(Time at);
  // Lines that wait for others end when nothing continues them.
  [[nodiscard]] Time lines_due() const { return extraction_.next_due(); }
  void settle_lines(Time due);
  void finish_lines(Time at);
  // The cluster looks for members that have left; never: this is a job.
  [[nodiscard]] Time look_due() const { return cluster_ ? cluster_->next_look() : never; }
  void look(const std::function<void(Level, Slot)>& leaving) { cluster_->look(topology_, leaving); }
  void end(Time end);
  void end_reason(Time end, std::string_view reason);
  // min(event time, arrival), unless it is too old.
  [[nodiscard]] Time placed(Time time, Time arrival) { return intake_.placed(time, arrival, true); }

  // Judged by another pack from now on: adopts from the history of the pack before, and returns that history if it is
  // another one now. change_lines() follows.
  std::unique_ptr<History> use(const PackChange& pack);
  void change_lines(Time at);
  // All that is due up to `clock`, where nobody judges.
  void settle(Time clock);
  // Of rows alone, for `of`, which has the same pack: skips each signal until need_rows() has come to what `of` needs
  // at `clock`.
  void need_rows_of(const Telemetry& of, Time clock) {
    history_->need_rows_of(*of.history_, clock);
    intake_.open(*runtime_->pack(), *history_);
  }
  void need_rows(Time arrival);  // of what is read next
  // Takes the rows of one that has read entries again.
  void take_rows(Telemetry& again);
  void forget_before(Position oldest) { topology_.forget_placements_before(oldest); }
  double intern(std::string_view text) { return symbols_.intern(text); }

  [[nodiscard]] PackRuntime& runtime() noexcept { return *runtime_; }
  [[nodiscard]] const SignalTable& signals() const noexcept { return runtime_->pack()->signals; }
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  [[nodiscard]] const SourceCoverage& coverage() const noexcept { return coverage_; }
  [[nodiscard]] const Symbols& symbols() const noexcept { return symbols_; }
  [[nodiscard]] const std::map<std::string, std::string>& labels() const noexcept { return labels_; }
  [[nodiscard]] History& history() noexcept { return *history_; }
  [[nodiscard]] const History& history() const noexcept { return *history_; }

  void save(Writer& out) const;  // fields of its attempt
  void load(Reader& in);

 private:
  struct Lines;
  // Between two entries: what the extraction makes of lines then.
  template <class Extract>
  void extract(Time at, Extract&& extract);
  void take(const SampleBlock& block, Provenance& from) { intake_.block(block, from); }
  void take(const LineRecord& line, Provenance& from);
  void take(const EventRecord& event, Provenance& from);
  void take(const CoverageRecord& coverage, Provenance& from);
  // The signal of this name, of numbers or of texts; nullopt: there is none (counted).
  [[nodiscard]] std::optional<SignalId> find(std::string_view name, bool textual);
  void text(Time time, const MemberKey& member, std::string_view signal, std::string_view text, Provenance& from,
            std::string_view source);
  void shaping_event(const EventRecord& event, const Provenance& from);
  std::string same_gpu(const EventRecord& event, const std::string& node);
  void signal_event(const EventRecord& event, Provenance& from);
  void open_history();

  std::string subject_;
  JobContext job_;
  PackChange change_;  // that brought the pack
  std::shared_ptr<PackRuntime> runtime_;
  Counters uncounted_;  // of what is read again
  Counters* counters_;
  std::map<std::string, std::string> labels_;
  std::optional<ClusterMembers> cluster_;
  Topology topology_;
  SourceCoverage coverage_;
  Symbols symbols_;
  std::unique_ptr<History> history_;
  bool rows_only_ = false;
  Time end_ = never;
  LineExtraction extraction_;
  Intake intake_;
};

}  // namespace tocsin::stream
