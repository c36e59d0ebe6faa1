#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "stream/values/time.h"

// A frame as it lies on disk, little-endian: magic (4 bytes), payload length (4), checksum (8), arrival (8), payload.
// The checksum is xxh3-64 of arrival and payload, seeded with the frame's position: a frame is whole only where it was
// written, so neither an old block of the disk nor a frame inside a payload passes for one. docs/journal.md.
namespace tocsin::adapters::journal {

inline constexpr std::uint32_t frame_magic = 0x314A5354;         // "TSJ1"
inline constexpr std::uint32_t frame_magic_family = 0x004A5354;  // "TSJ" and a digit: the form's number
inline constexpr std::size_t header_bytes = 24;
inline constexpr std::size_t most_payload_bytes = 64u << 20;

struct FrameHeader {
  std::uint32_t magic = frame_magic;
  std::uint32_t length = 0;
  std::uint64_t checksum = 0;
  std::int64_t arrival = 0;
};
static_assert(sizeof(FrameHeader) == header_bytes);

[[nodiscard]] inline FrameHeader read_header(std::span<const std::byte> bytes) noexcept {
  FrameHeader header;
  std::memcpy(&header, bytes.data(), header_bytes);
  return header;
}

[[nodiscard]] inline bool plausible(const FrameHeader& header) noexcept {
  return header.magic == frame_magic && header.length <= most_payload_bytes;
}

// Of a whole frame in one piece.
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> frame, std::uint64_t position) noexcept {
  constexpr std::size_t from = offsetof(FrameHeader, arrival);
  return XXH3_64bits_withSeed(frame.data() + from, frame.size() - from, position);
}

enum class Found { whole, incomplete, corrupt };

// What stands at the front of `bytes`, which lie at `position`: a whole frame, the beginning of one, or neither.
[[nodiscard]] inline Found look(std::span<const std::byte> bytes, std::uint64_t position,
                                FrameHeader& header) noexcept {
  if (bytes.size() < header_bytes) return Found::incomplete;
  header = read_header(bytes);
  if (!plausible(header)) return Found::corrupt;
  const std::size_t size = header_bytes + header.length;
  if (bytes.size() < size) return Found::incomplete;
  return checksum(bytes.first(size), position) == header.checksum ? Found::whole : Found::corrupt;
}

// How many bytes may be looked at in vain: payloads may be full of what looks like a frame's beginning, and lengths may
// be damaged.
inline constexpr std::uint64_t most_vain_bytes = std::uint64_t{4} << 30;

// Where a frame may begin, from `at` on; nullopt: nowhere.
[[nodiscard]] inline std::optional<std::size_t> next_magic(std::span<const std::byte> bytes,
                                                           std::size_t at = 0) noexcept {
  for (; at + header_bytes <= bytes.size(); ++at) {
    std::uint32_t magic;
    std::memcpy(&magic, bytes.data() + at, sizeof magic);
    if (magic == frame_magic) return at;
  }
  return std::nullopt;
}

// Where the next whole frame begins, from `at` on; nullopt: there is none, or too many bytes were looked at in vain.
[[nodiscard]] inline std::optional<std::size_t> next_whole(std::span<const std::byte> bytes, std::uint64_t position,
                                                           std::size_t at) noexcept {
  std::uint64_t budget = most_vain_bytes;
  for (auto found = next_magic(bytes, at); found; found = next_magic(bytes, *found + 1)) {
    FrameHeader header;
    if (look(bytes.subspan(*found), position + *found, header) == Found::whole) return found;
    if (header.length > budget) return std::nullopt;
    budget -= header.length;
  }
  return std::nullopt;
}

// Whether the segment at `position` was written by another version of this program: its magic has another digit, and
// that digit is not all that is damaged of a frame of ours. `bytes` are at least those of the first frame, as far as
// they are there. A whole frame of ours anywhere in the segment says otherwise, too; that is for the caller to look
// for.
[[nodiscard]] inline bool of_another_version(std::span<const std::byte> bytes, std::uint64_t position) noexcept {
  if (bytes.size() < header_bytes) return false;
  const FrameHeader header = read_header(bytes);
  const std::uint32_t digit = header.magic >> 24;
  if ((header.magic & 0xFFFFFF) != frame_magic_family || header.magic == frame_magic || digit < '0' || digit > '9')
    return false;
  const std::uint64_t size = header_bytes + std::uint64_t{header.length};
  return bytes.size() < size || checksum(bytes.first(size), position) != header.checksum;
}

}  // namespace tocsin::adapters::journal
