#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::schemas {

// The number of the state's form, sections included. Raise it where an older reader would misread a section; a new
// field needs no new number. Readers read it and the one before, and refuse a newer one.
inline constexpr std::uint32_t snapshot_format = 4;
inline constexpr std::uint32_t oldest_snapshot_format = 3;  // no release wrote one before
[[nodiscard]] stream::Result<void> check_snapshot_format(std::uint32_t format);

inline constexpr std::size_t most_part_bytes = 1u << 20;  // of a message

// Of a section's name and bytes.
[[nodiscard]] std::uint64_t section_checksum(std::string_view section, std::span<const std::byte> bytes) noexcept;

// A section as messages of at most most_part_bytes, in order; ends at the first that `write` does not take.
stream::Result<void> write_section(
    std::string_view section, std::span<const std::byte> bytes,
    const std::function<stream::Result<void>(std::span<const std::byte> message)>& write);

// Puts a section together again from its messages, in any order.
// Owned by whoever reads a snapshot.
class SectionAssembler {
 public:
  // An error where the message is torn, of a newer program, or of another section or another version of it than the
  // first.
  stream::Result<void> add(std::span<const std::byte> message);
  [[nodiscard]] const std::string& section() const noexcept { return section_; }
  [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }
  // Whole or not at all.
  stream::Result<std::vector<std::byte>> take() &&;

 private:
  std::string section_;
  std::uint32_t count_ = 0;
  std::uint64_t checksum_ = 0;
  std::map<std::uint32_t, std::vector<std::byte>> parts_;
};

}  // namespace tocsin::schemas
