#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/journal/directory.h"
#include "stream/values/record.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::disk_log {

struct Retention {
  stream::Time oldest{};         // entries appended before may go
  std::uint64_t most_bytes = 0;  // more than these may go
  stream::Position needed{};     // what a restart reads, from here on, stays
};

// Deletes the oldest segments of a journal: whole ones, while all of their entries may go. How many.
[[nodiscard]] stream::Result<std::size_t> delete_segments(const journal::OpenDirectory& journal,
                                                          const Retention& retention, stream::Position end);

}  // namespace tocsin::adapters::disk_log
