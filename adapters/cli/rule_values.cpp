#include "adapters/cli/rule_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "adapters/formats/printable.h"
#include "stream/graph/evaluator.h"
#include "stream/rules/explanation.h"
#include "stream/rules/members.h"
#include "stream/values/units.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Shape;
using Evaluation = stream::RuleEvaluation;
using Names = std::map<NodeId, std::string>;

// The first name; empty: it has none.
std::string name_of(const Names& names, NodeId id) {
  const auto name = names.find(id);
  return name == names.end() ? "" : name->second.substr(0, name->second.find(' '));
}

// The text with a number in the place of each constant, and what `written` gives in that of each other node, behind
// what stands before it; empty: it stays as it is.
std::string substituted(const stream::Graph& graph, const std::string& text,
                        const std::function<std::string(NodeId, std::string_view)>& written) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (text[at] == '%' && end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (text[at] != '%' || end == at + 1) {
      out += text[at++];
      continue;
    }
    const auto node = static_cast<NodeId>(std::atoi(text.c_str() + at + 1));
    const bool constant = graph[node].op == stream::Op::constant;
    const std::string put =
        constant ? stream::format_number(graph[node].attributes.number, 'g', 6) : written(node, out);
    out += put.empty() ? text.substr(at, end - at) : put;
    at = end;
  }
  return out;
}

// Whether an operator stands in it outside of brackets.
bool joined(std::string_view text) {
  int depth = 0;
  return std::ranges::any_of(text, [&depth](char c) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    return c == ' ' && depth == 0;
  });
}

// The masks that made the answer what it is, and that no masks make: of those that a mask joins only the ones with its
// own value, where there are some.
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
  for (NodeId argument : graph[id].arguments) {
    while (graph[argument].op == stream::Op::spread) argument = graph[argument].arguments[0];
    const stream::Node& node = graph[argument];
    std::string text;
    if (node.type.shape == Shape::finding) text = fmt::format("rule {}", fmt::join(node.attributes.findings, ", "));
    else if (node.op != stream::Op::constant && node.type.shape != Shape::window)
      text = (name_of(names, argument).empty() ? expression(graph, argument, names) : name_of(names, argument)) +
             " = " + value_text(evaluation, argument, slot);
    if (!text.empty()) out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

}  // namespace

std::string expression(const stream::Graph& graph, NodeId id, const Names& names) {
  constexpr std::size_t longest = 60;  // of a part
  std::string text = graph.describe(id);
  text = text.substr(0, text.find("  per "));
  text = text.substr(text.find(" = ") + 3);
  return substituted(graph, text, [&](NodeId other, std::string_view before) {
    while (graph[other].op == stream::Op::spread) other = graph[other].arguments[0];
    if (std::string name = name_of(names, other); !name.empty()) return name;
    std::string inner = expression(graph, other, names);
    if (inner.size() > longest) return std::string{"(…)"};
    const bool argument = before.ends_with('(') || before.ends_with(", ");
    return joined(inner) && !argument ? "(" + inner + ")" : inner;
  });
}

std::string value_text(const Evaluation& evaluation, NodeId id, stream::Slot slot) {
  const stream::Node& node = evaluation.values.graph()[id];
  const Level per = evaluation.rule.per;
  if (node.type.shape == Shape::window || node.type.shape == Shape::finding) return "";
  const auto shown = [&](NodeId of, Level level, stream::Slot at) -> std::string {
    if (node.type.shape == Shape::mask) {
      constexpr std::array words{"no", "unknown", "yes"};
      return words[static_cast<std::size_t>(evaluation.values.truth_at(of, level, at))];
    }
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

Names names_of(const stream::Rule& rule) {
  Names names;
  for (const auto& [need, node] : rule.needs) names[node] = "job." + need;
  for (const auto& output : rule.outputs) {
    std::string& name = names[output.node];
    name = name.empty() ? output.name : name + " " + output.name;
  }
  for (const auto& local : rule.locals) names.emplace(local.node, local.name);
  return names;
}

std::string why_unknown(const Evaluation& evaluation, NodeId id, stream::Slot slot) {
  if (value_text(evaluation, id, slot).find("unknown") == std::string::npos) return "";
  return fmt::format("{}", fmt::join(evaluation.missing(id, slot), "; "));
}

std::string deciding_values(const Evaluation& evaluation, stream::Slot slot) {
  if (evaluation.rule.scripted) return "";
  const auto names = names_of(evaluation.rule);
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
