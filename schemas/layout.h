#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/values/record.h"

// Layouts and members as byte strings, so that repeated ones are compared, not parsed. docs/schemas.md has the format.
namespace tocsin::schemas {

using Bytes = std::span<const std::uint8_t>;

struct Layout {
  std::vector<stream::SampleBlock::Signal> signals;  // views into the bytes that were parsed
  std::vector<std::uint32_t> textual;                // those whose values are indices of texts
};

[[nodiscard]] std::string layout_bytes(std::span<const stream::SampleBlock::Signal> signals);
[[nodiscard]] bool parse_layout(Bytes bytes, Layout& layout);

[[nodiscard]] std::string member_bytes(std::span<const stream::MemberKey> members);
// Appends to `members`; false if the bytes are malformed or name more than `most`.
[[nodiscard]] bool parse_members(Bytes bytes, std::size_t most, std::vector<stream::MemberKey>& members);

}  // namespace tocsin::schemas
