#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/extractor.h"
#include "stream/job/cluster_members.h"
#include "stream/job/figures.h"
#include "stream/job/intake.h"
#include "stream/job/line_extraction.h"
#include "stream/job/tick_budget.h"
#include "stream/rules/judge.h"
#include "stream/topology/topology.h"
#include "stream/values/record.h"
#include "stream/values/symbols.h"
#include "stream/windows/earlier.h"
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
};

// One start of a job, or the cluster: its members, what it retains of their signals, and the rules that judge it.
// Records go in, in the order of the log; everything due before a record is done before it (advance). Owned by its
// Subject.
class Attempt final : private Extracted {
 public:
  Attempt(std::string subject, std::string name, Time start, Position start_position, const PackChange& pack,
          const Origins& origins, const JobContext& job);
  ~Attempt() override;

  // Its records in their order. `origin`: which of the job's it came from, if it
  // was re-keyed.
  void apply(const Entry& entry, std::optional<std::size_t> origin);
  // The job's origins have been followed: makes an event of each of its own that the clock waits for no more, or again.
  void follow_origins(Time at);
  void gap(Time from, Time to) {
    coverage_.gap(from, to), judge_->age_anew();
    if (cluster_) cluster_->gap(from, to);
  }

  [[nodiscard]] Time next_due() const;
  // Performs what is due up to and at `clock`, in order. False: the budget is spent first; the rest is still due.
  bool advance(Time clock, TickBudget& budget);
  void pass(Time clock);                                  // the same where nothing is due
  void end(Time time, Time arrival, std::string reason);  // its end event: E; a second end changes nothing
  void end_unseen();                                      // its last record's arrival
  void finish_extraction();                               // nothing follows: half-assembled records end
  void use(const PackChange& pack, Time from);
  // How many attempts of the job began before it.
  void follows(std::uint32_t attempts) { before_ = attempts, read_earlier(); }
  // It is over: adds what it has to what the job keeps of its earlier attempts; the first call does.
  bool add_to_earlier();
  // The job keeps more of its earlier attempts than it did before `at`.
  void earlier_changed(Time at);
  [[nodiscard]] std::vector<std::uint64_t> earlier_keys() const { return history_->earlier_keys(); }
  void forget_before(Position oldest) { topology_.forget_placements_before(oldest); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Position start_position() const noexcept { return start_position_; }
  [[nodiscard]] bool ended() const noexcept { return end_ != never; }
  [[nodiscard]] Time end_time() const noexcept { return end_; }
  [[nodiscard]] bool ended_by_event() const noexcept { return ended_by_event_; }
  [[nodiscard]] bool over() const noexcept { return judge_->over(); }
  // Over, and no alert of the job is left in it that another attempt could take.
  [[nodiscard]] bool done() const { return over() && !judge_->holds_alerts(); }
  void expire(Time clock);                         // once it is over: alerts of the job that no attempt took
  void resolve_rest() { judge_->resolve_rest(); }  // once it is over, and no attempt follows
  void leave() { judge_->leave(); }                // it goes
  [[nodiscard]] bool started_by_event() const noexcept { return started_by_event_; }
  void started() noexcept { started_by_event_ = true; }
  [[nodiscard]] Time last_arrival() const noexcept { return last_arrival_; }
  [[nodiscard]] std::uint64_t rows_digest() const { return history_->rows_digest(); }
  [[nodiscard]] std::vector<AlertTransition> firing() const { return judge_->firing(); }
  [[nodiscard]] SubjectFigures figures(Time clock) const;  // in figures.cpp
  [[nodiscard]] Duration longest_raw_window() const { return history_->longest_raw_window(); }

  void save(Writer& out) const;
  Result<void> load(Reader& in);
  // Between begin_backfill and end_backfill, entries before the section's position write rows and do nothing else.
  void begin_backfill(Position from, const PackChange& pack);  // of a place in the log; the pack in force there
  void backfill_from(const PackChange& pack);                  // instead, where the attempt's first entry says so
  void backfill(const Entry& entry, Time clock);
  void backfill_change(const PackChange& pack);
  void backfill_end_reason();             // after the entry that ended it
  Result<void> end_backfill(Time clock);  // the subject's, of the section

 private:
  void take(const SampleBlock& block);
  void take(const LineRecord& line);
  void take(const EventRecord& event);
  void take(const CoverageRecord& coverage);
  void shaping_event(const EventRecord& event, Time arrival);
  std::string same_gpu(const EventRecord& event, const std::string& node);
  void signal_event(const EventRecord& event, Time arrival);
  void open_history();
  void read_earlier();
  void end_at(Time end, std::string reason);
  void report_end_reason();
  void backfill_to(Time clock);
  void backfill_as(const PackChange& pack);
  [[nodiscard]] double productive_seconds(Time until) const;

  void sample(Time time, const MemberKey& member, std::string_view signal, double value,
              std::string_view source) override;
  void sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text,
              std::string_view source) override;
  void event(const EventRecord& event) override { take(event); }

  std::string subject_, name_;
  Time start_;
  Position start_position_;
  PackChange change_;  // that brought the pack
  std::shared_ptr<PackRuntime> runtime_;
  PacksInUse* packs_;
  EarlierAttempts* earlier_;
  JobRules* rules_;
  Context context_;
  Counters* counters_;  // the shard's
  std::map<std::string, std::string> labels_;
  std::optional<ClusterMembers> cluster_;
  Topology topology_;
  SourceCoverage coverage_;
  Symbols symbols_;
  std::unique_ptr<History> history_;
  LineExtraction extraction_;
  std::unique_ptr<Judge> judge_;
  Intake intake_;

  Time arrival_{};  // of the record that is being applied
  Time last_arrival_{};
  Time end_ = never;
  bool started_by_event_ = false, ended_by_event_ = false;
  bool backfilling_ = false;
  bool added_to_earlier_ = false;
  std::uint32_t before_ = 0;
  std::shared_ptr<PackRuntime> then_;  // of the pack under which the entries of a backfill were read first
  // As the section has them, until end_backfill().
  std::vector<std::byte> extraction_state_;
  std::optional<Topology> topology_then_;
  Counters uncounted_;
};

}  // namespace tocsin::stream
