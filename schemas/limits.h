#pragma once

#include <cstddef>
#include <cstdint>

// Limits of a message. Anything above is refused before memory is allocated for it.
namespace tocsin::schemas {

inline constexpr std::uint16_t envelope_format = 1;  // the format of the writer; a reader refuses a newer one
inline constexpr std::size_t most_message_bytes = 64u << 20;
inline constexpr std::size_t most_blocks = 65'536;    // of one kind in an envelope
inline constexpr std::size_t most_signals = 4'096;    // of a layout
inline constexpr std::size_t most_members = 262'144;  // of a block; of a message, if they have no values
inline constexpr std::size_t most_times = 1u << 20;   // of a block
inline constexpr std::size_t most_fields = 1'024;     // of an event

// Times outside 1970 to 2116 are moved to its edges, so that no sum of a time and a duration overflows. Nothing is
// lost: a time after its arrival counts as its arrival, and one that early is too late for every row.
inline constexpr std::int64_t earliest_time = 0;
inline constexpr std::int64_t latest_time = std::int64_t{1} << 62;

}  // namespace tocsin::schemas
