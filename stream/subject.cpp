#include "stream/subject.h"

#include <algorithm>

namespace tocsin::stream {
namespace {

constexpr Duration patience_with_sources = std::chrono::minutes{2};
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

Subject::Subject(std::string name, Surroundings around) : name_(std::move(name)), digest_(std::make_unique<Digest>()), around_(around) {
  around_.digest = digest_.get();
}

Attempt& Subject::begin(std::string name, Time at, Position position, const LoadedPack& pack) {
  if (!attempts_.empty() && !attempts_.back()->ended()) attempts_.back()->end_unseen();
  ++started_;
  if (name.empty()) name = std::to_string(started_);
  if (attempts_.size() >= most_attempts_at_once) {
    attempts_.front()->finish();
    bury();
  }
  attempts_.push_back(std::make_unique<Attempt>(name_, std::move(name), at, position, pack, around_));
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
  if (!entry.origin_source.empty()) sources_.emplace(entry.origin_source, 0);
  std::erase_if(tombstones_, [&](const auto& stone) { return stone.second <= entry.arrival; });
  Attempt* attempt = attempt_of(entry, pack);
  if (!attempt) {
    ++around_.counters->strays;
    return;
  }
  attempt->apply(entry);
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

Time Subject::clock(Time log_clock, const std::map<std::string, Time>& watermarks) const {
  if (sources_.empty()) return log_clock;
  Time least = never;
  for (const auto& [source, unused] : sources_) {
    const auto found = watermarks.find(source);
    const Time read = found == watermarks.end() ? clock_ : found->second;
    if (log_clock - read <= patience_with_sources) least = std::min(least, read);
  }
  return std::max(clock_, least == never ? log_clock : least);
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
  out.put(digest_->value()), out.put(buried_rows_.value()), out.put(started_), out.put(clock_);
  out.put(static_cast<std::uint64_t>(tombstones_.size()));
  for (const auto& [name, until] : tombstones_) out.put(name), out.put(until);
  out.put(static_cast<std::uint64_t>(sources_.size()));
  for (const auto& [source, unused] : sources_) out.put(source);
  out.put(static_cast<std::uint64_t>(attempts_.size()));
  for (const auto& attempt : attempts_) attempt->save(out);
}

Result<void> Subject::load(Reader& in, const LoadedPack& pack) {
  digest_->restore(in.get<std::uint64_t>());
  buried_rows_.restore(in.get<std::uint64_t>());
  started_ = in.get<std::uint32_t>(), clock_ = in.get_time();
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    const std::string stone = in.get_text();
    tombstones_[stone] = in.get_time();
  }
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) sources_.emplace(in.get_text(), 0);
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    const std::string name = in.get_text();
    const Time start = in.get_time();
    const auto position = static_cast<Position>(in.get<std::uint64_t>());
    attempts_.push_back(std::make_unique<Attempt>(name_, name, start, position, pack, around_));
    if (auto loaded = attempts_.back()->load(in); !loaded) return loaded;
  }
  return in.status();
}

void Subject::fill(const Entry& entry, Time clock) {
  // The attempt that was current when this entry was read: the latest to have started by then.
  for (auto it = attempts_.rbegin(); it != attempts_.rend(); ++it) {
    const bool named = !entry.attempt.empty() && (*it)->name() == entry.attempt;
    if (!named && (!entry.attempt.empty() || (*it)->start_position() > entry.position)) continue;
    (*it)->fill(entry, clock);
    return;
  }
}

void Subject::filled() {
  for (const auto& attempt : attempts_) attempt->filled(clock_);
}

}  // namespace tocsin::stream
