#pragma once

#include <map>
#include <optional>
#include <vector>

#include "stream/rules/pack.h"
#include "tests/oracle/graph.h"

namespace tocsin::oracle {

// What became of one rule's members, from all that it answered for them: the answer after `fire` and `clear`, which
// findings read and `freeze` holds values by. Of a rule without parents, and for no more than ten minutes (then unknown
// alerts would end).
class Alerts {
 public:
  explicit Alerts(const stream::Rule& rule) : rule_(rule) {}

  void answered(stream::Time tick, const Mask& outcomes);
  [[nodiscard]] bool open(std::size_t member) const;  // pending or firing
  [[nodiscard]] Answer now(std::size_t member, stream::Time tick) const;
  [[nodiscard]] Answer ever(std::size_t member) const;

  struct Tick {
    stream::Time at;
    Answer outcome;
  };
  // "k of n" or "for d", over the ticks since the member's first yes.
  [[nodiscard]] static bool holds(const stream::Persistence& persistence, const std::vector<Tick>& ticks, bool wanted);
  [[nodiscard]] static bool hopes(const stream::Persistence& fire, const std::vector<Tick>& ticks);

 private:
  struct Member {
    std::vector<Tick> pending;  // since its first yes; empty: quiet
    bool on = false;
    std::optional<stream::Time> first;  // of the alert that is pending or firing
    std::vector<std::pair<stream::Time, Answer>> answers;
    std::size_t evaluated = 0, known = 0;
    bool fired = false;
  };
  const stream::Rule& rule_;
  std::vector<Member> members_;
};

}  // namespace tocsin::oracle
