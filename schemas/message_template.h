#pragma once

#include <flatbuffers/flatbuffers.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/layout.h"
#include "stream/values/record.h"

namespace tocsin::schemas {

// Where the parts of a block of samples lie in a message.
struct SampleParts {
  Bytes layout, members, present;
  std::span<const std::int64_t> times;
  std::span<const float> narrow;
  std::span<const double> wide;
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts = nullptr;
  std::string_view source;
};

// Small messages of samples are most often constant: the same tables and lengths at the same places, and other contents. What was
// verified of one holds of the next whose bytes are the same but for numbers and the inside of texts: nothing else was looked at.
// Owned by a Decoder. Everything in an message_template points into the decoder's buffer, where each message is copied to.
class MessageTemplates {
 public:
  static constexpr std::size_t longest = 1024;  // bytes of a message: of longer ones, verifying is a small part

  // The envelope's numbers that differ from message to message: where they lie, 0 where it has none.
  struct Numbers {
    std::size_t epoch = 0, sequence = 0, origin_offset = 0, origin_arrival = 0;
  };
  struct MessageTemplate {
    stream::Entry head;  // its texts and numbers; none of its blocks
    Numbers numbers;
    std::vector<SampleParts> samples;
    std::size_t size = 0;                    // 0: none
    std::vector<std::uint64_t> bytes, mask;  // of the whole words of it; mask: 0 where contents are
    std::uint64_t last = 0, last_mask = 0;   // what is left of it, as a word
  };

  // Of a verified message of these bytes, at its place in the decoder's buffer. `structure`: all that was looked at to find its parts, but
  // for the lengths before contents. Nothing is remembered where contents or numbers lie over one another or over structure.
  void remember(std::span<const std::uint8_t> message, const stream::Entry& head, const Numbers& numbers,
                std::span<const SampleParts> samples, std::span<const Bytes> structure);
  // The message_template of this message; null: it has to be verified.
  [[nodiscard]] const MessageTemplate* find(std::span<const std::byte> message) const noexcept;
  void forget();  // the buffer has moved

 private:
  static constexpr std::size_t sets = 32, ways = 2;
  [[nodiscard]] static std::size_t set_of(std::size_t size) noexcept { return size / 4 % sets * ways; }
  std::array<MessageTemplate, sets * ways> templates_;
  std::array<std::uint8_t, sets> oldest_{};
};

}  // namespace tocsin::schemas
