#include "stream/job/subject.h"

#include <algorithm>

#include "stream/job/backfill.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_attempts_at_once = 16;
constexpr Duration longest_record = std::chrono::seconds{30};  // of several lines, of which a restore needs the first
constexpr Duration judged_on = std::chrono::hours{1};          // beyond E, to judge an attempt to its end

std::string end_reason(const EventRecord& event) {
  for (const auto& field : event.fields)
    if (field.name == "reason")
      if (const auto* text = std::get_if<std::string_view>(&field.value)) return std::string{*text};
  for (const auto& field : event.fields) {
    const auto* number = std::get_if<double>(&field.value);
    if (field.name == "code" && number) return *number == 0 ? "completed" : "failed";
    if (field.name == "signal" && number && *number != 0) return "failed";
  }
  return {};
}

}  // namespace

Subject::Subject(std::string name, const JobContext& job)
    : name_(std::move(name)),
      cluster_(name_ == cluster_subject),
      digest_(std::make_unique<Digest>()),
      earlier_(std::make_unique<EarlierAttempts>()),
      rules_(std::make_unique<JobRules>()),
      job_(job),
      origins_(job.controlled) {
  job_.context.digest = digest_.get();
  job_.earlier = earlier_.get(), job_.rules = rules_.get();
}

Subject::~Subject() = default;

const EventRecord* Subject::event_named(const Entry& entry, std::string_view name) {
  for (const EventRecord& event : entry.events)
    if (event.name == name) return &event;
  return nullptr;
}

Attempt* Subject::find(std::string_view attempt) const {
  for (const auto& one : attempts_)
    if (one->has_name(attempt)) return one.get();
  return nullptr;
}

Attempt& Subject::begin(std::string name, const Entry& entry, Time log_clock) {
  if (!attempts_.empty() && !attempts_.back()->ended()) attempts_.back()->end_unseen();
  ++started_;
  if (name.empty())  // its number, or where an attempt that was named has that, the next
    for (std::uint32_t number = started_; name.empty() || find(name) || tombstones_.contains(name); ++number)
      name = std::to_string(number);
  if (attempts_.size() >= most_attempts_at_once) {
    TickBudget all{static_cast<std::size_t>(-1)};
    attempts_.front()->finish_extraction();
    attempts_.front()->advance(attempts_.front()->end_time() + judged_on, all);
    attempts_.front()->resolve_rest();
    bury();
  }
  if (attempts_.empty())
    if (const PackChange& in_force = job_.timeline->in_force(clock(log_clock));
        in_force.key > change_.key || started_ == 1)
      change_ = in_force;
  starts_.push_back({entry.position, name});
  attempts_.push_back(
      std::make_unique<Attempt>(name_, std::move(name), entry.arrival, entry.position, change_, origins_, job_));
  attempts_.back()->follows(started_ - 1);
  earlier_->keep(attempts_.back()->earlier_keys());
  return *attempts_.back();
}

// That this part of an attempt belongs to; null: its attempt begins with it.
Attempt* Subject::attempt_without(const Parts::Start& part, Time arrival) const {
  for (auto one = attempts_.rbegin(); one != attempts_.rend(); ++one)
    if (!(*one)->ended() && (*one)->parts().lacks(part, arrival)) return one->get();
  return nullptr;
}

Attempt* Subject::attempt_of(const Entry& entry, std::optional<std::size_t> origin, Time log_clock) {
  if (cluster())
    return !attempts_.empty() ? attempts_.back().get() : tombstones_.empty() ? &begin({}, entry, log_clock) : nullptr;
  const EventRecord* start = entry.events.empty() ? nullptr : event_named(entry, "start");
  if (!entry.attempt.empty()) {
    Attempt* attempt = find(entry.attempt);
    if (attempt && attempt->over()) return nullptr;
    if (!attempt && tombstones_.contains(entry.attempt)) return nullptr;
    const auto part = start ? Parts::start_in(*start) : std::nullopt;
    if (!attempt && part) attempt = attempt_without(*part, entry.arrival);
    if (!attempt) attempt = &begin(std::string{entry.attempt}, entry, log_clock);
    if (part) attempt->add_part(*part, entry.attempt, origin);
    if (start) attempt->started();
    return attempt;
  }
  if (start && (attempts_.empty() || attempts_.back()->ended() || attempts_.back()->started_by_event())) {
    Attempt& attempt = begin({}, entry, log_clock);
    attempt.started();
    return &attempt;
  }
  if (!attempts_.empty() && attempts_.back()->over()) return nullptr;
  if (!attempts_.empty()) {
    if (start) attempts_.back()->started();
    return attempts_.back().get();
  }
  if (!tombstones_.empty()) return nullptr;
  return &begin({}, entry, log_clock);
}

