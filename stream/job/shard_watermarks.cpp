// Subjects whose records come from other logs go by the watermarks of these.
#include <algorithm>

#include "stream/job/backfill.h"
#include "stream/job/shard_state.h"
#include "stream/values/record.h"

namespace tocsin::stream {

void Shard::State::read_watermark(const ControlRecord& record) {
  const bool ended = record.read_up_to >= source_ended;
  if (!ended && record.read_up_to > log.clock + furthest_ahead) ++counters.corrected_arrivals;
  Time& read = log.watermarks.try_emplace(std::string{record.source}, long_ago).first->second;
  if (read < log.clock - watermarks_kept) read = long_ago;
  const Time up_to = std::min(record.read_up_to, log.clock);
  if (const auto of = followers_.find(record.source);
      record.gap_from != Time{} && up_to > read && of != followers_.end())
    for (Item* item : of->second) gap(*item, record.gap_from, up_to);
  read = std::max(read, ended ? never : up_to);
}

// Those of its sources that it does not follow yet: they are in the order of its origins.
void Shard::State::follow_sources(Item& item) {
  const Origins& origins = item.second.subject->origins();
  auto& follows = item.second.follows;
  while (follows.size() < origins.size()) {
    follows.push_back(&*followers_.try_emplace(origins.name(follows.size())).first);
    follows.back()->second.insert(&item);
  }
  if (!origins.empty()) look_after(item, long_ago);
}

// After each control record; between them, how other subjects' records interleave must not matter. Who follows no
// source that has moved, and waits for none that falls behind now, is as before.
void Shard::State::follow_watermarks(std::string_view moved) {
  Items concerned;
  if (const auto of = followers_.find(moved); of != followers_.end()) concerned = of->second;
  for (const auto& [look, item] : looks_) {
    if (look >= log.clock) break;
    concerned.insert(item);
  }
  for (Item* item : concerned) {
    Judged& judged = item->second;
    if (Subject::Backfill* backfill = judged.subject->backfill()) {
      backfill->follow(log.clock, log.watermarks, moved);
      continue;
    }
    take_waiting(*item);
    changes(*item);
    const bool changed = judged.subject->follow(log.clock, log.watermarks, moved);
    look_after(*item, judged.subject->origins().next_change());
    if (changed) waiting_.insert(item);
  }
}

}  // namespace tocsin::stream
