#include "stream/rules/explanation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>

namespace tocsin::stream {
namespace {

constexpr std::size_t most_named = 8;  // members named in a text; the rest is a number

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool decides_without_value(Op op) { return op == Op::surely || op == Op::maybe || op == Op::fill; }

}  // namespace

std::string format_number(double value, char conversion, int precision) {
  if (is_absent(value)) return "unknown";
  if (is_nan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  std::array<char, 400> buffer{};
  const double shown = conversion == '%' ? value * 100 : value;
  const int digits = precision >= 0 ? std::min(precision, 20) : 6;
  int size = 0;
  switch (conversion) {
    case 'f': size = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, shown); break;
    case 'e': size = std::snprintf(buffer.data(), buffer.size(), "%.*e", digits, shown); break;
    case 'd': size = std::snprintf(buffer.data(), buffer.size(), "%.0f", shown); break;
    case '%': size = std::snprintf(buffer.data(), buffer.size(), "%.*f%%", precision >= 0 ? digits : 0, shown); break;
    default: size = std::snprintf(buffer.data(), buffer.size(), "%.*g", precision >= 0 ? std::max(1, digits) : 6, shown); break;
  }
  return {buffer.data(), static_cast<std::size_t>(std::max(0, size))};
}

void Explanation::write(Slot slot, AlertTransition& transition) const {
  transition.shows = fill(rule_->shows, slot);
  transition.who = who(slot);
  for (const Cause& cause : rule_->causes) {
    const Truth truth = values_->truth_at(cause.node, rule_->per, slot);
    if (truth == Truth::yes) transition.implies.emplace_back(cause.name, fill(cause.text, slot));
    if (truth != Truth::unknown) continue;
    const auto signals = missing(cause.node, rule_->per, slot);
    transition.cannot_decide.push_back("whether " + fill(cause.text, slot) + (signals.empty() ? "" : " (unknown: " + join(signals) + ")"));
  }
  assumptions(slot, transition.cannot_decide);
  for (const Output& output : rule_->outputs) {
    const Node& node = (*graph_)[output.node];
    if (node.type.shape != Shape::column || node.type.level > rule_->per) continue;
    const double value = values_->number_at(output.node, rule_->per, slot);
    if (!node.type.text()) transition.evidence.emplace_back(output.name, value);
    else if (const auto text = text_(value)) transition.evidence_texts.emplace_back(output.name, *text);
  }
}

void Explanation::assumptions(Slot slot, std::vector<std::string>& out) const {
  std::vector<std::pair<std::string, std::set<std::string_view>>> doubts;  // what is unknown, and the value that was assumed
  for (const NodeId id : rule_->hot) {
    const Node& node = (*graph_)[id];
    if (!decides_without_value(node.op) || !unknown(node.arguments[0], rule_->per, slot)) continue;
    const auto signals = missing(node.arguments[0], rule_->per, slot);
    if (signals.empty()) continue;
    std::string doubt = join(signals) + (signals.size() == 1 ? " is" : " are") + " unknown: ";
    auto known = std::find_if(doubts.begin(), doubts.end(), [&](const auto& d) { return d.first == doubt; });
    if (known == doubts.end()) known = doubts.insert(doubts.end(), {std::move(doubt), {}});
    known->second.insert(node.op == Op::surely ? "taken as no" : node.op == Op::maybe ? "taken as yes" : "a default stands for it");
  }
  for (const auto& [doubt, taken] : doubts)
    out.push_back(doubt + std::string{taken.size() == 1 ? *taken.begin() : "the rule decides without it"});
}

bool Explanation::unknown(NodeId id, Level level, Slot slot) const {
  const Node& node = (*graph_)[id];
  if (node.type.shape == Shape::window || node.type.shape == Shape::finding) return false;
  if (node.type.level <= level) {
    return node.type.shape == Shape::mask ? values_->truth_at(id, level, slot) == Truth::unknown
                                          : is_absent(values_->number_at(id, level, slot));
  }
  // A finer node is unknown if any of its parts is.
  const Groups& parts = topology_->groups(node.type.level, level);
  if (slot >= parts.count()) return true;
  const auto members = parts.of(slot);
  return members.empty() || std::any_of(members.begin(), members.end(), [&](Slot part) {
           if (node.type.level == Level::rank && part == reserved_slot) return false;
           return node.type.shape == Shape::mask ? values_->mask(id)[part] == Truth::unknown : is_absent(values_->column(id)[part]);
         });
}

std::vector<std::string> Explanation::missing(NodeId root, Level level, Slot slot) const {
  std::set<std::string> names;
  std::set<NodeId> seen;
  std::vector<NodeId> open{root};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = (*graph_)[id];
    if (!unknown(id, level, slot)) continue;
    bool leaf = false;
    for (const NodeId argument : node.arguments) {
      const Node& from = (*graph_)[argument];
      if (from.type.shape == Shape::window && from.attributes.window) {
        names.insert(graph_->signals()[from.attributes.window->signal].name);
        leaf = true;
      } else if (from.type.shape == Shape::finding) {
        for (const auto& rule : from.attributes.findings) names.insert("finding " + rule);
        leaf = true;
      }
    }
    if (!leaf || node.op == Op::w_time_to) open.insert(open.end(), node.arguments.begin(), node.arguments.end());
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> Explanation::missing() const {
  std::set<std::string> names;
  for (Slot slot = 0; slot < topology_->size(rule_->per); ++slot) {
    if (!topology_->exists(rule_->per, slot) || (rule_->per == Level::rank && slot == reserved_slot)) continue;
    for (auto& name : missing(rule_->answer, rule_->per, slot)) names.insert(std::move(name));
    if (slot > 64) break;  // signals that the first members lack are lacking for the others, too
  }
  return {names.begin(), names.end()};
}

std::string Explanation::fill(const TextTemplate& text, Slot slot) const {
  std::string out;
  for (std::size_t i = 0; i < text.literals.size(); ++i) {
    out += text.literals[i];
    if (i < text.places.size()) out += place(text.places[i], slot);
  }
  return out;
}

std::string Explanation::place(const TextTemplate::Place& place, Slot slot) const {
  using Kind = TextTemplate::Place::Kind;
  switch (place.kind) {
    case Kind::parameter: {
      const auto found = rule_->params.find(place.name);
      if (found == rule_->params.end()) return "?";
      if (const auto* number = std::get_if<double>(&found->second)) return format_number(*number, place.conversion, place.precision);
      return std::get<std::string>(found->second);
    }
    case Kind::member: {
      const NamedMember member = named_member(*topology_, rule_->per, slot);
      const auto or_unknown = [](const std::string& name) { return name.empty() ? std::string{"unknown"} : name; };
      if (place.name == "rank") return member.rank ? std::to_string(*member.rank) : "unknown";
      if (place.name == "node") return or_unknown(member.node);
      if (place.name == "gpu") return or_unknown(member.gpu);
      return or_unknown(member.rack);
    }
    case Kind::who: {
      const auto members = who(slot);
      if (members.empty()) return "no member that the data could name";
      std::string names;
      for (std::size_t i = 0; i < std::min(members.size(), most_named); ++i) names += (i ? ", " : "") + describe(members[i]);
      if (members.size() > most_named) names += " and " + std::to_string(members.size() - most_named) + " more";
      return names;
    }
    case Kind::value:
      for (const Output& output : rule_->outputs)
        if (output.name == place.name) return value(output.node, place, slot);
      return "?";
  }
  return "?";
}

std::string Explanation::value(NodeId id, const TextTemplate::Place& place, Slot slot) const {
  const Node& node = (*graph_)[id];
  if (node.type.shape == Shape::mask) {
    constexpr std::array<const char*, 3> words{"no", "unknown", "yes"};
    return words[static_cast<std::size_t>(values_->truth_at(id, rule_->per, slot))];
  }
  const double number = values_->number_at(id, rule_->per, slot);
  if (node.type.text()) return text_(number).value_or("unknown");
  return format_number(number, place.conversion, place.precision);
}

std::vector<NamedMember> Explanation::who(Slot slot) const {
  std::vector<NamedMember> members;
  if (!rule_->who) return members;
  const Node& node = (*graph_)[*rule_->who];
  const Mask mask = values_->mask(*rule_->who);
  if (node.type.level <= rule_->per) return members;
  const Groups& parts = topology_->groups(node.type.level, rule_->per);
  if (slot >= parts.count()) return members;
  for (const Slot part : parts.of(slot))
    if (mask[part] == Truth::yes && !(node.type.level == Level::rank && part == reserved_slot))
      members.push_back(named_member(*topology_, node.type.level, part));
  return members;
}

}  // namespace tocsin::stream
