#include "stream/windows/retention.h"

#include <algorithm>

#include "stream/graph/time_range.h"

namespace tocsin::stream {

Retention::Retention(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows,
                     std::span<const NodeId> open)
    : table(&graph.signals()), asked(table->size()), wanted(table->size()) {
  const auto ask = [&](const WindowSpec& window) -> Asked* {
    if (static_cast<std::size_t>(window.signal) >= asked.size()) return nullptr;
    auto& list = asked[static_cast<std::size_t>(window.signal)];
    const auto known =
        std::find_if(list.begin(), list.end(), [&](const Asked& a) { return same_values(a.window, window); });
    return known != list.end() ? &*known : &list.emplace_back(Asked{window, {}, false});
  };
  for (const NodeId id : windows)
    if (const auto& window = graph[id].attributes.window) ask(*window);
  for (const NodeId id : reductions) {
    const Node& node = graph[id];
    if (Asked* need = ask(*node.attributes.window)) {
      need->demand.add(column_of(node.op), node.attributes.number);
      need->declared = true;
    }
  }
  // Where values are not kept, everything that can be asked is accumulated; points are kept with their times.
  for (const NodeId id : open)
    if (const auto& window = graph[id].attributes.window)
      if (Asked* need = ask(*window)) {
        need->demand.times = true;
        if (window->accumulated() || window->baseline()) need->demand.add_all();
      }
  for (std::size_t id = 0; id < asked.size(); ++id) {
    for (Asked& need : asked[id])
      if (!need.declared) need.demand.add_all();
    wanted[id] = !asked[id].empty();
  }
  const auto steps = table->find("step"), gaps = table->find("step_gap");
  if (steps && gaps && wanted[static_cast<std::size_t>(*gaps)]) {
    step = static_cast<std::uint32_t>(*steps);
    gap = static_cast<std::uint32_t>(*gaps);
    wanted[*step] = true;
  }
  for (std::uint32_t id = 0; id < wanted.size(); ++id)
    if (wanted[id] && table->all()[id].kind == SignalKind::liveness) liveness.push_back(id);
  for (std::uint32_t id = 0; id < wanted.size(); ++id)
    if (wanted[id] && table->all()[id].owner == Level::job && table->all()[id].points) of_steps.push_back(id);
}

Retention Retention::rows() const {
  Retention rows = *this;
  rows.rows_only = true;
  rows.liveness.clear();
  for (std::uint32_t id = 0; id < wanted.size(); ++id)
    rows.wanted[id] =
        std::ranges::any_of(asked[id], [&](const Asked& one) { return of_rows(one.window, table->all()[id]); });
  if (gap && rows.wanted[*gap]) rows.wanted[*step] = true;
  else rows.step = rows.gap = std::nullopt;
  return rows;
}

}  // namespace tocsin::stream
