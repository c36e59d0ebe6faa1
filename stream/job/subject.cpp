#include "stream/job/subject.h"

#include <algorithm>

namespace tocsin::stream {
namespace {

constexpr std::size_t most_attempts_at_once = 16;

const EventRecord* event_named(const Entry& entry, std::string_view name) {
  for (const EventRecord& event : entry.events)
    if (event.name == name) return &event;
  return nullptr;
}

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

Subject::Subject(std::string name, Context around) : name_(std::move(name)), digest_(std::make_unique<Digest>()), context_(around) {
  context_.digest = digest_.get();
}

Attempt& Subject::begin(std::string name, Time at, Position position, const LoadedPack& pack) {
  if (!attempts_.empty() && !attempts_.back()->ended()) attempts_.back()->end_unseen();
  ++started_;
  if (name.empty()) name = std::to_string(started_);
  if (attempts_.size() >= most_attempts_at_once) {
    attempts_.front()->finish();
    bury();
  }
  attempts_.push_back(std::make_unique<Attempt>(name_, std::move(name), at, position, pack, origins_, context_));
  return *attempts_.back();
}

Attempt* Subject::attempt_of(const Entry& entry, const LoadedPack& pack) {
  const EventRecord* start = event_named(entry, "start");
  if (!entry.attempt.empty()) {
    for (const auto& attempt : attempts_)
      if (attempt->name() == entry.attempt) {
        if (start) attempt->started();
        return attempt.get();
      }
    if (tombstones_.contains(std::string{entry.attempt})) return nullptr;
    Attempt& attempt = begin(std::string{entry.attempt}, entry.arrival, entry.position, pack);
    if (start) attempt.started();
    return &attempt;
  }
  if (start && (attempts_.empty() || attempts_.back()->ended() || attempts_.back()->started_by_event())) {
    Attempt& attempt = begin({}, entry.arrival, entry.position, pack);
    attempt.started();
    return &attempt;
  }
  if (!attempts_.empty()) {
    if (start) attempts_.back()->started();
    return attempts_.back().get();
  }
  if (!tombstones_.empty()) return nullptr;
  return &begin({}, entry.arrival, entry.position, pack);
}

void Subject::apply(const Entry& entry, const LoadedPack& pack) {
  std::optional<std::size_t> origin;
  if (!entry.origin_source.empty()) origin = origins_.index(entry.origin_source, entry.arrival);
  std::erase_if(tombstones_, [&](const auto& stone) { return stone.second <= entry.arrival; });
  Attempt* attempt = attempt_of(entry, pack);
  if (!attempt) {
    ++context_.counters->strays;
    return;
  }
  attempt->apply(entry, origin);
  if (const EventRecord* end = event_named(entry, "end")) attempt->end(std::min(end->time, entry.arrival), end_reason(*end));
}

void Subject::gap(Time from, Time to) {
  for (const auto& attempt : attempts_) attempt->gap(from, to);
}

Time Subject::next_due() const {
  Time due = never;
  for (const auto& attempt : attempts_) {
    due = std::min(due, attempt->next_due());
    if (!attempt->ended()) due = std::min(due, attempt->last_arrival() + unseen);
  }
  return due;
}

void Subject::advance(Time clock) {
  clock_ = std::max(clock_, clock);
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    Attempt& attempt = *attempts_[i];
    if (!attempt.ended() && attempt.last_arrival() + unseen <= clock_) {
      attempt.advance(attempt.last_arrival() + unseen);
      attempt.end_unseen();
    }
    attempt.advance(clock_);
  }
  bury();
}

void Subject::pass(Time clock) {
  clock_ = std::max(clock_, clock);
  for (const auto& attempt : attempts_) attempt->pass(clock_);
}

void Subject::bury() {
  for (const auto& attempt : attempts_)
    if (attempt->over()) {
      tombstones_[attempt->name()] = attempt->last_arrival() + tombstone;
      buried_rows_.add(attempt->rows_digest());
    }
  std::erase_if(attempts_, [](const auto& attempt) { return attempt->over(); });
}

void Subject::seal() {
  for (const auto& attempt : attempts_) attempt->finish();
  bury();
}

void Subject::use(const LoadedPack& pack, Time from) {
  for (const auto& attempt : attempts_) attempt->use(pack, from);
}

void Subject::follow(Time log_clock, const Watermarks& watermarks) {
  const Time before = origins_.clock();
  origins_.follow(log_clock, watermarks, [&](std::size_t origin, bool left) {
    for (const auto& attempt : attempts_) attempt->note(left ? "origin_behind" : "origin_caught_up", origins_.name(origin), before);
  });
}

std::uint64_t Subject::rows_digest() const {
  Digest all = buried_rows_;
  for (const auto& attempt : attempts_) all.add(attempt->rows_digest());
  return all.value();
}

Duration Subject::longest_raw_window() const {
  Duration longest{};
  for (const auto& attempt : attempts_) longest = std::max(longest, attempt->longest_raw_window());
  return longest;
}

void Subject::save(Writer& out) const {
  out(1, digest_->value()), out(2, buried_rows_.value()), out(3, started_), out(4, clock_);
  out(5, tombstones_), out(6, origins_), out(7, marks_);
  out.list(8, attempts_, [](Writer& of, const auto& attempt) { attempt->save(of); });
}

Result<void> Subject::load(Reader& in, const LoadedPack& pack) {
  digest_->restore(in.get<std::uint64_t>(1)), buried_rows_.restore(in.get<std::uint64_t>(2));
  in(3, started_), in(4, clock_), in(5, tombstones_), in(6, origins_), in(7, marks_);
  in.list(8, [&](Reader& of) {
    const auto name = of.get<std::string>(1);
    const auto start = of.get<Time>(2);
    attempts_.push_back(std::make_unique<Attempt>(name_, name, start, of.get<Position>(3), pack, origins_, context_));
    if (auto loaded = attempts_.back()->load(of); !loaded) of.fail(loaded.error());
  });
  return in.status();
}

void Subject::mark(Position at) {
  if (rekeyed()) marks_.emplace_back(at, origins_);
}

void Subject::forget_marks(Position oldest) {
  std::erase_if(marks_, [&](const auto& mark) { return mark.first < oldest; });
}

void Subject::begin_backfill(Position from) {
  const auto marked = std::find_if(marks_.begin(), marks_.end(), [&](const auto& mark) { return mark.first == from; });
  backfilling_ = marked == marks_.end() ? Origins{} : marked->second;
}

void Subject::follow_backfill(Time log_clock, const Watermarks& watermarks) {
  backfilling_.follow(log_clock, watermarks, [](std::size_t, bool) {});
}

void Subject::fill(const Entry& entry, Time log_clock) {
  if (!entry.origin_source.empty()) backfilling_.index(entry.origin_source, entry.arrival);
  // The attempt that was current when this entry was read: the latest to have started by then.
  for (auto it = attempts_.rbegin(); it != attempts_.rend(); ++it) {
    const bool named = !entry.attempt.empty() && (*it)->name() == entry.attempt;
    if (!named && (!entry.attempt.empty() || (*it)->start_position() > entry.position)) continue;
    (*it)->fill(entry, backfilling_.empty() ? log_clock : backfilling_.clock());
    return;
  }
}

void Subject::filled() {
  for (const auto& attempt : attempts_) attempt->filled(clock_);
}

}  // namespace tocsin::stream
