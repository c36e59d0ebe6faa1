#include "stream/job/pack_runtime.h"

namespace tocsin::stream {
namespace {

RetainedNodes find_retained(const Pack& pack, std::string_view subject) {
  RetainedNodes found;
  const Graph& graph = *pack.graph;
  const auto judged = judged_nodes(pack, subject);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = graph[id];
    if (!judged.empty() && !judged[i]) continue;
    if (node.op == Op::window) found.windows.push_back(id);
    if (!node.arguments.empty() && node.type.shape == Shape::column && graph[node.arguments[0]].op == Op::window)
      found.reductions.push_back(id);
  }
  for (const Rule& rule : pack.rules)
    for (const auto& [name, node] : rule.needs)
      if (rule.scripted && rule.judges(subject) && graph[node].op == Op::window) found.open.push_back(node);
  return found;
}

}  // namespace

const RetainedNodes& PackRuntime::retained(std::string_view subject) {
  auto& known = subject == cluster_subject ? of_cluster_ : of_job_;
  if (!known) known = find_retained(*pack_, subject);
  return *known;
}

}  // namespace tocsin::stream
