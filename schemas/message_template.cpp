#include "schemas/message_template.h"

#include <algorithm>
#include <cstring>

namespace tocsin::schemas {

namespace {

using Word = std::uint64_t __attribute__((vector_size(16)));
static_assert(sizeof(Word) == MessageTemplates::word_size);

Word word(const void* bytes) noexcept {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

bool matches(const MessageTemplates::MessageTemplate& known, std::span<const std::byte> message) noexcept {
  if (known.size != message.size()) return false;
  Word differs{};
  for (const auto& [at, bytes, mask] : known.checked)
    differs |= (word(message.data() + at) ^ word(bytes.data())) & word(mask.data());
  return (differs[0] | differs[1]) == 0;
}

// The bytes of a message that are contents.
class Mask {
 public:
  explicit Mask(std::span<const std::uint8_t> message) : message_(message), mask_(message.size(), 0xFF) {}
  void contents(const void* begin, std::size_t size) {
    const auto place = of(begin, size);
    apart_ = apart_ && untouched(place);
    std::fill(place.begin(), place.end(), std::uint8_t{0});
  }
  void structure(const void* begin, std::size_t size) { apart_ = apart_ && untouched(of(begin, size)); }
  [[nodiscard]] bool apart() const noexcept { return apart_; }  // contents overlap nothing else
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return mask_; }

 private:
  [[nodiscard]] std::span<std::uint8_t> of(const void* begin, std::size_t size) {
    if (size == 0) return {};
    const auto at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(begin) - message_.data());
    if (at > mask_.size() || size > mask_.size() - at) {
      apart_ = false;
      return {};
    }
    return std::span{mask_}.subspan(at, size);
  }
  [[nodiscard]] static bool untouched(std::span<const std::uint8_t> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte != 0; });
  }
  std::span<const std::uint8_t> message_;
  std::vector<std::uint8_t> mask_;
  bool apart_ = true;
};

}  // namespace

void MessageTemplates::remember(std::span<const std::uint8_t> message, const stream::Entry& head,
                                const Numbers& numbers, std::span<const SampleParts> samples,
                                std::span<const Bytes> structure) {
  if (message.size() > longest || message.size() < word_size) return;
  const std::size_t set = set_of(message.size());
  MessageTemplate& message_template = templates_[set + oldest_[set / ways]];
  oldest_[set / ways] = static_cast<std::uint8_t>((oldest_[set / ways] + 1) % ways);
  message_template.head = head;
  message_template.numbers = numbers;
  message_template.samples.assign(samples.begin(), samples.end());

  constexpr std::size_t length = sizeof(flatbuffers::uoffset_t);
  Mask mask{message};
  std::vector<std::span<const std::uint8_t>> lengths;
  const auto contents = [&](const void* begin, std::size_t size, std::size_t end = 0) {
    if (begin == nullptr) return;  // the message has none
    const auto* at = static_cast<const std::uint8_t*>(begin);
    mask.contents(at, size);
    lengths.emplace_back(at - length, length);
    lengths.emplace_back(at + size, end);
  };
  for (const std::string_view text : {head.producer, head.origin_source, head.subject, head.attempt, head.node})
    contents(text.data(), text.size(), 1);
  for (const SampleParts& parts : samples) {
    contents(parts.layout.data(), parts.layout.size());
    contents(parts.members.data(), parts.members.size());
    contents(parts.present.data(), parts.present.size());
    contents(parts.times.data(), parts.times.size_bytes());
    contents(parts.narrow.data(), parts.narrow.size_bytes());
    contents(parts.wide.data(), parts.wide.size_bytes());
    contents(parts.source.data(), parts.source.size(), 1);
  }
  const auto number = [&](std::size_t at, std::size_t size) {
    if (at != 0) mask.contents(message.data() + at, size);
  };
  number(numbers.epoch, sizeof head.epoch);
  number(numbers.sequence, sizeof head.sequence);
  number(numbers.origin_offset, sizeof head.origin_offset);
  number(numbers.origin_arrival, sizeof(std::int64_t));
  mask.structure(message.data(), 2 * length);  // the position and the table of the envelope
  for (const auto& bytes : lengths) mask.structure(bytes.data(), bytes.size());
  for (const Bytes bytes : structure) mask.structure(bytes.data(), bytes.size());
  message_template.size = mask.apart() ? message.size() : 0;
  message_template.checked.clear();
  const std::span<const std::uint8_t> structure_bytes = mask.bytes();
  for (std::size_t at = 0; at < message.size(); at += word_size) {
    const std::size_t from = std::min(at, message.size() - word_size);  // the last one begins within the one before
    const auto checked = structure_bytes.subspan(from, word_size);
    if (std::ranges::all_of(checked, [](std::uint8_t byte) { return byte == 0; })) continue;
    auto& one = message_template.checked.emplace_back();
    one.at = from;
    std::ranges::copy(message.subspan(from, word_size), one.bytes.begin());
    std::ranges::copy(checked, one.mask.begin());
  }
}

const MessageTemplates::MessageTemplate* MessageTemplates::find(std::span<const std::byte> message) noexcept {
  if (message.size() > longest) return nullptr;
  const auto take = [&](std::size_t index) {
    last_ = after_[last_] = static_cast<std::uint8_t>(index);
    return &templates_[index];
  };
  if (matches(templates_[after_[last_]], message)) return take(after_[last_]);
  const std::size_t first = set_of(message.size());
  for (std::size_t index = first; index < first + ways; ++index)
    if (matches(templates_[index], message)) return take(index);
  return nullptr;
}

void MessageTemplates::forget() {
  for (MessageTemplate& message_template : templates_) message_template.size = 0;
}

}  // namespace tocsin::schemas
