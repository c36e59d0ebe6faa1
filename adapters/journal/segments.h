#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "adapters/journal/directory.h"

// The files of a journal: each segment is named by the position of its first byte.
namespace tocsin::adapters::journal {

struct Segment {
  std::uint64_t position = 0;
  std::filesystem::path path;
};

[[nodiscard]] std::string segment_name(std::uint64_t position);
// Ascending by position. A directory that is not there has none.
stream::Result<std::vector<Segment>> segments(const std::filesystem::path& directory);
stream::Result<std::vector<Segment>> segments(const OpenDirectory& directory);

}  // namespace tocsin::adapters::journal
