#include "stream/arrivals.h"

#include <algorithm>

namespace tocsin::stream {
namespace {

constexpr std::uint32_t lowest = (127u - 15u) << 23;   // 2^-15 s; shorter intervals count as 0

std::uint16_t code_of(Duration interval) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(seconds(interval))) + (1u << 11);
  if (bits <= lowest) return 0;
  const std::uint32_t code = (bits - lowest) >> 12;
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(code, 0xFFFF));
}

double interval_of(std::uint16_t code) noexcept {
  return code == 0 ? 0.0 : static_cast<double>(std::bit_cast<float>((static_cast<std::uint32_t>(code) << 12) + lowest));
}

}  // namespace

void Arrivals::widen(std::size_t members) {
  if (last_.size() >= members) return;
  last_.resize(members, long_ago);
  codes_.resize(members, Codes{});
  filled_.resize(members, 0);
  if (changes_) {
    changed_.resize(members, long_ago);
    value_.resize(members, absent);
  }
}

inline void Arrivals::note_one(Slot slot, Time arrival) {
  const Time last = last_[slot];
  if (last == long_ago) {
    last_[slot] = arrival;
    return;
  }
  const Duration interval = arrival - last;
  if (interval <= Duration{0}) return;
  if (interval != coded_) {
    coded_ = interval;
    code_ = code_of(interval);
  }
  std::uint8_t& filled = filled_[slot];
  codes_[slot][filled & 15u] = code_;
  filled = static_cast<std::uint8_t>(filled == 31 ? 16 : filled + 1);
  last_[slot] = arrival;
}

void Arrivals::note_change(Slot slot, Time arrival, double value) {
  if (is_absent(value) || std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(value_[slot])) return;
  value_[slot] = value;
  changed_[slot] = std::max(changed_[slot], arrival);
}

void Arrivals::note(Slot slot, Time arrival, double value, std::size_t members) {
  widen(members);
  note_one(slot, arrival);
  if (changes_) note_change(slot, arrival, value);
}

void Arrivals::note(std::span<const Slot> slots, Time arrival, std::size_t members) {
  widen(members);
  for (const Slot slot : slots) note_one(slot, arrival);
}

void Arrivals::copy_last(std::span<Time> last) const {
  const std::size_t members = std::min(last.size(), last_.size());
  for (std::size_t slot = 0; slot < members; ++slot) last[slot] = last_[slot] == long_ago || !changes_ ? last_[slot] : changed_[slot];
  std::fill(last.begin() + static_cast<std::ptrdiff_t>(members), last.end(), long_ago);
}

double Arrivals::usual(Slot slot, double before_known) const noexcept {
  if (slot >= filled_.size() || filled_[slot] < 3) return before_known;
  Codes codes = codes_[slot];
  const std::size_t count = std::min<std::size_t>(filled_[slot], codes.size());
  const auto middle = codes.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(codes.begin(), middle, codes.begin() + static_cast<std::ptrdiff_t>(count));
  return interval_of(*middle);
}

void Arrivals::save(Writer& out) const {
  out.put_all(last_);
  out.put_all(codes_);
  out.put_all(filled_);
  out.put_all(changed_);
  out.put_all(value_);
}

void Arrivals::load(Reader& in) {
  last_ = in.get_all<Time>();
  codes_ = in.get_all<Codes>();
  filled_ = in.get_all<std::uint8_t>();
  changed_ = in.get_all<Time>();
  value_ = in.get_all<double>();
  const std::size_t members = last_.size();
  if (!in.ok() || codes_.size() != members || filled_.size() != members ||
      (changes_ && (changed_.size() != members || value_.size() != members))) {
    last_.clear(); codes_.clear(); filled_.clear(); changed_.clear(); value_.clear();
  }
}

std::size_t Arrivals::retained_bytes() const noexcept {
  return last_.capacity() * sizeof(Time) + codes_.capacity() * sizeof(Codes) + filled_.capacity() + changed_.capacity() * sizeof(Time) +
         value_.capacity() * sizeof(double);
}

}  // namespace tocsin::stream
