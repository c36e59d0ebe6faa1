#include "tests/dsl/rule_oracle.h"

#include <algorithm>
#include <cmath>

#include "tests/oracle/series.h"

namespace tocsin::dsl::test {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Op;
using stream::Shape;

}  // namespace

RuleOracle::RuleOracle(const stream::Pack& pack, const RandomLog& log)
    : pack_(pack),
      log_(log),
      windows_({pack.signals, log.start, log.records,
                [this](std::string_view source, Level level, stream::Slot slot, stream::Time from, stream::Time to) {
                  return log_.was_covered(source, level, slot, from, to, now_);
                },
                [this](const std::string& text) { return symbol(text); },
                [this](double number) {
                  for (const auto& [text, known] : log_.symbols)
                    if (known == number) return text;
                  return std::string{};
                }}) {
  for (const stream::Rule& rule : pack.rules) {
    alerts_.emplace_back(rule);
    for (const auto& field : rule.state)
      states_[{alerts_.size() - 1, field.name}].assign(cluster_.size(rule.per), oracle::Number{field.initial});
  }
}

std::size_t RuleOracle::index_of(const std::string& name) const {
  const auto found =
      std::find_if(pack_.rules.begin(), pack_.rules.end(), [&](const stream::Rule& rule) { return rule.name == name; });
  return static_cast<std::size_t>(found - pack_.rules.begin());
}

oracle::Number RuleOracle::symbol(const std::string& text) const {
  const auto found = log_.symbols.find(text);
  return found == log_.symbols.end() ? oracle::Number{} : oracle::Number{found->second};
}

oracle::Column RuleOracle::window(NodeId id, const stream::Node& node, const oracle::Column& goal) {
  const auto given = run_->values.column(id);
  oracle::Column column;
  for (stream::Slot slot = 0; slot < cluster_.size(node.type.level); ++slot) {
    const oracle::Number expected =
        windows_.reduce(node, goal.empty() ? oracle::Number{} : goal[slot], slot, run_->tick, now_);
    const double value = slot < given.size() ? given[slot] : stream::absent;
    known_windows_ += expected.has_value();
    // Texts have other numbers in every run: they are compared as texts.
    const bool text = node.type.text();
    const bool right = text ? (expected ? symbol(run_->text(value)) == expected : stream::is_absent(value))
                            : oracle::near(node.op, expected, value);
    if (!right && wrong_.size() < 8)
      wrong_.push_back(pack_.graph->describe(id) + " slot " + std::to_string(slot) + " at " +
                       std::to_string(stream::seconds(run_->tick - log_.start)) + ": " + std::to_string(value) +
                       ", expected " + (expected ? std::to_string(*expected) : "none"));
    column.push_back(text || !right ? expected : oracle::number_of(value));
  }
  return column;
}

oracle::Mask RuleOracle::finding(const stream::Node& node) {
  const auto& names = node.attributes.findings;
  const auto answer = [&](std::size_t rule, std::size_t member) {
    return node.op == Op::f_ever ? alerts_[rule].ever(member) : alerts_[rule].now(member, run_->tick);
  };
  oracle::Mask answers;
  if (names.size() == 1 && pack_.rules[index_of(names[0])].per == node.type.level) {
    for (std::size_t slot = 0; slot < cluster_.size(node.type.level); ++slot)
      answers.push_back(answer(index_of(names[0]), slot));
    return answers;
  }
  oracle::Answer any = false;
  for (const std::string& name : names)
    for (std::size_t slot = first_member(pack_.rules[index_of(name)].per);
         slot < cluster_.size(pack_.rules[index_of(name)].per); ++slot)
      any = oracle::either(any, answer(index_of(name), slot));
  return {any};
}

oracle::Column RuleOracle::state(const stream::Node& node) {
  return states_.at({static_cast<std::size_t>(*node.attributes.rule), node.attributes.field});
}

bool RuleOracle::overlap(Level a, std::size_t slot_a, Level b, std::size_t slot_b) const {
  return a >= b ? cluster_.in(a, slot_a, b) == oracle::Place{slot_b}
                : cluster_.in(b, slot_b, a) == oracle::Place{slot_a};
}

// Members that overlap one with an alert keep what they had before it.
oracle::Column RuleOracle::freeze(const stream::Node& node, oracle::Column values) {
  const auto rule = static_cast<std::size_t>(*node.attributes.rule);
  const Level per = pack_.rules[rule].per;
  oracle::Column& held = held_[{rule, node.arguments[0]}];
  held.resize(values.size());
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    bool frozen = false;
    for (std::size_t member = 0; member < cluster_.size(per); ++member)
      frozen = frozen || (alerts_[rule].open(member) && overlap(node.type.level, slot, per, member));
    if (frozen && held[slot]) values[slot] = held[slot];
    else held[slot] = values[slot];
  }
  return values;
}

void RuleOracle::note(oracle::GraphOracle& graph, const stream::Rule& rule) {
  for (const auto* nodes : {&rule.hot, &rule.cold})
    for (const NodeId id : *nodes) {
      const stream::Node& node = (*pack_.graph)[id];
      const auto known = [](const auto& values) {
        return std::any_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); });
      };
      if (node.type.shape == Shape::column ? known(graph.column(id))
                                           : node.type.shape == Shape::mask && known(graph.mask(id)))
        met_.insert(node.op);
      // Neither a finding nor a window is a node of its own: who reads it has it.
      if (!node.attributes.findings.empty()) met_.insert(Op::finding);
      if (!node.attributes.window) continue;
      met_.insert(Op::window);
      for (const auto& filter : node.attributes.window->filters) met_.insert(filter.keep ? Op::w_where : Op::w_except);
    }
}

Evaluated RuleOracle::evaluate(const stream::RuleEvaluation& run) {
  run_ = &run;
  const stream::Rule& rule = run.rule;
  const std::size_t index = index_of(rule.name);
  now_ = run.tick + rule.settle;
  oracle::GraphOracle graph{*pack_.graph, cluster_, *this};
  Evaluated result{rule.name, run.tick, {}, {}};
  for (std::size_t slot = first_member(rule.per); slot < cluster_.size(rule.per); ++slot) {
    result.outcomes.push_back(graph.answer_at(rule.answer, rule.per, slot));
    for (const stream::Output& output : rule.outputs)
      if ((*pack_.graph)[output.node].type.shape == Shape::column)
        result.values[output.name].push_back(graph.number_at(output.node, rule.per, slot));
  }
  note(graph, rule);
  std::map<std::string, oracle::Column> written;
  for (const auto& field : rule.state)
    for (std::size_t slot = 0; field.write && slot < cluster_.size(rule.per); ++slot)
      written[field.name].push_back(graph.number_at(*field.write, rule.per, slot));
  for (const auto& [field, values] : written)
    for (std::size_t slot = 0; slot < values.size(); ++slot)
      if (values[slot] && !std::isnan(*values[slot])) states_[{index, field}][slot] = values[slot];
  oracle::Mask by_slot = result.outcomes;
  by_slot.insert(by_slot.begin(), first_member(rule.per), oracle::Answer{});
  alerts_[index].answered(run.tick, by_slot);
  return result;
}

}  // namespace tocsin::dsl::test
