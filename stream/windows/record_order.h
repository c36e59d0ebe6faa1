#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace tocsin::stream {

// Where a record stands among others of its time and member. The producer says so, not the log: in which order records were read
// within their lateness must not matter.
struct RecordOrder {
  std::uint64_t producer = 0;  // a hash of its name, and its epoch; 0: none
  std::uint64_t sequence = 0;  // the producer's number of the message; without one, the subject's count of messages
  std::uint32_t number = 0;    // of the value within the message

  // Of the value that is `further` values behind this one.
  [[nodiscard]] constexpr RecordOrder after(std::size_t further) const noexcept {
    return {producer, sequence, number + static_cast<std::uint32_t>(further)};
  }
  friend auto operator<=>(const RecordOrder&, const RecordOrder&) = default;
};

}  // namespace tocsin::stream
