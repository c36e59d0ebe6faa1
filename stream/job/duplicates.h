#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/record.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// Finds entries that are delivered twice: by (producer, epoch, sequence), or for re-keyed entries by (source, offset).
// Of each producer and source the last 1,024 numbers are remembered; what lies further back counts as repeated. A
// producer is forgotten 24 hours after its last entry. Owned by a Subject, and for control records by the log's state.
class Duplicates {
 public:
  static constexpr Duration memory = std::chrono::hours{24};

  // True: the entry was seen before, or is too far behind to tell. Remembers it otherwise.
  bool repeated(const Entry& entry) {
    const bool numbered = !entry.origin_source.empty() || (!entry.producer.empty() && entry.sequence != 0);
    return numbered && seen(entry);
  }
  // Those of long ago. A job of other logs has no clock before their first watermark.
  void forget(Time now) {
    if (now >= next_cleanup_ && now != long_ago) clean_up(now);
  }
  // When the last of them is forgotten; long_ago: nothing is remembered.
  [[nodiscard]] Time remembered_until() const noexcept { return latest_ == long_ago ? long_ago : latest_ + memory; }

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  class Window {
   public:
    static constexpr std::uint64_t width = 1024;
    bool repeated(std::uint32_t epoch, std::uint64_t sequence);
    static void fields(auto& self, auto& archive) {
      archive(1, self.last), archive(2, self.epoch_), archive(3, self.any_), archive(4, self.highest_),
          archive(5, self.bits_);
    }
    Time last = long_ago;  // arrival of its last entry

   private:
    void set(std::uint64_t sequence) { bits_[sequence % width / 64] |= std::uint64_t{1} << sequence % 64; }
    std::uint32_t epoch_ = 0;
    bool any_ = false;
    std::uint64_t highest_ = 0;
    std::array<std::uint64_t, width / 64> bits_{};
  };
  using Windows = std::map<std::string, Window, std::less<>>;
  bool seen(const Entry& entry);
  void clean_up(Time now);
  bool repeated(Windows& windows, std::string_view name, std::uint32_t epoch, std::uint64_t sequence, Time arrival);

  Windows producers_, sources_;
  Time latest_ = long_ago, next_cleanup_ = long_ago;
};

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
