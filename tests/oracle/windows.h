#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/topology/topology.h"
#include "tests/oracle/graph.h"

namespace tocsin::oracle {

// One sample or event, as it was written into a log.
struct Record {
  stream::Time arrival{};
  std::string signal;
  stream::Slot slot = 0;  // of the signal's owner
  stream::Time time{};
  double value = 0;              // of a text, its symbol
  double step = stream::absent;  // that a job's value belongs to
  stream::Slot reporter = 0;
  std::uint64_t sequence = 0;              // its producer's: the order of what has one time
  std::map<std::string, double> fields{};  // of an event
};

// What is known of one attempt besides its graph. `records` are in the order of their arrival.
struct Facts {
  const stream::SignalTable& signals;
  stream::Time start{};
  std::span<const Record> records;
  // Whether a source was covered for a member, or of what contains it, throughout (from, to].
  std::function<bool(std::string_view source, stream::Level level, stream::Slot slot, stream::Time from,
                     stream::Time to)>
      coverage;
  std::function<Number(const std::string&)> symbol;
  std::function<std::string(double)> text{};
};

// The reductions of windows, computed from the records anew at every tick, without a thought for cost.
class WindowOracle {
 public:
  explicit WindowOracle(Facts facts);
  // What the reduction is of this member at a tick, seeing records that arrived before `now`.
  [[nodiscard]] Number reduce(const stream::Node& reduction, Number goal, stream::Slot slot, stream::Time tick,
                              stream::Time now) const;

  struct Value {
    stream::Time at;
    double value;
  };
  [[nodiscard]] std::vector<Value> rows(stream::SignalId signal, stream::Slot slot, stream::Time from, stream::Time to,
                                        stream::Time now) const;
  [[nodiscard]] Number usual(stream::SignalId signal, stream::Slot slot, stream::Time now) const;

 private:
  [[nodiscard]] const std::vector<const Record*>& of(stream::SignalId signal, stream::Slot slot) const;
  [[nodiscard]] std::vector<Value> points(stream::SignalId signal, stream::Slot slot, stream::Time to,
                                          stream::Time now) const;
  [[nodiscard]] Number age(const stream::WindowSpec& window, stream::Slot slot, stream::Time from, stream::Time now,
                           double never) const;
  [[nodiscard]] Number of_events(const stream::Node& reduction, const stream::WindowSpec& window, stream::Slot slot,
                                 stream::Time from, stream::Time to, stream::Time now) const;
  [[nodiscard]] Number of_panes(const stream::Node& reduction, const stream::WindowSpec& window, stream::Time from,
                                stream::Time to, const std::vector<Value>& rows, Number goal) const;
  [[nodiscard]] bool passes(const Record& event, const stream::WindowSpec& window) const;
  [[nodiscard]] bool coverage(stream::SignalId signal, stream::Slot slot, stream::Time from, stream::Time to) const;

  Facts facts_;
  std::map<std::pair<std::string, stream::Slot>, std::vector<const Record*>> by_member_;
};

}  // namespace tocsin::oracle
