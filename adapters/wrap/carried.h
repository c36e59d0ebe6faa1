#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stream/values/record.h"

namespace tocsin::adapters::wrap {

// The messages without which the rest of a journal cannot be read: the packs, and what shapes the running attempt (its
// start, its members, their exits). Each later segment begins with them, so that a journal whose oldest segments are
// gone is judged by the same rules and for the same ranks. Owned by the Recording.
class Carried {
 public:
  // Keeps a copy of the message if it is one of these; true: it is.
  bool add(const stream::Entry& entry, std::span<const std::byte> message);
  // Drops packs that another has replaced by `now`; true: there was one.
  bool forget_replaced(stream::Time now);

  [[nodiscard]] bool empty() const noexcept { return packs_.empty() && shape_.empty(); }
  [[nodiscard]] std::vector<std::vector<std::byte>> messages() const;  // in the order of writing

 private:
  using Message = std::vector<std::byte>;
  struct Pack {
    stream::Time from{};
    Message message;
  };
  std::vector<Pack> packs_;  // the pack in force, and those whose time has not come
  std::string attempt_;
  std::vector<Message> shape_;  // of this attempt
};

}  // namespace tocsin::adapters::wrap