void Subject::apply(const Entry& entry, Time log_clock, bool more) {
  duplicates_.forget(clock_);
  if (duplicates_.repeated(entry)) {
    ++job_.context.counters->duplicates;
    return refused_.refused(entry);
  }
  std::optional<std::size_t> origin;
  if (!entry.origin_source.empty()) {
    origin = origins_.index(entry.origin_source, entry.arrival);
    ahead_ = std::max(ahead_, entry.arrival - log_clock);
  }
  Attempt* attempt = attempt_of(entry, origin, log_clock);
  if (!attempt) {
    ++job_.context.counters->strays;
    return refused_.refused(entry);
  }
  refused_.accepted();
  attempt->apply(entry, origin, more);
  if (cluster() || entry.events.empty()) return;
  if (const EventRecord* end = event_named(entry, "end"))
    attempt->end(entry.attempt, end->time, entry.arrival, end_reason(*end));
}

bool Subject::goes_on(std::string_view attempt) const noexcept {
  if (cluster() || rekeyed() || backfill_ || attempts_.size() != 1 || attempts_.front()->ended()) return false;
  return attempt.empty() || attempts_.front()->has_name(attempt);
}

void Subject::gap(Time from, Time to) {
  for (const auto& attempt : attempts_) attempt->gap(from, to);
}

Time Subject::due_by(Time (Attempt::*of)() const) const {
  if (attempts_.empty()) {
    Time due = duplicates_.remembered_until();
    for (const auto& [name, until] : tombstones_) due = std::max(due, until);
    if (due == long_ago) due = never;
    // What is only remembered of a job holds no pack back.
    if (const PackChange* change = job_.timeline->after(change_.key)) due = std::min(due, change->key.from);
    return due;
  }
  if (sealed_) return clock_;
  Time due = never;
  for (const auto& attempt : attempts_) {
    due = std::min(due, ((*attempt).*of)());
    if (!attempt->ended()) due = std::min(due, noticed(*attempt));
  }
  if (const PackChange* change = job_.timeline->after(change_.key)) due = std::min(due, change->key.from);
  return due;
}

bool Subject::advance(Time clock, TickBudget& budget) {
  clock = std::max(clock, clock_);
  while (const PackChange* change = job_.timeline->after(change_.key)) {
    if (change->key.from > clock) break;
    if (!advance_attempts(std::max(clock_, change->key.from - Duration{1}), budget)) return false;
    use(*change);
  }
  if (!advance_attempts(clock, budget)) return false;
  std::erase_if(tombstones_, [&](const auto& stone) { return stone.second <= clock_; });
  return true;
}

bool Subject::advance_attempts(Time clock, TickBudget& budget) {
  Time until = clock;
  if (sealed_)
    for (const auto& attempt : attempts_) until = std::max(until, attempt->end_time() + judged_on);
  // Attempts side by side take turns in the order in which their work is due, however far the clock goes at once.
  while (attempts_.size() > 1) {
    Attempt* first = nullptr;
    for (const auto& attempt : attempts_)
      if (!first || due_of(*attempt) < due_of(*first)) first = attempt.get();
    const Time due = due_of(*first);
    if (due > until || due == never) break;
    if (!advance_one(*first, due, budget)) return false;
  }
  for (const auto& attempt : attempts_)
    if (!advance_one(*attempt, until, budget)) return false;
  clock_ = std::max(clock_, clock);
  if (sealed_)
    for (const auto& attempt : attempts_)
      if (attempt->over()) attempt->resolve_rest();
  bury();
  return true;
}

Time Subject::due_of(const Attempt& attempt) const {
  if (attempt.over()) return attempt.next_due();
  return attempt.ended() ? attempt.next_due() : std::min(attempt.next_due(), noticed(attempt));
}

// What is due after the instant at which an attempt is over sees it among the earlier ones.
void Subject::remember(Attempt& attempt, Time at) {
  if (!attempt.add_to_earlier()) return;
  for (const auto& other : attempts_)
    if (other.get() != &attempt) other->earlier_changed(at);
}

bool Subject::advance_one(Attempt& attempt, Time clock, TickBudget& budget) {
  if (attempt.over()) return attempt.expire(clock), true;
  const Time missed = noticed(attempt);
  if (!attempt.ended() && missed <= clock) {
    if (!attempt.advance(missed, budget)) return false;
    attempt.end_unseen();
  }
  if (!attempt.advance(clock, budget)) return false;
  remember(attempt, clock);
  return true;
}

void Subject::settle() {
  TickBudget none{0};  // no tick is put off
  for (const auto& attempt : attempts_) (void)attempt->advance(clock_, none);
}

void Subject::pass(Time clock) {
  if (clock <= clock_) return;
  clock_ = clock;
  for (const auto& attempt : attempts_) attempt->pass(clock_);
}

