#include "stream/rules/explanation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "stream/values/units.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_named = 8;  // members named in a text; the rest is a number

// At most so many of the words; the rest is a number.
std::string join(const std::vector<std::string>& words, std::size_t most = std::string::npos,
                 const char* comma = ", ") {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), most); ++i) text += (i != 0 ? comma : "") + words[i];
  return words.size() <= most ? text : text + " and " + std::to_string(words.size() - most) + " more";
}

// Of the member, "rank", "node", "gpu" or "rack"; none: it has no such name.
std::optional<std::string> part_of(const NamedMember& member, const std::string& part) {
  if (part == "rank") return member.rank ? std::optional{std::to_string(*member.rank)} : std::nullopt;
  const std::string& name = part == "node" ? member.node : part == "gpu" ? member.gpu : member.rack;
  return name.empty() ? std::nullopt : std::optional{name};
}

}  // namespace

std::string format_number(double value, char conversion, int precision) {
  if (is_absent(value)) return "unknown";
  if (is_nan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  std::array<char, 400> buffer{};
  const double shown = (conversion == '%' ? value * 100 : value) + 0.0;  // one zero
  const int digits = precision >= 0 ? std::min(precision, 20) : 6;
  int size = 0;
  switch (conversion) {
    case 'f': size = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, shown); break;
    case 'e': size = std::snprintf(buffer.data(), buffer.size(), "%.*e", digits, shown); break;
    case 'd': size = std::snprintf(buffer.data(), buffer.size(), "%.0f", shown); break;
    case '%': size = std::snprintf(buffer.data(), buffer.size(), "%.*f%%", precision >= 0 ? digits : 0, shown); break;
    default:
      size = std::snprintf(buffer.data(), buffer.size(), "%.*g", precision >= 0 ? std::max(1, digits) : 6, shown);
      break;
  }
  return {buffer.data(), static_cast<std::size_t>(std::max(0, size))};
}

void Explanation::write(Slot slot, AlertTransition& transition) const {
  if (!rule_->shows.empty()) transition.shows = choose(rule_->shows, slot, rule_->summary);
  const Culprits named_ones = culprits(slot);
  for (const Slot part : named_ones.slots) transition.who.push_back(named(named_ones.level, part));
  transition.member = named(rule_->per, slot);
  for (const Cause& cause : rule_->causes) {
    const Truth truth = values_->truth_at(cause.node, rule_->per, slot);
    if (truth == Truth::no) continue;
    std::string text = choose(cause.texts, slot, cause.name);
    if (truth == Truth::yes) transition.implies.emplace_back(cause.name, std::move(text));
    if (truth != Truth::unknown) continue;
    const auto signals = missing(cause.node, rule_->per, slot);
    transition.cannot_decide.push_back("whether " + text +
                                       (signals.empty() ? "" : " (missing: " + join(signals) + ")"));
  }
  assumptions(slot, transition.cannot_decide);
  write_actions(slot, transition);
  transition.not_known = not_known(slot, transition);
  for (const Output& output : rule_->outputs) {
    const Node& node = (*graph_)[output.node];
    if (node.type.shape != Shape::column || node.type.level > rule_->per) continue;
    const double value = values_->number_at(output.node, rule_->per, slot);
    if (!node.type.text()) transition.evidence.emplace_back(output.name, value);
    else if (const auto text = text_(value)) transition.evidence_texts.emplace_back(output.name, *text);
  }
}

void Explanation::assumptions(Slot slot, std::vector<std::string>& out) const {
  std::map<std::string, std::set<std::string_view>> assumed;  // by signal
  for (const NodeId id : rule_->hot) {
    decided_without(id, slot,
                    [&](const std::string& signal, std::string_view taken) { assumed[signal].insert(taken); });
  }
  std::map<std::string_view, std::vector<std::string>> signals;  // one sentence for all that are treated alike
  for (const auto& [signal, taken] : assumed)
    signals[taken.size() == 1 ? *taken.begin() : "the rule decides without it"].push_back(signal);
  for (const auto& [taken, names] : signals)
    out.push_back(join(names) + (names.size() == 1 ? " is" : " are") + " missing: " + std::string{taken});
}

