#include "stream/job/pack_runtime.h"

namespace tocsin::stream {
namespace {

// Windows, their reductions, and windows of scripted rules decide.
Retention find_retained(const Pack& pack, std::string_view subject) {
  std::vector<NodeId> reductions, windows, open;
  const Graph& graph = *pack.graph;
  const auto judged = judged_nodes(pack, subject);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = graph[id];
    if (!judged.empty() && !judged[i]) continue;
    if (node.attributes.window) (node.op == Op::window ? windows : reductions).push_back(id);
  }
  for (const Rule& rule : pack.rules)
    for (const auto& [name, node] : rule.needs)
      if (rule.scripted && rule.judges(subject) && graph[node].op == Op::window) open.push_back(node);
  return {graph, reductions, windows, open};
}

}  // namespace

const std::shared_ptr<const Retention>& PackRuntime::retained(std::string_view subject, bool rows_only) {
  auto& known = subject == cluster_subject ? of_cluster_ : of_job_;
  if (!known.all) known.all = std::make_shared<const Retention>(find_retained(*pack_, subject));
  if (!rows_only) return known.all;
  if (!known.rows) known.rows = std::make_shared<const Retention>(known.all->rows());
  return known.rows;
}

}  // namespace tocsin::stream
