#pragma once

#include <cstddef>

namespace tocsin::tests {

// The heap of this program so far: how often something was allocated, and how many bytes are in use, as the allocator
// rounds them.
struct Heap {
  std::size_t allocations = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] Heap heap() noexcept;

}  // namespace tocsin::tests
