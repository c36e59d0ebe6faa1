#pragma once

#include <utility>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/record.h"

namespace tocsin::stream {

// Which entries were refused when they were first read, so that a restart refuses them again: of a subject duplicates
// and strays, of a shard those of jobs for which there was no room. Runs of entries without an accepted one between
// them are kept as one span of positions. Owned by a Subject or a Shard.
class RefusedEntries {
 public:
  void refused(const Entry& entry) {
    if (!open_) spans_.push_back({entry.position, entry.next});
    spans_.back().second = entry.next;
    open_ = true;
  }
  void accepted() noexcept { open_ = false; }
  [[nodiscard]] bool holds(Position position) const;
  [[nodiscard]] bool empty() const noexcept { return spans_.empty(); }
  void forget_before(Position oldest);

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  std::vector<std::pair<Position, Position>> spans_;  // [from, to), ascending
  bool open_ = false;                                 // nothing was accepted since the last
};

}  // namespace tocsin::stream
