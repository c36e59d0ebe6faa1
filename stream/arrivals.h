#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "stream/archive.h"
#include "stream/time.h"
#include "stream/topology.h"
#include "stream/value.h"

namespace tocsin::stream {

// When the members of one signal last spoke, and how often they usually do: the median of the last 16 intervals between arrivals
// (of an even number the greater of the middle two; before 3 intervals: unknown). Records that arrive together are one arrival.
// An interval is kept in 16 bits, with 12 significant ones: whole seconds up to an hour are exact.
// Owned by its signal's History entry.
class Arrivals {
 public:
  explicit Arrivals(bool changes) : changes_(changes) {}   // changes: also when the value last changed (kind step)

  void note(Slot slot, Time arrival, double value, std::size_t members);
  // The same for many members.
  void note(std::span<const Slot> slots, Time arrival, std::size_t members);
  template <class V>
  void note(std::span<const Slot> slots, Time arrival, std::span<const V> values, std::size_t members) {
    note(slots, arrival, members);
    if (changes_)
      for (std::size_t i = 0; i < slots.size(); ++i) note_change(slots[i], arrival, static_cast<double>(values[i]));
  }

  [[nodiscard]] bool any() const noexcept { return !last_.empty(); }
  // Each member's last, as below; long_ago where nothing came. Members beyond those that `last` has room for are left out.
  void copy_last(std::span<Time> last) const;
  [[nodiscard]] bool ever(Slot slot) const noexcept { return slot < last_.size() && last_[slot] != long_ago; }
  // The last arrival; of a step, the last at which the value changed.
  [[nodiscard]] Time last(Slot slot) const noexcept { return changes_ ? changed_[slot] : last_[slot]; }
  // Seconds; `before_known` before there are 3 intervals.
  [[nodiscard]] double usual(Slot slot, double before_known) const noexcept;

  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  using Codes = std::array<std::uint16_t, 16>;
  void widen(std::size_t members);
  void note_one(Slot slot, Time arrival);
  void note_change(Slot slot, Time arrival, double value);

  bool changes_;
  Duration coded_{};            // the interval that code_ stands for
  std::uint16_t code_ = 0;
  std::vector<Time> last_;      // long_ago: never
  std::vector<Codes> codes_;    // float seconds cut to 5 bits of exponent and 11 of mantissa: their order is that of the intervals
  std::vector<std::uint8_t> filled_;  // how many of codes_ are set; from 16 on it goes round: 16 + the next place
  std::vector<Time> changed_;
  std::vector<double> value_;
};

}  // namespace tocsin::stream
