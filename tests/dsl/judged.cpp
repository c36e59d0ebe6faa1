#include "tests/dsl/judged.h"

#include <algorithm>
#include <cmath>

#include "stream/topology/topology.h"

namespace tocsin::dsl::test {
namespace {

std::string reported(const stream::AlertTransition& t) {
  std::string text = std::to_string(t.id) + " " + std::to_string(t.number) + " " + t.rule + " " +
                     stream::describe(t.member) + " " + std::string{stream::name(t.state)} + " " +
                     std::string{stream::name(t.reason)} + " " + std::to_string(stream::nanoseconds(t.at)) + " " +
                     t.shows;
  for (const auto& [name, value] : t.evidence) text += " " + name + "=" + std::to_string(value);
  for (const auto& member : t.who) text += " who " + stream::describe(member);
  return text;
}

struct Collecting final : stream::AlertSink {
  Judged& judged;
  explicit Collecting(Judged& to) : judged(to) {}
  void transition(const stream::AlertTransition& t) override {
    judged.alerts.push_back(t);
    judged.transitions.push_back(reported(t));
  }
  void verdict(const stream::Verdict&) override {}
};

Evaluated taken(const stream::RuleEvaluation& e) {
  Evaluated result{e.rule.name, e.tick, {}, {}};
  for (stream::Slot slot = first_member(e.rule.per); slot < e.outcomes.size(); ++slot) {
    result.outcomes.push_back(oracle::answer_of(e.outcomes[slot]));
    for (const stream::Output& output : e.rule.outputs)
      if (e.values.graph()[output.node].type.shape == stream::Shape::column)
        result.values[output.name].push_back(oracle::number_of(e.values.number_at(output.node, e.rule.per, slot)));
  }
  return result;
}

}  // namespace

stream::Slot first_member(stream::Level per) { return per == stream::Level::rank ? stream::reserved_slot + 1 : 0; }

bool same(const oracle::Number& a, const oracle::Number& b) {
  return a.has_value() == b.has_value() && (!a || *a == *b || (std::isnan(*a) && std::isnan(*b)));
}

bool operator==(const Evaluated& a, const Evaluated& b) {
  return a.rule == b.rule && a.tick == b.tick && a.outcomes == b.outcomes &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first &&
                             std::equal(x.second.begin(), x.second.end(), y.second.begin(), y.second.end(), same);
                    });
}

Judged judge(std::vector<Message>& log, const stream::PackPtr& pack, bool observed, const Look& look,
             stream::PackSource* packs) {
  Judged result;
  Collecting sink{result};
  stream::Shard shard{{pack, nullptr}, packs, sink};
  if (observed)
    shard.observe([&](const stream::RuleEvaluation& e) {
      result.evaluations.push_back(taken(e));
      if (look) look(e);
    });
  std::uint64_t position = 0;
  for (Message& message : log) {
    stream::Entry entry = message.entry.entry();
    entry.appended = entry.arrival = message.arrival;
    entry.position = static_cast<stream::Position>(position);
    entry.next = static_cast<stream::Position>(++position);
    shard.consume(entry);
  }
  result.digests = shard.digests();
  result.counters = shard.counters();
  return result;
}

}  // namespace tocsin::dsl::test
