#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/time.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// When each member of a signal last wrote, and how often it usually does: the median of the last 16 intervals between
// arrivals (of an even number the greater of the middle two; unknown before 3 intervals). Records that arrive together
// are one arrival. An interval takes 16 bits, with 9 significant ones: whole seconds up to 512 are exact. Most
// intervals equal the one before, so a run of equal ones is stored as a count, and only the intervals before the run
// are stored one by one. Owned by its signal's History entry.
class Arrivals {
 public:
  explicit Arrivals(bool changes)
      : changes_(changes) {}  // changes: also records when the value last changed (kind step)

  void note(Slot slot, Time arrival, double value, std::size_t members);
  // The same for many members. `in_a_row`: each slot is the one before and 1.
  void note(std::span<const Slot> slots, bool in_a_row, Time arrival, std::size_t members);
  template <class V>
  void note(std::span<const Slot> slots, bool in_a_row, Time arrival, std::span<const V> values, std::size_t members) {
    note(slots, in_a_row, arrival, members);
    if (changes_)
      for (std::size_t i = 0; i < slots.size(); ++i) note_change(slots[i], arrival, static_cast<double>(values[i]));
  }

  // The same for one member that is already known, if values do not count as changes.
  void note_again(Slot slot, Time arrival) { ++version_, note_one(slot, arrival); }
  // Changes with each arrival.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] std::size_t members() const noexcept { return members_.size(); }
  // The same arrivals of the same members.
  [[nodiscard]] bool same(const Arrivals& other) const noexcept;

  [[nodiscard]] bool any() const noexcept { return !members_.empty(); }
  [[nodiscard]] bool ever(Slot slot) const noexcept {
    return slot < members_.size() && members_[slot].last != long_ago;
  }
  // The last arrival, long_ago: none came; of a step, the last at which the value changed.
  [[nodiscard]] Time last(Slot slot) const noexcept { return changes_ ? changed_[slot] : members_[slot].last; }
  // How many members from this one on wrote last at the same time as it does.
  [[nodiscard]] std::size_t together(Slot slot) const noexcept;
  // In seconds, for each member that has written; the others stay as they are. `before_known` before there are 3
  // intervals.
  void usual(double before_known, std::span<double> out) const noexcept;
  // `long_enough` of a member's usual interval, where it is true of each interval that is longer than one of which it
  // is: counts, where usual() sorts.
  template <class Condition>
  [[nodiscard]] bool usual_is(Slot slot, double before_known, Condition long_enough) const noexcept {
    const std::size_t count = slot < members_.size() ? intervals(members_[slot]) : 0;
    if (count < 3) return long_enough(before_known);
    const Member& member = members_[slot];
    std::size_t shorter = long_enough(interval_of(member.code)) ? 0 : std::min<std::size_t>(member.run, count);
    for (std::size_t back = 1; back + member.run <= count; ++back)
      shorter += long_enough(interval_of(earlier_[slot][(member.next + kept - back) % kept])) ? 0 : 1;
    return shorter <= count / 2;
  }

  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  static constexpr std::size_t kept = 16;  // intervals
  struct Member {
    Time last = long_ago;    // long_ago: never
    std::uint16_t code = 0;  // of the newest intervals: there are `run` of them, up to all that are stored
    std::uint8_t run = 0;
    std::uint8_t older = 0;  // how many of earlier_ hold an interval from before the run
    std::uint8_t next = 0;   // the index in earlier_ of the next interval
    std::uint8_t unused[3] = {};
  };
  using Codes = std::array<std::uint16_t, kept>;
  // A code is the exponent of a float from 2^-15 s on and the upper 8 bits of its mantissa, rounded: codes are ordered
  // as the intervals are.
  static constexpr std::uint32_t lowest = (127u - 15u) << 23;  // shorter intervals count as 0
  static constexpr int dropped_bits = 15;
  [[nodiscard]] static double interval_of(std::uint16_t code) noexcept {
    return code == 0
               ? 0.0
               : static_cast<double>(std::bit_cast<float>((static_cast<std::uint32_t>(code) << dropped_bits) + lowest));
  }
  [[nodiscard]] std::size_t intervals(const Member& member) const noexcept {
    return std::min<std::size_t>(std::size_t{member.run} + member.older, kept);
  }
  void widen(std::size_t members);
  void note_each(std::span<const Slot> slots, Time arrival);
  void note_one(Slot slot, Time arrival) {
    Member& member = members_[slot];
    if (member.last == long_ago) {
      member.last = arrival;
      return;
    }
    const Duration interval = arrival - member.last;
    if (interval == coded_ && member.run == kept && member.code == code_) member.last = arrival;  // the usual case
    else if (interval > Duration{0}) note_interval(slot, member, interval, arrival);
  }
  void note_interval(Slot slot, Member& member, Duration interval, Time arrival) {
    member.last = arrival;
    if (interval != coded_) code(interval);
    if (code_ != member.code && member.run == 1 && !earlier_.empty()) {  // the usual case of intervals that differ
      store(member, earlier_[slot]);
      member.code = code_;
      return;
    }
    if (member.run > 0 && code_ != member.code) end_run(slot);
    member.code = code_;
    if (member.run < kept) ++member.run;
  }
  // One interval of the run goes to those before it.
  static void store(Member& member, Codes& earlier) noexcept {
    earlier[member.next] = member.code;
    member.next = static_cast<std::uint8_t>((member.next + 1u) % kept);
    member.older = static_cast<std::uint8_t>(member.older + (member.older < kept ? 1u : 0u));
  }
  void code(Duration interval);
  void end_run(Slot slot);
  void note_change(Slot slot, Time arrival, double value);

  bool changes_;
  Duration coded_{};  // the interval that code_ encodes
  std::uint16_t code_ = 0;
  std::uint64_t version_ = 0;
  std::vector<Member> members_;
  std::vector<Codes> earlier_;  // allocated when a run first ends
  std::vector<Time> changed_;
  std::vector<double> value_;
};

}  // namespace tocsin::stream
