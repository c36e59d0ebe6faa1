#include "schemas/layout.h"

#include <bit>
#include <cstring>

#include "schemas/limits.h"

namespace tocsin::schemas {

static_assert(std::endian::native == std::endian::little, "the byte strings are little-endian and read in place");

namespace {

using stream::Level;
using stream::MemberKey;

constexpr std::uint8_t level_bits = 0x07, with_node = 0x08, with_gpu = 0x10, run = 0x20, known_bits = 0x3F;
constexpr std::size_t longest_text = 0xFFFF;  // longer names are cut: no name of a node or a signal is that long

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

void put_text(std::string& out, std::string_view text) {
  text = text.substr(0, longest_text);
  put(out, static_cast<std::uint16_t>(text.size()));
  out += text;
}

// Reads from the front; a read past the end fails for good.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof value) {
      failed_ = true;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::string_view text() {
    const std::size_t size = get<std::uint16_t>();
    if (bytes_.size() < size) {
      failed_ = true;
      bytes_ = {};
      return {};
    }
    const std::string_view text{reinterpret_cast<const char*>(bytes_.data()), size};
    bytes_ = bytes_.subspan(size);
    return text;
  }
  [[nodiscard]] bool done() const { return bytes_.empty(); }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Bytes bytes_;
  bool failed_ = false;
};

bool plain_rank(const MemberKey& key) { return key.level == Level::rank && key.node.empty() && key.gpu.empty(); }

}  // namespace

std::string layout_bytes(std::span<const stream::SampleBlock::Signal> signals) {
  std::string out;
  for (const auto& signal : signals) {
    put(out, static_cast<std::uint8_t>(signal.kind));
    put_text(out, signal.name);
    put_text(out, signal.unit);
  }
  return out;
}

bool parse_layout(Bytes bytes, Layout& layout) {
  Cursor in{bytes};
  while (!in.done()) {
    const auto kind = in.get<std::uint8_t>();
    const auto name = in.text(), unit = in.text();
    if (in.failed() || kind > static_cast<std::uint8_t>(stream::SignalKind::liveness) || name.empty()) return false;
    if (layout.signals.size() == most_signals) return false;
    if (unit == "text") layout.textual.push_back(static_cast<std::uint32_t>(layout.signals.size()));
    layout.signals.push_back({name, unit, static_cast<stream::SignalKind>(kind)});
  }
  return !in.failed() && !layout.signals.empty();
}

std::string member_bytes(std::span<const MemberKey> members) {
  std::string out;
  for (std::size_t i = 0; i < members.size();) {
    const MemberKey& key = members[i];
    std::size_t end = i + 1;
    if (plain_rank(key))
      while (end < members.size() && plain_rank(members[end]) && members[end].rank == key.rank + (end - i)) ++end;
    const bool in_run = end - i > 1;
    put(out, static_cast<std::uint8_t>(static_cast<std::uint8_t>(key.level) | (key.node.empty() ? 0 : with_node) |
                                       (key.gpu.empty() ? 0 : with_gpu) | (in_run ? run : 0)));
    if (key.level == Level::rank) put(out, key.rank);
    if (in_run) put(out, static_cast<std::uint32_t>(end - i));
    if (!key.node.empty()) put_text(out, key.node);
    if (!key.gpu.empty()) put_text(out, key.gpu);
    i = end;
  }
  return out;
}

bool parse_members(Bytes bytes, std::size_t most, std::vector<MemberKey>& members) {
  Cursor in{bytes};
  std::size_t count = 0;
  while (!in.done()) {
    const auto head = in.get<std::uint8_t>();
    MemberKey key;
    key.level = static_cast<Level>(head & level_bits);
    if (key.level != Level::job && key.level != Level::node && key.level != Level::gpu && key.level != Level::rank)
      return false;
    if ((head & ~known_bits) != 0) return false;
    if (key.level == Level::rank) key.rank = in.get<std::uint32_t>();
    std::size_t length = 1;
    if (head & run) {
      length = in.get<std::uint32_t>();
      if (key.level != Level::rank || (head & (with_node | with_gpu)) || length == 0) return false;
      if (length > 0xFFFFFFFFu - key.rank) return false;
    }
    if (head & with_node) key.node = in.text();
    if (head & with_gpu) key.gpu = in.text();
    if (in.failed() || length > most - count) return false;
    if ((key.level == Level::node || key.level == Level::gpu) && key.node.empty()) return false;
    if (key.level == Level::gpu && key.gpu.empty()) return false;
    count += length;
    for (; length != 0; --length, ++key.rank) members.push_back(key);
  }
  return !in.failed();
}

}  // namespace tocsin::schemas
