#pragma once

#include <algorithm>
#include <string>
#include <string_view>

// Under which names a node is known: n1 and n1.example.org are one, two full names are two, and an address is no such
// name.
namespace tocsin::adapters::ingest {

[[nodiscard]] inline bool is_address(std::string_view name) {
  return name.find(':') != name.npos ||
         std::all_of(name.begin(), name.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

// What stands in a map, ordered by name, under each name that the node may have there; its own first.
template <class Map, class Visit>
void each_name(const Map& map, std::string_view node, Visit visit) {
  if (const auto found = map.find(node); found != map.end()) visit(found->second);
  if (is_address(node)) return;
  if (const std::size_t dot = node.find('.'); dot != node.npos) {
    if (const auto found = map.find(node.substr(0, dot)); found != map.end()) visit(found->second);
    return;
  }
  const std::string before = std::string{node} + '.';
  for (auto at = map.lower_bound(before); at != map.end() && at->first.starts_with(before); ++at) visit(at->second);
}

}  // namespace tocsin::adapters::ingest
