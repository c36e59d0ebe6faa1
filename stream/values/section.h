#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "stream/values/archive.h"

namespace tocsin::stream {

// The content of a snapshot's section. The shard that makes it may leave most of the writing to whoever asks for the
// bytes first: its sink, in a thread of its own. Owned by one thread at a time.
class Section {
 public:
  Section() = default;
  Section(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  explicit Section(Writer content) : content_(std::move(content)) {}

  // Nothing has to be restored: the shard has forgotten the subject.
  [[nodiscard]] bool empty() const noexcept { return !content_ && bytes_.empty(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const {
    if (content_) bytes_ = std::move(*content_).take(), content_.reset();
    return bytes_;
  }
  friend bool operator==(const Section& a, const Section& b) { return a.bytes() == b.bytes(); }

 private:
  mutable std::optional<Writer> content_;  // until it is written
  mutable std::vector<std::byte> bytes_;
};

}  // namespace tocsin::stream
