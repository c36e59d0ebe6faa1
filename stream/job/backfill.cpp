#include "stream/job/backfill.h"

#include <algorithm>

namespace tocsin::stream {

Subject::Backfill::Backfill(const Subject& of, Position from, Time log_clock)
    : of_(of), from_(from), origins_(of.job_.controlled) {
  // Without a mark there, the subject had no origins yet.
  const auto marked = std::ranges::find(of.marks_, from, &std::pair<Position, Origins>::first);
  if (marked != of.marks_.end()) origins_ = marked->second;
  begin(origins_.empty() ? log_clock : origins_.clock());
}

void Subject::Backfill::begin(Time clock) {
  clock_ = clock;
  const PackChange& pack = of_.job_.timeline->in_force(clock_);
  pack_ = pack.key;
  again_.clear();
  for (const auto& attempt : of_.attempts_) {
    again_.push_back(std::make_unique<Telemetry>(attempt->telemetry(), from_, pack));
    if (pack_ == of_.change_.key && of_.clock_ != long_ago)
      again_.back()->need_rows_of(attempt->telemetry(), std::min(of_.clock_, attempt->end_time()));
  }
}

void Subject::Backfill::follow(Time log_clock, const Watermarks& watermarks, std::string_view moved) {
  if (!origins_.empty()) (void)origins_.follow(log_clock, watermarks, moved);  // else it goes by no clock yet
}

void Subject::Backfill::read(const Entry& entry, Time log_clock) {
  // It was refused, or was about a subject of this name that was forgotten.
  if (!of_.starts_.empty() && entry.position < of_.starts_.front().at) return;
  const bool rekeyed = !entry.origin_source.empty();
  const auto origin = [&] {
    if (rekeyed) origins_.index(entry.origin_source, entry.arrival);
  };
  if (of_.refused_.holds(entry.position)) return origin();  // a stray's source is one of the job's all the same
  if (rekeyed && !of_.starts_.empty() && of_.starts_.front().at == entry.position) {
    origin();  // the subject's first entry: it never went by the log's clock
    begin(origins_.clock());
  } else {
    clock_ = std::max(clock_, origins_.empty() ? log_clock : origins_.clock());
  }
  follow_packs(clock_);
  origin();
  // Without a name, it belongs to the attempt that was current when it was read: the last to have started by then.
  std::string_view name = of_.cluster() ? std::string_view{} : entry.attempt;
  if (name.empty())
    for (const Start& start : of_.starts_)
      if (start.at <= entry.position) name = start.attempt;
  for (std::size_t i = 0; i < again_.size(); ++i) {
    Attempt& attempt = *of_.attempts_[i];
    if (!attempt.has_name(name) || attempt.start_position() > entry.position) continue;
    again_[i]->settle(clock_);
    again_[i]->need_rows(std::max(clock_, entry.arrival));
    again_[i]->read(entry, std::nullopt);
    if (attempt.ended() && event_named(entry, "end")) again_[i]->end_reason(attempt.end_time(), attempt.end_reason());
  }
}

void Subject::Backfill::follow_packs(Time clock) {
  while (const PackChange* change = of_.job_.timeline->after(pack_)) {
    // A pack whose `from` was past waits for the subject's next turn: the section is under the one before.
    if (change->key.from > clock || change->key > of_.change_.key) break;
    pack_ = change->key;
    for (const auto& telemetry : again_) {
      telemetry->settle(change->key.from - Duration{1});
      telemetry->use(*change);
      telemetry->change_lines(change->key.from);
    }
  }
}

void Subject::Backfill::end() {
  follow_packs(of_.clock_);  // those since the subject's last entry
  for (std::size_t i = 0; i < again_.size(); ++i) {
    const Attempt& attempt = *of_.attempts_[i];
    // No entry ended it: it ended without its missing parts.
    if (attempt.ended_by_event() && !attempt.parts().empty() && !attempt.parts().ended())
      again_[i]->end_reason(attempt.end_time(), attempt.end_reason());
    again_[i]->settle(of_.clock_);
    of_.attempts_[i]->telemetry().take_rows(*again_[i]);
  }
}

}  // namespace tocsin::stream
