#include "adapters/journal/segments.h"

#include <algorithm>
#include <charconv>

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Result;

namespace fs = std::filesystem;
constexpr std::string_view suffix = ".journal";
constexpr std::size_t digits = 20;

std::string segment_name(std::uint64_t position) {
  const std::string number = std::to_string(position);
  return std::string(digits - number.size(), '0') + number + std::string{suffix};
}

Result<std::vector<Segment>> segments(const fs::path& directory) {
  const auto opened = OpenDirectory::open(directory);
  if (opened) return segments(*opened);
  if (opened.error().code == Errc::not_found) return std::vector<Segment>{};
  return opened.error();
}

Result<std::vector<Segment>> segments(const OpenDirectory& directory) {
  const auto names = directory.names();
  if (!names) return names.error();
  std::vector<Segment> found;
  for (const std::string& name : *names) {
    if (name.size() != digits + suffix.size() || !name.ends_with(suffix)) continue;
    std::uint64_t position = 0;
    const auto [at, failed] = std::from_chars(name.data(), name.data() + digits, position);
    if (failed != std::errc{} || at != name.data() + digits) continue;
    found.push_back({position, directory.path() / name});
  }
  std::sort(found.begin(), found.end(), [](const Segment& a, const Segment& b) { return a.position < b.position; });
  return found;
}

}  // namespace tocsin::adapters::journal
