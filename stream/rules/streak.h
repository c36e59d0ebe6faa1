#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/values/archive.h"
#include "stream/values/time.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// The last evaluations of one member, as far as "k of n" and "for d" look back. Owned by the member's Life.
class Streak {
 public:
  void add(Time tick, Truth outcome, const Persistence& fire, const Persistence& clear);
  // k of n: at least k of the last n were `wanted`. for d: every known one of the last d was, the first of them at
  // least d before the last, and no more than half were unknown.
  [[nodiscard]] bool holds(const Persistence& persistence, Truth wanted) const;
  // Of the last n evaluations, those that were yes; since when each known one was yes (never: the last was not).
  [[nodiscard]] std::uint32_t yes_among_last(std::uint32_t n) const { return yes_.among_last(n); }
  [[nodiscard]] Time yes_since() const noexcept { return first_yes_; }
  // A yes is still among the last n (of d): the member is pending, not quiet.
  [[nodiscard]] bool hopes(const Persistence& fire) const;

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  // Whether each of the last evaluations was so: a bit each, the newest first.
  struct Evaluations {
    std::uint64_t newest = 0;
    std::vector<std::uint64_t> older;  // beyond 64, where "k of n" looks back so far

    void add(bool one, std::uint32_t n);
    [[nodiscard]] std::uint32_t among_last(std::uint32_t n) const;
  };

  static void fields(auto& self, auto& archive);
  Evaluations yes_, no_;
  Time last_{};
  Time first_yes_ = never, first_no_ = never;  // of the run without a known opposite
  Time latest_yes_ = long_ago;
  std::deque<std::pair<Time, Truth>> recent_;  // of timed persistences only: the last d
};

}  // namespace tocsin::stream
