#pragma once

#include <flatbuffers/flatbuffers.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/layout.h"
#include "stream/values/record.h"

namespace tocsin::schemas {

// The positions of the parts of a block of samples in a message.
struct SampleParts {
  Bytes layout, members, present;
  std::span<const std::int64_t> times;
  std::span<const float> narrow;
  std::span<const double> wide;
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts = nullptr;
  std::string_view source;
};

// Small messages of samples usually differ only in their contents: the same tables and lengths at the same places. A
// verification also holds for the next message whose bytes are the same except for numbers and the inside of texts,
// because it reads nothing else. Owned by a Decoder. A template points into the decoder's buffer, where each message is
// copied to.
class MessageTemplates {
 public:
  static constexpr std::size_t longest =
      1024;  // bytes of a message; verifying is a small part of the cost of longer ones

  static constexpr std::size_t word_size = 16;  // so many bytes are compared at once

  // The numbers of the envelope that differ between messages: their positions, 0 if it has none.
  struct Numbers {
    std::size_t epoch = 0, sequence = 0, origin_offset = 0, origin_arrival = 0;
  };
  struct MessageTemplate {
    stream::Entry head;  // its texts and numbers; none of its blocks
    Numbers numbers;
    std::vector<SampleParts> samples;
    std::size_t size = 0;  // 0: none
    struct Checked {
      std::size_t at;
      std::array<std::uint8_t, word_size> bytes, mask;  // mask: 0 for contents
    };
    std::vector<Checked> checked;  // the words that are not all contents
  };

  // Learns from a verified message of these bytes, at its place in the decoder's buffer. `structure`: all bytes that
  // are read to find its parts, except the lengths before contents. Learns nothing if contents or numbers overlap one
  // another or structure.
  void remember(std::span<const std::uint8_t> message, const stream::Entry& head, const Numbers& numbers,
                std::span<const SampleParts> samples, std::span<const Bytes> structure);
  // The template of this message; null: it has to be verified.
  [[nodiscard]] const MessageTemplate* find(std::span<const std::byte> message) noexcept;
  void forget();  // the buffer has moved

 private:
  // Messages of ten signals that are sent one by one have ten forms, most of them of one size.
  static constexpr std::size_t sets = 8, ways = 8;
  [[nodiscard]] static std::size_t set_of(std::size_t size) noexcept { return size / 8 % sets * ways; }
  std::array<MessageTemplate, sets * ways> templates_;
  std::array<std::uint8_t, sets> oldest_{};
  // Producers repeat their messages in one order: the template that came after each, and the one that came last.
  std::array<std::uint8_t, sets * ways> after_{};
  std::uint8_t last_ = 0;
};

}  // namespace tocsin::schemas