void Explanation::decided_without(NodeId id, Slot slot, const Assumed& assumed) const {
  const Node& node = (*graph_)[id];
  if (node.op == Op::fill)
    for (const std::string& signal : missing(node.arguments[0], rule_->per, slot)) assumed(signal, "a default is used");
  if (joins_masks(node.op)) return joined_without(node, slot, assumed);
  if (column_of(node.op) != node.op && unknown(id, Shape::column, rule_->per, slot))
    assumed(graph_->signals()[node.attributes.window->signal].name, "assumed no");
}

// What stands for an unknown mask matters only where no other mask decides.
void Explanation::joined_without(const Node& node, Slot slot, const Assumed& assumed) const {
  const Truth deciding = node.op == Op::conjunction ? Truth::no : Truth::yes;
  const auto decided = [&](Level level, Slot at) {
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const Truth truth = values_->truth_at(node.arguments[i], level, at);
      if (truth != Truth::unknown && node.forms[i].of(truth) == deciding) return true;
    }
    return false;
  };
  if (all_parts(node.type.level, rule_->per, slot, decided)) return;
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const MaskForm form = node.forms[i];
    if (!form.decides()) continue;
    const bool yes = form.unknown == MaskForm::Unknown::yes;
    for (const std::string& signal : missing(node.arguments[i], rule_->per, slot))
      assumed(signal, yes ? "assumed yes" : "assumed no");
  }
}

// A finer node is unknown if any of its parts is.
bool Explanation::unknown(NodeId id, Shape shape, Level level, Slot slot) const {
  if (shape == Shape::window || shape == Shape::finding) return false;
  return !all_parts((*graph_)[id].type.level, level, slot, [&](Level of, Slot at) {
    return shape == Shape::mask ? values_->truth_at(id, of, at) != Truth::unknown
                                : !is_absent(values_->number_at(id, of, at));
  });
}

bool Explanation::all_parts(Level of, Level level, Slot slot, auto&& holds) const {
  if (of <= level) return holds(level, slot);
  const Groups& parts = topology_->groups(of, level);
  bool any = false;
  for (const Slot part : slot < parts.count() ? parts.of(slot) : std::span<const Slot>{}) {
    if (of == Level::rank && part == reserved_slot) continue;
    if (!holds(of, part)) return false;
    any = true;
  }
  return any;
}

