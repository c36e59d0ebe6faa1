#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/signal.h"
#include "stream/values/time.h"
#include "stream/windows/origins.h"

namespace tocsin::stream {

// Of the log that an attempt is judged from: its clock, and when the last beat came; null, or long ago: there are none.
struct BeatTimes {
  const Time* clock = nullptr;
  const Time* last = nullptr;
};

// Which sources were live for which members, when no recorder wrote at all, and which logs have not been read far
// enough. Silence may only be judged where it is covered. Owned by its Attempt, which reports the gaps of the log; its
// Subject reports the origins.
class SourceCoverage {
 public:
  static constexpr Duration patience = std::chrono::seconds{30};  // coverage records further apart break the chain

  explicit SourceCoverage(const Origins* origins = nullptr, BeatTimes beats = {}) : origins_(origins), beats_(beats) {}

  // From now on, only sources of these signals are kept: nothing else is asked about. The table outlives this, or the
  // next call.
  void keep(const SignalTable& signals) noexcept { signals_ = &signals; }
  // A coverage record, or a record, of `source` about this member (level job: the whole job).
  void extend(std::string_view source, Level level, Slot slot, Time arrival) {
    extend(source, level, std::span{&slot, 1}, arrival);
  }
  void extend(std::string_view source, Level level, std::span<const Slot> slots, Time arrival);
  // Whether the member, what contains it, or the whole job was covered at intervals of at most 30 s throughout (from,
  // to], counted from the attempt's start if that is later.
  [[nodiscard]] bool over(std::string_view source, Level level, Slot slot, const Topology& topology, Time from,
                          Time to) const;
  // The same for each slot of the level: 1 if it was covered. True: all but the first are constant.
  bool over(std::string_view source, Level level, const Topology& topology, Time from, Time to,
            std::vector<std::uint8_t>& covered) const;
  [[nodiscard]] bool ever(std::string_view source) const;

  // A record of the attempt came from this origin. Those of other attempts do not count: a source that ended with an
  // earlier attempt says nothing about this one.
  void reads(std::size_t origin);
  // Reports each of its origins for which the clock has stopped (true) or resumed (false) waiting since the last call.
  void follow_origins(const std::function<void(std::string_view origin, bool left)>& changed);
  // Records of this origin carry these members.
  void carried(std::size_t origin, Level level, std::span<const Slot> slots);
  // At `now`, for each member of the level: 1 if an origin that carries it has not been read so far. False: all are
  // observed.
  bool unobserved(Level level, Time now, std::vector<std::uint8_t>& members) const;

  [[nodiscard]] bool any_unread(Time now) const noexcept;

  // No record was written between these two arrivals (beats more than 5 s apart).
  void gap(Time from, Time to);
  // How much of (from, now] lies within gaps. A gap counts from 5 s after its beginning, recorded or not: whether
  // records of others came before the beat that shows it must not matter.
  [[nodiscard]] Duration lost(Time from, Time now) const;
  // The rest of it, in seconds.
  [[nodiscard]] double live(Time from, Time now) const { return std::max(seconds(now - from - lost(from, now)), 0.0); }
  // How many gaps count at `now`.
  [[nodiscard]] std::size_t gaps(Time now) const;
  // Changes whenever anything is recorded.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  void start(Time attempt_start) { start_ = attempt_start, ++version_; }
  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  struct Chain {  // covered without a break since .. last; never: not covered
    Time since;
    Time last;
  };
  struct Broken : Chain {
    Slot slot;
  };
  struct Members {
    std::vector<Chain> chains;  // by slot
    // Of all slots from the second up to `spanned`, at a version: the latest since, the earliest last (if those are
    // covered, all are), and the latest last.
    mutable Chain all{never, never};
    mutable Time latest = never;
    mutable std::size_t spanned = 0;
    mutable std::uint64_t as_of = 0;
    std::vector<Broken> broken;  // chains that broke, oldest first: windows that end in the past use them
    void save(Writer& out) const;
    void load(Reader& in);
  };
  using Source = std::array<Members, level_count>;  // by level
  static void fields(auto& self, auto& archive);
  [[nodiscard]] bool open_gap(Time now) const;
  [[nodiscard]] const Source* find(std::string_view source) const {
    const auto known = sources_.find(source);
    return known == sources_.end() ? nullptr : &known->second;
  }
  // Of all slots of the level but the first: all are covered, none, or some.
  enum class Share : std::uint8_t { none, some, all };
  [[nodiscard]] Share share(const Source& source, Level level, std::size_t members, Time from, Time to) const;
  [[nodiscard]] static bool throughout(const Source& source, Level level, Slot slot, Time from, Time to);

  Time start_ = long_ago;
  std::uint64_t version_ = 0;
  std::map<std::string, Source, std::less<>> sources_;
  const SignalTable* signals_ = nullptr;     // null: every source is kept
  std::vector<std::pair<Time, Time>> gaps_;  // ascending, disjoint
  const Origins* origins_;
  BeatTimes beats_;
  std::vector<std::array<std::vector<std::uint8_t>, level_count>> carried_;  // by origin, level and slot
  enum class Reads : std::uint8_t { nothing, waited_for, left };             // as follow_origins() reported it last
  std::vector<Reads> reads_;                                                 // by origin
};

}  // namespace tocsin::stream
