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

// As the author wrote it: of names and numbers, with what has no name written out where that is short.
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

// The nodes that made the answer what it is: of the masks that a mask joins, those that have its own value, where there
// are some.
std::set<NodeId> deciding(const Evaluation& evaluation, stream::Slot slot) {
  const stream::Graph& graph = evaluation.values.graph();
  const auto truth = [&](NodeId id) {
    const stream::Type& type = graph[id].type;
    return type.shape == Shape::mask && type.level <= evaluation.rule.per
               ? std::optional{evaluation.values.truth_at(id, evaluation.rule.per, slot)}
               : std::nullopt;
  };
  std::set<NodeId> found;
  std::vector<NodeId> open{evaluation.rule.answer};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!found.insert(id).second) continue;
    const auto& arguments = graph[id].arguments;
    const auto same = [&, own = truth(id)](NodeId argument) { return own && truth(argument) == own; };
    const bool some = std::ranges::any_of(arguments, same);
    std::ranges::copy_if(arguments, std::back_inserter(open), [&](NodeId argument) { return !some || same(argument); });
  }
  return found;
}

}  // namespace

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
  return names;
}

std::string described(const stream::Graph& graph, NodeId id, const Names& names) {
  return substituted(graph, graph.describe(id), [&](NodeId other, std::string_view) { return name_of(names, other); });
}

std::string deciding_values(const Evaluation& evaluation, stream::Slot slot) {
  const stream::Rule& rule = evaluation.rule;
  if (rule.scripted) return "";
  const stream::Graph& graph = evaluation.values.graph();
  const auto names = names_of(rule);
  const stream::Explanation explanation{rule, graph, evaluation.values, evaluation.topology, {}, {}};
  std::string out;
  for (const NodeId id : deciding(evaluation, slot)) {
    const stream::Node& node = graph[id];
    if (node.op == stream::Op::constant || node.op == stream::Op::spread || node.type.shape == Shape::window ||
        node.type.shape == Shape::finding)
      continue;
    std::string name = id == rule.answer ? "answer" : name_of(names, id);
    if (!name.empty()) name += " = ";
    std::string value = value_text(evaluation, id, slot);
    if (value == "unknown")
      if (const auto missing = explanation.missing(id, rule.per, slot); !missing.empty())
        value += fmt::format(" (without {})", fmt::join(missing, ", "));
    out += fmt::format("  {:<56} {}\n", formats::printable(name + expression(graph, id, names)),
                       formats::printable(value));
  }
  return out;
}

}  // namespace tocsin::adapters::cli