std::vector<std::string> Explanation::missing(NodeId root, Level level, Slot slot, const Why& why) const {
  std::set<std::string> names;
  std::set<NodeId> seen;
  std::vector<NodeId> open{root};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = (*graph_)[id];
    if (!unknown(id, node.type.shape, level, slot)) continue;
    const auto& window = node.attributes.window;
    if (window) names.insert(graph_->signals()[window->signal].name + (why ? why(id, level, slot) : ""));
    for (const auto& rule : node.attributes.findings) {
      const auto missed = missed_by_ ? missed_by_(rule) : std::vector<std::string>{};
      names.insert(missed.begin(), missed.end());
      if (missed.empty()) names.insert("finding " + rule);
    }
    if (!window || node.op == Op::w_time_to) open.insert(open.end(), node.arguments.begin(), node.arguments.end());
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

Explanation::Text Explanation::fill(const TextTemplate& text, Slot slot, std::optional<Slot> culprit) const {
  const auto filled = [&](const TextTemplate::Part& part) -> Filled {
    std::string out = part.literals.front();
    for (std::size_t i = 0; i < part.places.size(); ++i) {
      const Filled value = place(part.places[i], slot, culprit);
      if (!value) return std::nullopt;
      out += *value + part.literals[i + 1];
    }
    return out;
  };
  Text whole;
  std::size_t clause = 0;  // where it begins
  bool dropped = false;
  for (const TextTemplate::Part& part : text.parts) {
    if (part.clause) clause = whole.text.size(), dropped = false;
    if (dropped) continue;
    const Filled one = filled(part);
    if (one) whole.text += *one;
    if (one || part.optional) continue;
    whole.text.resize(clause);
    dropped = true, whole.complete = false;
  }
  if (!whole.complete) whole.text.erase(0, whole.text.find_first_not_of(",; "));
  return whole;
}

std::string Explanation::choose(const Texts& texts, Slot slot, const std::string& fallback) const {
  Text chosen;
  for (const TextTemplate& text : texts) {
    chosen = fill(text, slot, std::nullopt);
    if (chosen.complete) break;
  }
  return chosen.text.empty() ? fallback : chosen.text;
}

// A text that names culprits is filled once for each of them.
Explanation::Filled Explanation::instruction(const Action& action, Slot slot) const {
  const Culprits named = culprits(slot);
  for (const TextTemplate& text : action.texts) {
    bool each = false;
    text.each_place([&](const TextTemplate::Place& place) { each = each || names_culprits(place); });
    if (!each || named.slots.empty()) {
      if (Text filled = fill(text, slot, std::nullopt); filled.complete) return std::move(filled.text);
      continue;
    }
    std::vector<std::string> filled;
    bool complete = true;
    for (std::size_t i = 0; i < std::min(named.slots.size(), most_named) && complete; ++i) {
      Text one = fill(text, slot, named.slots[i]);
      complete = one.complete;
      if (complete && std::find(filled.begin(), filled.end(), one.text) == filled.end())
        filled.push_back(std::move(one.text));
    }
    if (!complete) continue;
    std::string all = join(filled, most_named, "; ");
    if (named.slots.size() > most_named)
      all += "; and so for " + std::to_string(named.slots.size() - most_named) + " more";
    return all;
  }
  return std::nullopt;
}

void Explanation::write_actions(Slot slot, AlertTransition& transition) const {
  const auto give = [&](const Action& action) {
    if (auto text = instruction(action, slot))
      if (std::find(transition.actions.begin(), transition.actions.end(), *text) == transition.actions.end())
        transition.actions.push_back(std::move(*text));
  };
  for (const Cause& cause : rule_->causes)
    if (values_->truth_at(cause.node, rule_->per, slot) == Truth::yes)
      for (const Action& action : rule_->actions)
        if (action.cause == cause.name) give(action);
  if (!transition.actions.empty()) return;
  for (const Action& action : rule_->actions)
    if (action.cause.empty()) give(action);
}

void Explanation::doubted(NodeId root, Slot slot, std::set<std::string>& signals) const {
  for (std::string& name : missing(root, rule_->per, slot)) signals.insert(std::move(name));
  const NodeId roots[] = {root};
  for (const NodeId id : graph_->reach(roots))
    decided_without(id, slot, [&](const std::string& signal, std::string_view) { signals.insert(signal); });
}

std::string Explanation::not_known(Slot slot, const AlertTransition& transition) const {
  constexpr std::size_t most_signals = 3;
  const auto needed = [&](const std::set<std::string>& signals) {  // "and 1 more" is as long as the name
    return join({signals.begin(), signals.end()}, signals.size() == most_signals + 1 ? signals.size() : most_signals);
  };
  std::set<std::string> who, why;
  if (!transition.implies.empty()) return "";
  if (rule_->who && transition.who.empty()) doubted(*rule_->who, slot, who);
  for (const Cause& cause : rule_->causes) doubted(cause.node, slot, why);
  const std::string member = rule_->who ? std::string{name((*graph_)[*rule_->who].type.level)} : "";
  if (!who.empty() && (why.empty() || why == who))
    return "which " + member + " is at fault" + (why.empty() ? "" : ", and why") + " (" + needed(who) +
           " would show it)";
  std::string text;
  if (!who.empty()) text = "which " + member + " is at fault (" + needed(who) + " would show it)";
  if (!why.empty()) text += (text.empty() ? "" : "; ") + ("why (" + needed(why) + " would show it)");
  return text;
}

std::optional<NodeId> Explanation::output(const std::string& name) const {
  for (const Output& one : rule_->outputs)
    if (one.name == name) return one.node;
  return std::nullopt;
}

bool Explanation::names_culprits(const TextTemplate::Place& place) const {
  using Kind = TextTemplate::Place::Kind;
  const auto node = output(place.name);
  if (place.kind == Kind::culprit) return !node;
  return place.kind == Kind::value && node && rule_->who && (*graph_)[*node].type.level > rule_->per;
}

Explanation::Filled Explanation::place(const TextTemplate::Place& place, Slot slot, std::optional<Slot> culprit) const {
  using Kind = TextTemplate::Place::Kind;
  if (names_culprits(place)) return of_culprits(place, culprit, slot);
  switch (place.kind) {
    case Kind::parameter: {
      const auto found = rule_->params.find(place.name);
      if (found == rule_->params.end()) return std::nullopt;
      if (const auto* number = std::get_if<double>(&found->second))
        return std::isinf(*number) ? Filled{} : format_number(*number, place.conversion, place.precision);
      return std::get<std::string>(found->second);
    }
    case Kind::label: {
      const auto label = labels_->find(place.name);
      return label == labels_->end() || label->second.empty() ? Filled{} : label->second;
    }
    case Kind::member: return part_of(named_member(*topology_, rule_->per, slot), place.name);
    case Kind::who: {
      const Culprits named_ones = culprits(slot);
      if (named_ones.slots.empty()) return std::nullopt;
      std::vector<std::string> names;
      for (const Slot one : named_ones.slots)
        names.push_back(describe(named_member(*topology_, named_ones.level, one)));
      return join(names, most_named);
    }
    case Kind::culprit:
    case Kind::value:
      if (const auto node = output(place.name)) return value(*node, place, rule_->per, slot);
      return std::nullopt;
  }
  return std::nullopt;
}

Explanation::Filled Explanation::of_culprits(const TextTemplate::Place& place, std::optional<Slot> culprit,
                                             Slot slot) const {
  const Culprits all = culprits(slot);
  const auto one = [&](Slot at) -> Filled {
    if (const auto node = output(place.name)) {
      if ((*graph_)[*node].type.level > all.level) return std::nullopt;
      return value(*node, place, all.level, at);
    }
    return part_of(named_member(*topology_, all.level, at), place.name);
  };
  if (culprit) return one(*culprit);
  std::vector<std::string> names;
  for (const Slot at : all.slots)
    if (const Filled name = one(at); name && std::find(names.begin(), names.end(), *name) == names.end())
      names.push_back(*name);
  return names.empty() ? Filled{} : join(names, most_named);
}

Explanation::Filled Explanation::value(NodeId id, const TextTemplate::Place& place, Level level, Slot slot) const {
  const Node& node = (*graph_)[id];
  if (node.type.shape == Shape::mask) {
    const Truth truth = values_->truth_at(id, level, slot);
    return truth == Truth::unknown ? Filled{} : truth == Truth::yes ? "yes" : "no";
  }
  const double number = values_->number_at(id, level, slot);
  // The age of what never happened, or a time that never comes; a loss that is infinite was measured.
  const bool endless = std::isinf(number) && node.type.unit == "seconds";
  if (is_absent(number) || endless) return std::nullopt;
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (node.type.text()) return text_ ? text_(number) : std::nullopt;
  if (place.conversion == 'g' && place.precision < 0) return quantity_text(number, node.type.unit);
  return format_number(number, place.conversion, place.precision);
}

Explanation::Culprits Explanation::culprits(Slot slot) const {
  Culprits found;
  if (!rule_->who) return found;
  const Node& node = (*graph_)[*rule_->who];
  const Mask mask = values_->mask(*rule_->who);
  if (node.type.level <= rule_->per) return found;
  const Groups& parts = topology_->groups(node.type.level, rule_->per);
  if (slot >= parts.count()) return found;
  found.level = node.type.level;
  for (const Slot part : parts.of(slot))
    if (mask[part] == Truth::yes && !(node.type.level == Level::rank && part == reserved_slot))
      found.slots.push_back(part);
  return found;
}

NamedMember Explanation::named(Level level, Slot slot) const {
  NamedMember member = named_member(*topology_, level, slot);
  const auto pid = output("pid");
  if (!pid || (*graph_)[*pid].type.shape != Shape::column || (*graph_)[*pid].type.level != level) return member;
  const double number = values_->number_at(*pid, level, slot);
  if (is_number(number) && number >= 1 && number < 1e10) member.pid = static_cast<std::uint64_t>(number);
  return member;
}

}  // namespace tocsin::stream
