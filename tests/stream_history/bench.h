#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recorded.h"

namespace tocsin::test {

[[nodiscard]] inline SignalDefinition signal(std::string name, SignalKind kind = SignalKind::gauge, bool points = false,
                                             Level owner = Level::rank) {
  SignalDefinition definition;
  definition.name = std::move(name);
  definition.kind = kind;
  definition.points = points;
  definition.owner = owner;
  definition.source = "collector";
  if (kind == SignalKind::event) {
    definition.lateness = 1s;
    definition.fields.push_back({"code", "none"});
  }
  return definition;
}

// A history of four ranks that is written by hand, and looked at as of a tick.
struct Bench : Recorded {
  Bench() : Recorded(4) {}
  std::optional<History> history;
  void begin() { history.emplace(open()); }
  void settle(double s) {
    history->settle(at(s), [this](const Applied& a) { applied.push_back(a); });
  }
  History::Write sample(std::string_view name, Slot slot, double time, double value, double arrival,
                        double step = absent, Slot reporter = 0) {
    settle(arrival);
    return history->sample(*table.find(name), slot, at(time), value, at(arrival), {0, 1, 0}, step, reporter);
  }
  void event(std::string_view name, Slot slot, double time, double code, double arrival) {
    settle(arrival);
    const EventField field{"code", code};
    (void)history->event(*table.find(name), slot, at(time), {&field, 1}, at(arrival), {0, 1, 0});
  }
  void listen(double from, double to) {
    for (double t = from; t <= to; t += 10) coverage.extend("collector", Level::job, 0, at(t));
  }
  std::vector<double> look(NodeId node, double tick, Time end = never) {
    const auto& r =
        *std::find_if(reductions.begin(), reductions.end(), [&](const Reduction& known) { return known.node == node; });
    settle(tick + seconds(r.spec.settle));
    std::vector<double> out(topology.size(table[r.spec.signal].owner));
    history->reduce((*graph)[node], r.spec, {}, {at(tick), at(tick) + r.spec.settle, start, end}, coverage, out);
    return out;
  }
};

}  // namespace tocsin::test
