#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stream/values/record.h"
#include "stream/values/result.h"

namespace tocsin::schemas {

// The number of the state's form, sections included. Raise it where an older reader would misread a section; a new field needs no new
// number. Readers read it and the one before, and refuse a newer one.
inline constexpr std::uint32_t snapshot_format = 2;

// The state of a shard at a position of its log: everything but rows. Sections are stream/values/archive.h's, by subject ("": the shard's).
struct Snapshot {
  struct Mark {
    stream::Position position{};
    stream::Time clock{};
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  stream::Position position{};  // the first entry that it does not hold
  std::map<std::string, std::vector<std::byte>> sections;
  stream::Time clock{};
  std::vector<Mark> marks;  // a minute apart: where a take-over can begin to read
  std::string pack_hash;
  std::uint32_t format = snapshot_format;
};

[[nodiscard]] stream::Result<std::vector<std::byte>> encode(const Snapshot& snapshot);

// Whole or not at all: torn where a checksum differs, unknown_version where a newer program wrote it (or one too old).
[[nodiscard]] stream::Result<Snapshot> decode_snapshot(std::span<const std::byte> bytes);

}  // namespace tocsin::schemas
