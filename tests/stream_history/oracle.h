#pragma once

#include "recorded.h"

namespace tocsin::test {

// The same answers, computed from the records anew at every tick, without a thought for cost.
class Oracle {
 public:
  Oracle(const Recorded& recorded, const std::vector<Record>& records) : recorded_(recorded), records_(records) {}
  // What the reduction is of this member at a tick, seeing records that arrived before `now`.
  [[nodiscard]] double reduce(const Recorded::Reduction& reduction, Slot slot, Time tick, Time now) const;

  struct Value { Time at; double value; };
  [[nodiscard]] std::vector<Value> rows(SignalId signal, Slot slot, Time from, Time to, Time now) const;
  [[nodiscard]] std::vector<Value> points(SignalId signal, Slot slot, Time to, Time now) const;
  [[nodiscard]] double usual(SignalId signal, Slot slot, Time now) const;

 private:
  const Recorded& recorded_;
  const std::vector<Record>& records_;
};

}  // namespace tocsin::test
