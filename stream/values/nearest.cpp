#include "stream/values/nearest.h"

#include <algorithm>
#include <vector>

namespace tocsin::stream {
namespace {

// Edits from one word to the other: insert, remove, replace, or swap two neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> words) {
  if (word.size() > 64) return "";
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const std::string& candidate : words) {
    if (candidate.size() > 64) continue;
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t edits = begins ? 1 : distance(word, candidate);
    if (!best || edits < least || (edits == least && candidate < *best)) best = &candidate, least = edits;
  }
  return best && least <= std::max<std::size_t>(2, word.size() / 2) && least < word.size() ? " (" + *best + "?)" : "";
}

}  // namespace tocsin::stream
