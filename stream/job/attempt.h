#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/job/figures.h"
#include "stream/job/parts.h"
#include "stream/job/telemetry.h"
#include "stream/rules/judge.h"
#include "stream/values/prefetch.h"
#include "stream/windows/earlier.h"

namespace tocsin::stream {

// How many ticks may run before the caller wants to be back.
struct TickBudget {
  std::size_t left;
  bool take() noexcept { return left != 0 && left-- != 0; }
};

// One start of a job, or the cluster: its members, what it retains of their signals, and the rules that judge it.
// Records go in, in the order of the log; everything due before a record is done before it (advance). Owned by its
// Subject.
class Attempt {
 public:
  Attempt(std::string subject, std::string name, Time start, Position start_position, const PackChange& pack,
          const Origins& origins, const JobContext& job);

  // `origin`: which of the job's the entry came from, if it was re-keyed.
  // `more`: others follow, with nothing but pass() between them, until write_following().
  void apply(const Entry& entry, std::optional<std::size_t> origin, bool more);
  void write_following() { telemetry_.write_following(); }
  // The job's origins have been followed: makes an event of each of its own that the clock waits for no more, or again.
  void follow_origins(Time at);
  void gap(Time from, Time to) { telemetry_.gap(from, to), judge_->age_anew(); }

  [[nodiscard]] Time next_due() const;
  // By when it has to be advanced. What is due in its history waits for the tick that reads it, but not for long.
  [[nodiscard]] Time advance_by() const;
  [[nodiscard]] Time reports_by() const;  // by when a tick may need it: without what is put off
  // How long after the time of one of its values the block can make advance_by() earlier.
  [[nodiscard]] Duration due_after(const SampleBlock& block) const;
  // Performs what is due up to and at `clock`, in order. False: the budget is spent first; the rest is still due.
  bool advance(Time clock, TickBudget& budget);
  void pass(Time clock);  // the same where nothing is due
  // An end event of what writes as `name`: of the attempt, or of one of its parts. A second end changes nothing.
  void end(std::string_view name, Time time, Time arrival, std::string reason);
  void end_unseen();         // its last record's arrival
  void finish_extraction();  // nothing follows: half-assembled records end
  void use(const PackChange& pack, Time from);
  // How many attempts of the job began before it.
  void follows(std::uint32_t attempts) { before_ = attempts, read_earlier(); }
  // It is over: adds what it has to what the job keeps of its earlier attempts; the first call does.
  bool add_to_earlier();
  // The job keeps more of its earlier attempts than it did before `at`.
  void earlier_changed(Time at);
  [[nodiscard]] std::vector<std::uint64_t> earlier_keys() const { return telemetry_.history().earlier_keys(); }
  void forget_before(Position oldest) { telemetry_.forget_before(oldest); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool has_name(std::string_view name) const { return name == name_ || parts_.has_name(name); }
  // Where several programs report it.
  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  void add_part(const Parts::Start& start, std::string_view writes_as, std::optional<std::size_t> origin) {
    parts_.add(start, writes_as, origin);
    look_at_parts();
  }
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
  [[nodiscard]] std::uint64_t rows_digest() const { return telemetry_.history().rows_digest(); }
  [[nodiscard]] std::vector<AlertTransition> firing() const { return judge_->firing(); }
  // Bring into the cache what an advance reads, step by step: each follows pointers that the one before has fetched.
  void prefetch() const noexcept { prefetch_object(*this); }
  void prefetch_parts() const noexcept { judge_->prefetch(), telemetry_.history().prefetch(); }
  void prefetch_columns() const noexcept { judge_->prefetch_evaluator(), telemetry_.history().prefetch_columns(); }
  void prefetch_signals() const noexcept { judge_->prefetch_nodes(), telemetry_.history().prefetch_signals(); }
  [[nodiscard]] SubjectFigures figures(Time clock) const;  // in figures.cpp
  // How far back from its job's clock its rows reach: once its end is known, from there. 0: it is over.
  [[nodiscard]] Duration reach(Time clock) const {
    return over() ? Duration{0} : telemetry_.history().reach() + (clock - std::min(end_, clock));
  }
  [[nodiscard]] std::size_t state_bytes() const noexcept {
    return (80u << 10) + telemetry_.history().estimated_bytes();
  }

  [[nodiscard]] const SignalTable& signals() const noexcept { return telemetry_.signals(); }
  void save(Writer& out) const;
  Result<void> load(Reader& in);
  // A restore reads its entries again; see Backfill.
  [[nodiscard]] Telemetry& telemetry() noexcept { return telemetry_; }
  [[nodiscard]] const std::string& end_reason() const { return judge_->end_reason(); }

 private:
  [[nodiscard]] std::unique_ptr<Judge> make_judge();
  void read_earlier();
  void end_by_event(Time time, Time arrival, std::string reason);
  void end_at(Time end, std::string reason);
  void look_at_parts() { given_up_ = ended() ? never : parts_.given_up(origins_); }
  [[nodiscard]] double productive_seconds(Time until) const;

  std::string subject_, name_;
  Time start_;
  Position start_position_;
  const Origins& origins_;
  Parts parts_;
  Time given_up_ = never;  // when it ends without the parts that are missing
  Context context_;
  EarlierAttempts* earlier_;
  JobRules* rules_;
  Telemetry telemetry_;
  std::unique_ptr<Judge> judge_;

  Time last_arrival_{};
  Time end_ = never;
  bool started_by_event_ = false, ended_by_event_ = false;
  bool added_to_earlier_ = false;
  std::uint32_t before_ = 0;
};

}  // namespace tocsin::stream
