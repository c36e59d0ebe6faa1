#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/windows/incremental_aggregates.h"

namespace tocsin::stream {

// Whether a window of the signal is made of rows.
[[nodiscard]] inline bool of_rows(const WindowSpec& window, const SignalDefinition& signal) noexcept {
  return signal.kind != SignalKind::liveness && signal.kind != SignalKind::event &&
         (window.span == WindowSpec::Span::time || (window.accumulated() && !signal.points));
}

// A window of the pack, with what it maintains incrementally.
struct Asked {
  WindowSpec window;
  Demand demand;
  bool declared = false;  // whether a reduction of it is
};

// Which signals a history retains, and how: of the windows of a pack. All attempts that a pack judges share it.
struct Retention {
  Retention(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows,
            std::span<const NodeId> open);
  [[nodiscard]] bool wants(std::uint32_t id) const noexcept { return id < wanted.size() && wanted[id]; }
  // Of the same windows, the rows alone.
  [[nodiscard]] Retention rows() const;

  const SignalTable* table;
  std::vector<std::vector<Asked>> asked;   // by id
  std::vector<bool> wanted;                // by id
  std::vector<std::uint32_t> liveness;     // ids of this kind
  std::vector<std::uint32_t> of_steps;     // ids of the job's that count points: of a step's values the first counts
  std::optional<std::uint32_t> step, gap;  // ids: step_gap is made from step
  bool rows_only = false;
};

}  // namespace tocsin::stream
