#pragma once

#include <algorithm>
#include <span>

namespace tocsin::stream {

// A column in which all members but the first have one value: only the first two are written. False: it has no more than these, and is
// written out.
inline bool is_constant(std::span<double> out, double first, double others) {
  if (out.empty()) return false;
  std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(out.size(), 2)), others);
  out[0] = first;
  return out.size() > 2;
}

}  // namespace tocsin::stream
