#pragma once

#include <string>
#include <vector>

namespace tocsin::adapters::evidence {

// "0-2, 5, 6" of ascending numbers.
template <class Number>
std::string listed(const std::vector<Number>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) out += (last > i + 1 ? "-" : ", ") + std::to_string(numbers[last]);
    i = last;
  }
  return out;
}

}  // namespace tocsin::adapters::evidence
