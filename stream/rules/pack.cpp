#include "stream/rules/pack.h"

#include <array>

#include "stream/rules/alert.h"
#include "stream/windows/text_pattern.h"

namespace tocsin::stream {

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
