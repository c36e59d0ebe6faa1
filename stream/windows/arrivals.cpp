#include "stream/windows/arrivals.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "stream/graph/kernels.h"
#include "stream/values/packed.h"

namespace tocsin::stream {
void Arrivals::widen(std::size_t members) {
  if (members_.size() >= members) return;
  members_.resize(members);
  if (!earlier_.empty()) earlier_.resize(members);
  if (changes_) {
    changed_.resize(members, long_ago);
    value_.resize(members, absent);
  }
}

void Arrivals::end_run(Slot slot) {
  if (earlier_.empty()) earlier_.resize(members_.size());
  Member& member = members_[slot];
  Codes& codes = earlier_[slot];
  for (; member.run > 0; --member.run) store(member, codes);
}

void Arrivals::code(Duration interval) {
  coded_ = interval;
  const std::uint32_t bits =
      std::bit_cast<std::uint32_t>(static_cast<float>(seconds(interval))) + (1u << (dropped_bits - 1));
  code_ = bits <= lowest ? std::uint16_t{0}
                         : static_cast<std::uint16_t>(std::min<std::uint32_t>((bits - lowest) >> dropped_bits, 0xFFFF));
}

void Arrivals::note_change(Slot slot, Time arrival, double value) {
  if (is_absent(value) || std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(value_[slot])) return;
  value_[slot] = value;
  changed_[slot] = std::max(changed_[slot], arrival);
}

void Arrivals::note(Slot slot, Time arrival, double value, std::size_t members) {
  ++version_;
  widen(members);
  note_one(slot, arrival);
  if (changes_) note_change(slot, arrival, value);
}

// The usual case compares with what stays the same from slot to slot: without these copies, the compiler reads it anew
// after each write.
void Arrivals::note_each(std::span<const Slot> slots, Time arrival) {
  Member* const known = members_.data();
  std::uint16_t code = code_;
  Time expected = arrival - coded_;
  for (const Slot slot : slots) {
    Member& member = known[slot];
    if (member.last == expected && member.run == kept && member.code == code) {
      member.last = arrival;
    } else {
      note_one(slot, arrival);
      code = code_;
      expected = arrival - coded_;
    }
  }
}

void Arrivals::note(std::span<const Slot> slots, bool in_a_row, Time arrival, std::size_t members) {
  constexpr std::size_t singly = 8;  // so many where the usual case ends
  static_assert(sizeof(Member) == sizeof(PairOf) && offsetof(Member, last) == offsetof(PairOf, time));
  constexpr std::uint64_t in_use = 0xFF'FFFF;  // the bits of code and run
  ++version_;
  widen(members);
  if (!in_a_row || slots.size() < singly) return note_each(slots, arrival);
  for (std::size_t i = 0; i < slots.size();) {
    const PairOf usual{nanoseconds(arrival - coded_), code_ | std::uint64_t{kept} << 16};
    i += kernels().repeat(&members_[slots[i]], slots.size() - i, usual, in_use, nanoseconds(arrival));
    const std::size_t rest = std::min(singly, slots.size() - i);
    note_each(slots.subspan(i, rest), arrival);
    i += rest;
  }
}

std::size_t Arrivals::together(Slot slot) const noexcept {
  if (changes_) {
    Slot end = slot + 1;
    while (end < changed_.size() && changed_[end] == changed_[slot]) ++end;
    return end - slot;
  }
  return kernels().same_times(&members_[slot], members_.size() - slot, nanoseconds(members_[slot].last));
}

// Those whose intervals differ are sorted sixteen members at once.
void Arrivals::usual(double before_known, std::span<double> out) const noexcept {
  constexpr std::size_t together = 16;
  alignas(32) std::uint16_t codes[kept][together];
  Slot slots[together];
  std::size_t taken = 0;
  const auto sort = [&] {
    kernels().sort_sixteens(&codes[0][0]);
    for (std::size_t i = 0; i < taken; ++i) out[slots[i]] = interval_of(codes[intervals(members_[slots[i]]) / 2][i]);
    taken = 0;
  };
  std::uint16_t code = 0;
  double interval = interval_of(code);
  for (Slot slot = 0; slot < std::min(out.size(), members_.size()); ++slot) {
    const Member& member = members_[slot];
    if (member.last == long_ago) continue;
    const std::size_t count = intervals(member);
    if (member.run == kept) {  // the usual case, and constant
      if (member.code != code) interval = interval_of(code = member.code);
      out[slot] = interval;
    } else if (count < 3) {
      out[slot] = before_known;
    } else if (std::size_t{member.run} * 2 > count) {
      out[slot] = interval_of(member.code);
    } else {
      // Of the ring, the places before `next`; what is not in use is behind all that is.
      std::size_t n = 0;
      for (; n < member.run; ++n) codes[n][taken] = member.code;
      for (std::size_t back = 1; n < count; ++back, ++n)
        codes[n][taken] = earlier_[slot][(member.next + kept - back) % kept];
      for (; n < kept; ++n) codes[n][taken] = 0xFFFF;
      slots[taken++] = slot;
      if (taken == together) sort();
    }
  }
  if (taken > 0) sort();
}

void Arrivals::save(Writer& out) const {
  pack_columns(out, 5, members_, &Member::last, &Member::code, &Member::run, &Member::older, &Member::next);
  out(2, earlier_);
  pack(out, 6, changed_), pack(out, 7, value_);
}

void Arrivals::load(Reader& in) {
  static_assert(most_of_column == Topology::most_slots);
  in(1, members_), in(2, earlier_), in(3, changed_), in(4, value_);  // all but earlier_ of format 3
  unpack_columns(in, 5, members_, most_of_column, &Member::last, &Member::code, &Member::run, &Member::older,
                 &Member::next);
  unpack(in, 6, changed_), unpack(in, 7, value_);
  const std::size_t members = members_.size();
  const bool sound = std::all_of(members_.begin(), members_.end(), [&](const Member& m) {
    return m.run <= kept && m.older <= kept && m.next < kept && (m.older == 0 || !earlier_.empty());
  });
  if (!in.ok() || !sound || (!earlier_.empty() && earlier_.size() != members) ||
      (changes_ && (changed_.size() != members || value_.size() != members)))
    members_.clear(), earlier_.clear(), changed_.clear(), value_.clear();
}

bool Arrivals::same(const Arrivals& other) const noexcept {
  return changes_ == other.changes_ && members_.size() == other.members_.size() && earlier_ == other.earlier_ &&
         changed_ == other.changed_ && value_.empty() && other.value_.empty() &&
         (members_.empty() ||
          std::memcmp(members_.data(), other.members_.data(), members_.size() * sizeof(Member)) == 0);
}

std::size_t Arrivals::retained_bytes() const noexcept {
  return members_.capacity() * sizeof(Member) + earlier_.capacity() * sizeof(Codes) +
         changed_.capacity() * sizeof(Time) + value_.capacity() * sizeof(double);
}

}  // namespace tocsin::stream
