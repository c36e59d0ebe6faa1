#pragma once

#include <cstddef>

namespace tocsin::stream {

// How many ticks may run before the caller wants to be back.
struct TickBudget {
  std::size_t left;
  bool take() noexcept { return left != 0 && left-- != 0; }
};

}  // namespace tocsin::stream
