#include "stream/job/refused_entries.h"

#include <algorithm>

namespace tocsin::stream {

bool RefusedEntries::holds(Position position) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), position,
                                      [](Position p, const auto& span) { return p < span.first; });
  return after != spans_.begin() && position < std::prev(after)->second;
}

void RefusedEntries::forget_before(Position oldest) {
  const auto kept =
      std::find_if(spans_.begin(), spans_.end(), [oldest](const auto& span) { return span.second > oldest; });
  if (kept == spans_.end()) open_ = false;
  spans_.erase(spans_.begin(), kept);
}

void RefusedEntries::save(Writer& out) const { out(1, open_), out(2, spans_); }

void RefusedEntries::load(Reader& in) {
  in(1, open_), in(2, spans_);
  open_ = open_ && !spans_.empty();
}

}  // namespace tocsin::stream
