#include "stream/rules/pack.h"

#include <array>

#include "stream/rules/alert.h"
#include "stream/values/digest.h"
#include "stream/windows/text_pattern.h"

namespace tocsin::stream {

void Rule::fields(auto& self, auto& archive) {
  auto& [name, family, summary, file, line, source_hash, severity, severities, runbook, owner, mode, scope, per, every,
         fire, clear, yields_to, findings, jobs, peers, params, state, signals, needs, settle, depth, yield_depth,
         scripted, answer, hot, hot_set, cold, outputs, locals, who, causes, actions, shows, yielding, name_hash,
         often] = self;
  archive(1, name), archive(2, family), archive(3, summary), archive(4, file), archive(5, line),
      archive(6, source_hash), archive(7, severity), archive(8, severities), archive(9, runbook), archive(10, owner),
      archive(11, mode), archive(12, scope), archive(13, per), archive(14, every), archive(15, fire),
      archive(16, clear), archive(17, yields_to), archive(18, findings), archive(19, jobs), archive(20, peers),
      archive(21, params), archive(22, state), archive(23, signals), archive(24, needs), archive(25, settle),
      archive(26, depth), archive(27, yield_depth), archive(28, scripted), archive(29, answer), archive(30, hot),
      archive(31, cold), archive(32, outputs), archive(33, locals), archive(34, who), archive(35, causes),
      archive(36, actions), archive(37, shows);
  (void)hot_set, (void)yielding, (void)name_hash, (void)often;
}

void Pack::save(Writer& out) const {
  out(1, signals), out(2, *graph), out(3, rules), out(4, verdict), out(5, hash), out(6, alert_limit);
}

void Pack::load(Reader& in) {
  in(1, signals);
  auto loaded = std::make_unique<Graph>(signals);
  in(2, *loaded), in(3, rules), in(4, verdict), in(5, hash), in(6, alert_limit);
  derive();
  order(*loaded);
  graph = std::move(loaded);
}

void Pack::derive() {
  for (Rule& rule : rules) {
    rule.hot_set = FewNodes{rule.hot}, rule.name_hash = hash_text(rule.name);
    rule.yielding.clear();
    const auto often = [this](const Trigger& trigger) {
      const auto signal = static_cast<std::size_t>(trigger.signal);
      const bool of_events = signal < signals.size() && signals[trigger.signal].kind == SignalKind::event;
      return trigger.kind == Trigger::Kind::period || (trigger.kind == Trigger::Kind::record && !of_events);
    };
    rule.often = rule.scope != Scope::cluster && std::ranges::any_of(rule.every, often);
  }
  for (std::size_t i = 0; i < rules.size(); ++i)
    for (const RuleIndex parent : rules[i].yields_to)
      rules[static_cast<std::size_t>(parent)].yielding.push_back(static_cast<RuleIndex>(i));
}

void Pack::order(Graph& of) const {
  std::vector<NodeId> often;
  for (const Rule& rule : rules)
    if (rule.often) often.insert(often.end(), rule.hot.begin(), rule.hot.end());
  of.number_first(often);
}

bool allows(const std::vector<std::string>& patterns, const std::string* value) {
  bool wanted = false, found = false;
  for (const std::string_view pattern : patterns) {
    const bool negated = pattern.starts_with('!');
    const bool fit = value && TextPattern{pattern.substr(negated ? 1 : 0)}.matches(*value);
    if (negated && fit) return false;
    if (!negated) wanted = true, found = found || fit;
  }
  return found || !wanted;
}

std::string VerdictPolicy::words(const std::string& family) const {
  const auto found = families.find(family);
  return found == families.end() ? std::string{} : found->second;
}

std::vector<bool> judged_nodes(const Pack& pack, std::string_view subject) {
  const bool cluster = subject == cluster_subject;
  bool any_of_cluster = false;
  std::vector<NodeId> of_cluster, judged;
  std::vector<bool> signals(pack.signals.size(), false);  // of the rules that judge the subject
  for (const Rule& rule : pack.rules) {
    any_of_cluster = any_of_cluster || rule.scope == Scope::cluster;
    std::vector<NodeId> roots(rule.hot);
    roots.insert(roots.end(), rule.cold.begin(), rule.cold.end());
    for (const auto& [name, node] : rule.needs) roots.push_back(node);
    if (rule.scope == Scope::cluster) of_cluster.insert(of_cluster.end(), roots.begin(), roots.end());
    if (!rule.judges(subject)) continue;
    judged.insert(judged.end(), roots.begin(), roots.end());
    for (const SignalId signal : rule.signals) signals[static_cast<std::size_t>(signal)] = true;
  }
  if (!cluster && !any_of_cluster) return {};
  // What nobody reaches belongs to scripted rules, which go by their signals.
  const Graph& graph = *pack.graph;
  std::vector<bool> used(graph.size(), true);
  for (const NodeId node : graph.reach(of_cluster)) used[static_cast<std::size_t>(node)] = false;
  for (const NodeId node : graph.reach(judged)) used[static_cast<std::size_t>(node)] = true;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto& window = graph[static_cast<NodeId>(i)].attributes.window;
    if (window && !signals[static_cast<std::size_t>(window->signal)]) used[i] = false;
  }
  return used;
}

std::string_view name(Severity severity) noexcept {
  constexpr std::array<std::string_view, 4> names{"none", "info", "warning", "critical"};
  return names[static_cast<std::size_t>(severity)];
}
std::string_view name(Mode mode) noexcept {
  constexpr std::array<std::string_view, 3> names{"live", "canary", "shadow"};
  return names[static_cast<std::size_t>(mode)];
}
std::string_view name(AlertState state) noexcept { return state == AlertState::firing ? "firing" : "resolved"; }
std::string_view name(ResolveReason reason) noexcept {
  constexpr std::array<std::string_view, 6> names{"",          "cleared",       "no data",
                                                  "explained", "attempt ended", "rule removed"};
  return names[static_cast<std::size_t>(reason)];
}

std::string with_words(const std::string& family, const std::string& words) {
  return words.empty() ? family : family + ", " + words;
}

}  // namespace tocsin::stream
