#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "stream/windows/history.h"
#include "stream/windows/retention.h"
#include "tests/oracle/windows.h"

namespace tocsin::test {

using namespace std::chrono_literals;
using namespace tocsin::stream;

inline Time at(double s) { return at_nanoseconds(1'700'000'000'000'000'000 + static_cast<std::int64_t>(s * 1e9)); }

using oracle::Record;  // of an event, `value` is its field "code"

// A pack of signals and windows, one History over it, and ticks every few seconds that reduce everything that was asked
// for.
class Recorded {
 public:
  explicit Recorded(std::uint32_t ranks = 6);

  SignalId add(SignalDefinition definition);
  WindowSpec window(std::string_view signal, Duration over, Duration lag = 0s, Duration settle = 5s) const;
  WindowSpec points(std::string_view signal, std::uint32_t n, std::uint32_t lag = 0, Duration settle = 5s) const;
  WindowSpec attempt(std::string_view signal, Duration settle = 5s) const;
  // Reduced at every tick; `declared`: History knows it from the start.
  NodeId reduce(const WindowSpec& spec, Op op, double number = 0, std::string field = {}, bool declared = true,
                double goal = 0);

  Retention retention() const;
  History open() const;
  struct Answer {
    Time tick;
    NodeId node;
    std::vector<double> values;
    friend bool operator==(const Answer& a, const Answer& b);
  };
  // How the clock goes: to each due instant in turn, or at once to where the next record is (ticks run late, and must
  // not see more). Applies records[from..to) and runs every tick that is due, up to the last record's arrival (or
  // `until`).
  std::vector<Answer> run(History& history, const std::vector<Record>& records, std::size_t from, std::size_t to,
                          Time until = long_ago);
  void write(History& history, const Record& record) const;
  void fill(History& history, const std::vector<Record>& records, std::size_t to, Time clock, Duration reach) const;

  SignalTable table;
  std::unique_ptr<Graph> graph;
  Topology topology;
  SourceCoverage coverage;
  std::uint64_t kept = 0;  // how many answers were known to be those of the tick before
  Time start = at(0);
  Duration every = 5s;
  Time next_tick = at(5);  // moves as ticks run
  std::vector<Applied> applied;
  struct Reduction {
    NodeId node;
    WindowSpec spec;
    bool declared;
    double goal;
  };
  std::vector<Reduction> reductions;
  std::vector<NodeId> windows;

 private:
  void tick(History& history, Time tick, std::vector<Answer>& answers);
  struct Before {  // of a reduction, at the tick before
    Leaves::Reading reading;
    std::uint64_t topology = 0;
    std::vector<double> values;
  };
  std::map<NodeId, Before> before_;
};

// Random samples of a few ranks: gaps, NaN, infinities, repeats, delays up to beyond the lateness.
std::vector<Record> random_records(std::uint64_t seed, std::span<const std::string> signals, std::uint32_t ranks,
                                   double seconds);
std::uint64_t seed_of_run();

}  // namespace tocsin::test
