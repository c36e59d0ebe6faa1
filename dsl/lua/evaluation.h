#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/lua/rule_source.h"
#include "stream/graph/graph.h"
#include "stream/rules/scripts.h"

namespace tocsin::dsl {

// One call of a rule's evaluate: with symbolic values while it is traced, with concrete ones while it runs as a script.
// Lua's values point into its graph; every use of them is recorded here. Lives on the stack of the caller of evaluate.
struct Evaluation {
  stream::Graph& graph;
  const RuleSource& rule;
  stream::RuleIndex index{};
  stream::Level per = stream::Level::job;
  std::map<std::string, stream::NodeId> needs;
  std::optional<stream::PeersId> peers;

  stream::Scratch* scratch = nullptr;  // of a script
  std::uint64_t elements_left = 0;
  std::size_t lasting_nodes = 0;  // of the graph: a script's nodes above are truncated after it
  std::size_t most_nodes = 0;     // the size that the graph may reach

  struct Made {  // a mask that some expression made, and whether another used it
    std::string file;
    int line = 0;
    bool used = false;
  };
  std::vector<Made> made;
  struct Compared {  // a comparison with a bare number, at this line
    stream::NodeId column{};
    double limit = 0;
    std::string name;  // of the parameter that has this value; empty: none
  };
  std::vector<Compared> compared;
  std::set<std::string> needs_read, params_read;
  std::map<std::string, stream::NodeId> written;   // state
  std::map<std::string, stream::NodeId> locals{};  // of a traced evaluate, as it returned
};

}  // namespace tocsin::dsl
