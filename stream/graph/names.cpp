// The names of groups and shapes, as people write and read them.
#include <array>

#include "stream/graph/graph.h"
#include "stream/values/named.h"

namespace tocsin::stream {
namespace {

constexpr std::array<std::string_view, 5> groups{"peers", "gpu", "node", "rack", "job"};

}  // namespace

std::string_view name(Group group) noexcept { return groups[static_cast<std::size_t>(group)]; }
std::optional<Group> group_named(std::string_view text) noexcept { return find_named<Group>(groups, text); }

std::string_view name(Shape shape) noexcept {
  constexpr std::array<std::string_view, 4> names{"window", "finding", "column", "mask"};
  return names[static_cast<std::size_t>(shape)];
}

}  // namespace tocsin::stream
