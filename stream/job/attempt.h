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
#include "stream/job/intake.h"
#include "stream/rules/judge.h"
#include "stream/topology/topology.h"
#include "stream/values/record.h"
#include "stream/values/symbols.h"
#include "stream/windows/history.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// One start of a job: its members, what it retains of their signals, and the rules that judge it. Records go in, in the order of
// the log; everything due before a record is done before it (advance).
// Owned by its Subject.
class Attempt final : private Extracted {
 public:
  Attempt(std::string subject, std::string name, Time start, Position start_position, LoadedPack pack, const Origins& origins,
          Context around);
  ~Attempt() override;

  // Its samples, lines, events and coverage records, in this order. `origin`: which of the job's it came from, if it was re-keyed.
  void apply(const Entry& entry, std::optional<std::size_t> origin);
  // An event that the engine itself makes of the job.
  void note(std::string_view event, std::string_view origin, Time at);
  void gap(Time from, Time to) { coverage_.gap(from, to); }

  [[nodiscard]] Time next_due() const;
  void advance(Time clock);                      // performs what is due up to and at `clock`, in order
  void pass(Time clock);                         // the same where nothing is due
  void end(Time at, std::string reason);         // E; a second end changes nothing
  void end_unseen() { end(last_arrival_, ""); }  // its last record's arrival
  void finish();                                 // a seal: nothing follows, waiting is skipped
  void use(LoadedPack pack, Time from);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Position start_position() const noexcept { return start_position_; }
  [[nodiscard]] bool ended() const noexcept { return end_ != never; }
  [[nodiscard]] bool over() const noexcept { return judge_->over(); }
  [[nodiscard]] bool started_by_event() const noexcept { return started_by_event_; }
  void started() noexcept { started_by_event_ = true; }
  [[nodiscard]] Time last_arrival() const noexcept { return last_arrival_; }
  [[nodiscard]] std::uint64_t rows_digest() const { return history_->rows_digest(); }
  [[nodiscard]] Duration longest_raw_window() const { return history_->longest_raw_window(); }

  void save(Writer& out) const;
  Result<void> load(Reader& in);
  // Between load and filled, entries before the snapshot's position fill rows and do nothing else.
  void fill(const Entry& entry, Time clock);
  void filled(Time clock);  // the subject's, of the snapshot

 private:
  void line(const LineRecord& line, Time arrival);
  void shaping_event(const EventRecord& event, Time arrival);
  std::string same_gpu(const EventRecord& event, const std::string& node);
  void signal_event(const EventRecord& event, Time arrival);
  void coverage(const CoverageRecord& coverage, Time arrival);
  void open_history();
  void report_end_reason();

  void sample(Time time, const MemberKey& member, std::string_view signal, double value, std::string_view source) override;
  void sample(Time time, const MemberKey& member, std::string_view signal, std::string_view text, std::string_view source) override;
  void event(const EventRecord& event) override;

  std::string subject_, name_;
  Time start_;
  Position start_position_;
  LoadedPack pack_;
  Context context_;
  std::map<std::string, std::string> labels_;
  Topology topology_;
  SourceCoverage coverage_;
  Symbols symbols_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Extractor> extractor_;
  std::unique_ptr<Judge> judge_;
  Intake intake_;

  Time arrival_{};  // of the record that is being applied
  Time last_arrival_{};
  Time end_ = never;
  bool started_by_event_ = false;
  bool backfilling_ = false;
  std::vector<std::byte> extractor_state_;  // of the snapshot, until filled()
};

}  // namespace tocsin::stream
