#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/rules/pack.h"

namespace tocsin::dsl {

// The values outside brackets that can be unknown where the text is given, by name: where the rule's answer is yes, and
// `cause`, if the text is that of one. A value is known if what is yes was compared with it, or if it is made of such
// values alone. What cannot be proven counts as unknown.
[[nodiscard]] std::vector<std::string> unknown_places(const stream::TextTemplate& text, const stream::Rule& rule,
                                                      const stream::Graph& graph,
                                                      std::optional<stream::NodeId> cause = std::nullopt);

}  // namespace tocsin::dsl