void Subject::bury() {
  for (const auto& attempt : attempts_)
    if (attempt->over()) {
      remember(*attempt, clock_);
      const Time until =
          (attempt->ended_by_event() ? attempt->end_time() : attempt->last_arrival() + unseen) + tombstone;
      tombstones_[attempt->name()] = until;
      for (const auto& [name, part] : attempt->parts().names()) tombstones_[name] = until;
      if (!attempt->done()) continue;
      buried_rows_.add(attempt->rows_digest());
      attempt->leave();
    }
  std::erase_if(attempts_, [](const auto& attempt) { return attempt->done(); });
}

void Subject::seal() {
  for (const auto& attempt : attempts_) {
    if (attempt->over()) continue;
    if (!attempt->ended()) attempt->end_unseen();
    attempt->finish_extraction();
  }
  sealed_ = true;
}

void Subject::use(const PackChange& change) {
  change_ = change;
  for (const auto& attempt : attempts_) attempt->use(change, change.key.from);
  if (attempts_.empty()) return;
  earlier_->keep(attempts_.back()->earlier_keys());
  for (const auto& attempt : attempts_) attempt->earlier_changed(change.key.from);
}

bool Subject::follow(Time log_clock, const Watermarks& watermarks, std::string_view moved) {
  const Time before = origins_.clock();
  if (!origins_.follow(log_clock, watermarks, moved)) return false;
  for (const auto& attempt : attempts_) attempt->follow_origins(before);
  return true;
}

bool Subject::forgotten() const noexcept {
  return attempts_.empty() && tombstones_.empty() && duplicates_.remembered_until() <= clock_;
}

std::uint64_t Subject::rows_digest() const {
  Digest all = buried_rows_;
  for (const auto& attempt : attempts_) all.add(attempt->rows_digest());
  return all.value();
}

std::vector<AlertTransition> Subject::firing() const {
  std::vector<AlertTransition> all;
  for (const auto& attempt : attempts_)
    for (AlertTransition& alert : attempt->firing()) all.push_back(std::move(alert));
  return all;
}

std::optional<SubjectFigures> Subject::figures(Time log_clock) const {
  if (attempts_.empty()) return std::nullopt;
  if (!cluster()) return attempts_.back()->figures(clock(log_clock));
  SubjectFigures f;
  f.subject = name_;
  f.firing = firing();
  return f;
}

Duration Subject::reach() const {
  if (attempts_.empty()) return Duration{0};
  Duration longest{};
  for (const auto& attempt : attempts_) longest = std::max(longest, attempt->reach(clock_));
  return longest + longest_record + ahead_;
}

std::size_t Subject::state_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& attempt : attempts_) bytes += attempt->state_bytes();
  return bytes;
}

void Subject::save(Writer& out) const {
  out(1, digest_->value()), out(2, buried_rows_.value()), out(3, started_), out(4, clock_), out(5, sealed_),
      out(6, ahead_);
  out(7, change_), out(8, tombstones_), out(9, duplicates_), out(10, refused_), out(11, starts_), out(12, origins_),
      out(13, marks_);
  if (earlier_->count() != 0) out(15, *earlier_);
  if (!rules_->empty()) out(16, *rules_);
  out.list(14, attempts_, [](Writer& of, const auto& attempt) { attempt->save(of); });
}

Result<void> Subject::load(Reader& in) {
  digest_->restore(in.get<std::uint64_t>(1)), buried_rows_.restore(in.get<std::uint64_t>(2));
  in(3, started_), in(4, clock_), in(5, sealed_), in(6, ahead_), in(7, change_), in(8, tombstones_), in(9, duplicates_);
  in(10, refused_), in(11, starts_), in(12, origins_), in(13, marks_), in(15, *earlier_), in(16, *rules_);
  for (auto& [at, origins] : marks_) origins.go_by(job_.controlled);
  in.list(14, [&](Reader& of) {
    const auto name = of.get<std::string>(1);
    const auto start = of.get<Time>(2);
    attempts_.push_back(std::make_unique<Attempt>(name_, name, start, of.get<Position>(3), change_, origins_, job_));
    if (auto loaded = attempts_.back()->load(of); !loaded) of.fail(loaded.error());
  });
  return in.status();
}

void Subject::mark(Position at) {
  if (rekeyed()) marks_.emplace_back(at, origins_);
}

void Subject::forget_before(Position oldest) {
  std::erase_if(marks_, [&](const auto& mark) { return mark.first < oldest; });
  while (starts_.size() > 1 && starts_[1].at <= oldest) starts_.erase(starts_.begin());
  refused_.forget_before(oldest);
  for (const auto& attempt : attempts_) attempt->forget_before(oldest);
}

void Subject::begin_backfill(Position from, Time log_clock) {
  backfill_ = std::make_unique<Backfill>(*this, from, log_clock);
}

void Subject::end_backfill() {
  backfill_->end();
  backfill_.reset();
}

}  // namespace tocsin::stream
