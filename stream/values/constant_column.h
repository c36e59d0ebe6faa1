#pragma once

#include <algorithm>
#include <span>

namespace tocsin::stream {

// Writes a column in which all members but the first share one value: only the first two values are stored. False: the
// column has at most two values and is stored in full.
inline bool is_constant(std::span<double> out, double first, double others) {
  if (out.empty()) return false;
  std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(out.size(), 2)), others);
  out[0] = first;
  return out.size() > 2;
}

}  // namespace tocsin::stream
