#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace tocsin::stream {

// The position of a record among others of its time and member. The producer defines it, not the log, because the order
// of reading within the lateness must not matter.
struct RecordOrder {
  std::uint64_t producer = 0;  // a hash of its name and epoch; 0: none
  std::uint64_t sequence = 0;  // the producer's number of the message; without one, the subject's count of messages
  std::uint32_t number = 0;    // of the value within the message

  // The order of the value that is `further` values behind this one.
  [[nodiscard]] constexpr RecordOrder after(std::size_t further) const noexcept {
    return {producer, sequence, number + static_cast<std::uint32_t>(further)};
  }
  friend auto operator<=>(const RecordOrder&, const RecordOrder&) = default;
};

}  // namespace tocsin::stream
