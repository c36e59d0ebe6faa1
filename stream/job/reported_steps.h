#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/signal.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// The last step of each reporter: a job's value (loss) that comes without a step belongs to it. More than `most` of one
// signal do not: losses that are printed alone, by a job that printed its step once, are no repeats of it. Owned by the
// attempt's Intake.
class ReportedSteps {
 public:
  void report(Slot slot, double step) {
    if (last_.size() <= slot) last_.resize(slot + std::size_t{1}, absent);
    last_[slot] = step;
  }
  // The step of a value that comes now without one; absent: it has none.
  [[nodiscard]] double of_value(Slot reporter, SignalId signal) {
    if (reporter >= last_.size() || is_absent(last_[reporter])) return absent;
    Values& values = values_[{reporter, signal}];
    if (values.step != last_[reporter]) values = {last_[reporter], 0};
    values.count = std::min(values.count + 1, most + 1);
    return values.count > most ? absent : last_[reporter];
  }
  // Another pack has other numbers for its signals.
  void forget_signals() { values_.clear(); }

  void save(Writer& out) const {
    out(1, last_);
    if (values_.empty()) return;
    out.list(4, values_, [](Writer& item, const auto& held) {
      item(1, held.first.first), item(2, held.first.second), item(3, held.second.step), item(4, held.second.count);
    });
  }
  void load(Reader& in) {
    in(1, last_);
    values_.clear();
    in.list(4, [&](Reader& item) {
      values_[{item.get<Slot>(1), item.get<SignalId>(2)}] = {item.get<double>(3), item.get<std::uint32_t>(4)};
    });
  }

 private:
  static constexpr std::uint32_t most = 8;
  struct Values {
    double step = 0;
    std::uint32_t count = 0;  // since the step changed
  };
  std::vector<double> last_;  // by rank slot
  std::map<std::pair<Slot, SignalId>, Values> values_;
};

}  // namespace tocsin::stream
