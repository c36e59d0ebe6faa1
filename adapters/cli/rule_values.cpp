#include "adapters/cli/rule_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "adapters/formats/printable.h"
#include "stream/graph/evaluator.h"
#include "stream/graph/time_range.h"
#include "stream/rules/explanation.h"
#include "stream/rules/members.h"
#include "stream/values/units.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Shape;
using Evaluation = stream::RuleEvaluation;

// The first name; empty: it has none.
std::string name_of(const Names& names, NodeId id) {
  const auto name = names.values.find(id);
  return name == names.values.end() ? "" : name->second.substr(0, name->second.find(' '));
}

// Whether an operator stands in it outside of brackets.
bool joined(std::string_view text) {
  int depth = 0;
  return std::ranges::any_of(text, [&depth](char c) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    return c == ' ' && depth == 0;
  });
}

// The masks that decided the answer. A joined mask stands for its parts: for those that have its own value, or for all
// of them if none has.
std::set<NodeId> deciding(const Evaluation& evaluation, stream::Slot slot) {
  const stream::Graph& graph = evaluation.values.graph();
  const auto truth = [&](NodeId id) {
    return graph[id].type.level <= evaluation.rule.per
               ? std::optional{evaluation.values.truth_at(id, evaluation.rule.per, slot)}
               : std::nullopt;
  };
  std::set<NodeId> found, seen;
  std::vector<NodeId> open{evaluation.rule.answer};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const stream::Node& node = graph[id];
    std::vector<NodeId> masks, same;  // same: as the node reads them
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const NodeId argument = node.arguments[i];
      if (graph[argument].type.shape != Shape::mask) continue;
      masks.push_back(argument);
      const auto own = truth(id), read = truth(argument);
      if (own && read && (node.forms.empty() ? *read : node.forms[i].of(*read)) == *own) same.push_back(argument);
    }
    if (masks.empty()) found.insert(id);
    open.insert(open.end(), same.empty() ? masks.begin() : same.begin(), same.empty() ? masks.end() : same.end());
  }
  return found;
}

// "age = 8.21 s, limit = 30 s": what a mask was made of.
std::string operands(const Evaluation& evaluation, NodeId id, stream::Slot slot, const Names& names) {
  const stream::Graph& graph = evaluation.values.graph();
  std::string out;
  if (!graph[id].attributes.findings.empty())
    out = fmt::format("rule {}", fmt::join(graph[id].attributes.findings, ", "));
  for (NodeId argument : graph[id].arguments) {
    while (graph[argument].op == stream::Op::spread) argument = graph[argument].arguments[0];
    const stream::Node& node = graph[argument];
    if (node.op == stream::Op::constant) continue;
    const std::string name = name_of(names, argument);
    out += (out.empty() ? "" : ", ") + (name.empty() ? expression(graph, argument, names) : name) + " = " +
           value_text(evaluation, argument, slot);
  }
  return out;
}

}  // namespace

std::string expression(const stream::Graph& graph, NodeId id, const Names& names) {
  constexpr std::size_t longest = 60;  // of a part
  const auto bracketed = [](const std::string& text, bool operand) {
    if (text.size() > longest) return std::string{"(…)"};
    return operand && joined(text) ? "(" + text + ")" : text;
  };
  return graph.expression(id, [&](NodeId part, bool operand) -> std::string {
    if (const auto need = names.reads.find(id); part == id)
      return need == names.reads.end() ? bracketed(graph.leaf(id), operand) : need->second;
    while (graph[part].op == stream::Op::spread) part = graph[part].arguments[0];
    if (graph[part].op == stream::Op::constant) return stream::format_number(graph[part].attributes.number, 'g', 6);
    if (std::string name = name_of(names, part); !name.empty()) return name;
    return bracketed(expression(graph, part, names), operand);
  });
}

std::string value_text(const Evaluation& evaluation, NodeId id, stream::Slot slot) {
  const stream::Node& node = evaluation.values.graph()[id];
  const Level per = evaluation.rule.per;
  if (node.type.shape == Shape::window || node.type.shape == Shape::finding) return "";
  const auto shown = [&](NodeId of, Level level, stream::Slot at) -> std::string {
    if (node.type.shape == Shape::mask) return std::string{stream::name(evaluation.values.truth_at(of, level, at))};
    const double value = evaluation.values.number_at(of, level, at);
    if (!std::isfinite(value)) return stream::format_number(value, 'g', 6);
    return node.type.text() ? evaluation.text(value) : stream::quantity_text(value, node.type.unit);
  };
  if (node.type.level <= per) return shown(id, per, slot);
  std::string all;
  const stream::Groups& parts = evaluation.topology.groups(node.type.level, per);
  if (slot >= parts.count()) return "";
  std::size_t listed = 0;
  for (const stream::Slot part : parts.of(slot)) {
    if (++listed > 8) return all + " …";
    const auto member = stream::named_member(evaluation.topology, node.type.level, part);
    const std::string name = member.rank                      ? std::to_string(*member.rank)
                             : node.type.level == Level::rank ? "job"
                             : member.level == Level::gpu     ? member.node + "/" + member.gpu
                                                              : member.node;
    all += (all.empty() ? "" : " ") + name + ":" + shown(id, node.type.level, part);
  }
  return "[" + all + "]";
}

Names names_of(const Evaluation& evaluation) {
  const stream::Rule& rule = evaluation.rule;
  const stream::Graph& graph = evaluation.values.graph();
  Names names;
  for (const auto& [need, node] : rule.needs)
    for (const auto* nodes : {&rule.hot, &rule.cold})
      for (const NodeId id : *nodes)
        if (stream::reads_same(graph[id], graph[node])) names.reads[id] = "job." + need;
  for (const auto& output : rule.outputs) {
    std::string& name = names.values[output.node];
    name = name.empty() ? output.name : name + " " + output.name;
  }
  for (const auto& local : rule.locals) names.values.emplace(local.node, local.name);
  return names;
}

std::string why_unknown(const Evaluation& evaluation, NodeId id, stream::Slot slot) {
  return fmt::format("{}", fmt::join(evaluation.missing(id, slot), "; "));
}

std::string deciding_values(const Evaluation& evaluation, stream::Slot slot) {
  if (evaluation.rule.scripted) return "";
  const auto names = names_of(evaluation);
  std::string out;
  for (const NodeId id : deciding(evaluation, slot)) {
    out += fmt::format("  {:<48} {:<8} {}\n", formats::printable(expression(evaluation.values.graph(), id, names)),
                       formats::printable(value_text(evaluation, id, slot)),
                       formats::printable(operands(evaluation, id, slot, names)));
    const std::string why = why_unknown(evaluation, id, slot);
    if (!why.empty()) out += "    missing " + formats::printable(why) + "\n";
  }
  return out;
}

}  // namespace tocsin::adapters::cli
