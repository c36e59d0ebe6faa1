#include "adapters/evidence/pickle.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tocsin::adapters::evidence {

using formats::Json;
using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

// Of the value, with everything in it that stands there several times: beyond this, each takes a byte at least.
constexpr std::size_t free_nodes = 1u << 20;
constexpr int deepest = 100;

struct Node {
  enum class Kind : std::uint8_t { scalar, list, dictionary } kind = Kind::scalar;
  Json scalar{};
  std::vector<std::uint32_t> children{};  // of a dictionary: key, value, key, value …
};

// The machine that a pickle is a program for, without its instructions that call.
class Machine {
 public:
  explicit Machine(std::string_view bytes) : all_(bytes) {}

  Result<Json> run() {
    while (!done_) {
      const std::size_t begin = at_;
      const auto opcode = take(1);
      if (!opcode) return error(begin, "it is cut off");
      if (const char* problem = step(static_cast<unsigned char>(opcode->front()))) return error(begin, problem);
    }
    Json out;
    std::size_t left = free_nodes + 4 * all_.size();
    if (!convert(stack_.back(), out, left, 0)) return error(at_, "it is nested too deeply, or too large");
    return out;
  }

 private:
  Error error(std::size_t at, const char* problem) const {
    return {Errc::malformed, "not a pickle of plain values: byte " + std::to_string(at) + ": " + problem};
  }
  std::optional<std::string_view> take(std::size_t size) {
    if (size > all_.size() - at_) return std::nullopt;
    const std::string_view bytes = all_.substr(at_, size);
    at_ += size;
    return bytes;
  }
  template <class Number>
  std::optional<Number> number() {
    const auto bytes = take(sizeof(Number));
    if (!bytes) return std::nullopt;
    Number value;
    std::memcpy(&value, bytes->data(), sizeof value);  // little endian, as our machines are
    return value;
  }

  const char* push(Node node) {
    nodes_.push_back(std::move(node));
    stack_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
    return nullptr;
  }
  const char* scalar(Json value) { return push({Node::Kind::scalar, std::move(value)}); }
  template <class Size>
  const char* text() {
    const auto size = number<Size>();
    const auto bytes = size ? take(static_cast<std::size_t>(*size)) : std::nullopt;
    return bytes ? scalar(std::string{*bytes}) : cut;
  }
  template <class Number>
  const char* integer() {
    const auto value = number<Number>();
    return value ? scalar(*value) : cut;
  }
  template <class Size>
  const char* long_integer() {
    const auto size = number<Size>();
    const auto bytes = size ? take(static_cast<std::size_t>(*size)) : std::nullopt;
    if (!bytes) return cut;
    if (bytes->size() > 8) return "a number is too large";
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes->size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>((*bytes)[i])) << (8 * i);
    const std::size_t bits = 8 * bytes->size();
    if (bits != 0 && bits < 64 && (value >> (bits - 1) & 1) != 0) value |= ~std::uint64_t{0} << bits;
    return scalar(std::bit_cast<std::int64_t>(value));
  }
  const char* real() {
    const auto bytes = take(8);
    if (!bytes) return cut;
    std::uint64_t value = 0;  // big endian
    for (const char byte : *bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return scalar(formats::json_number(std::bit_cast<double>(value)));
  }

  // Where the values since the last mark begin.
  std::optional<std::size_t> mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return std::nullopt;
    const std::size_t begin = marks_.back();
    marks_.pop_back();
    return begin;
  }
  // What may be taken from the stack: nothing below the last mark.
  [[nodiscard]] bool has(std::size_t count) const {
    return stack_.size() >= (marks_.empty() ? 0 : marks_.back()) + count;
  }
  const char* collect(Node::Kind kind, std::optional<std::size_t> begin) {
    if (!begin) return unbalanced;
    Node node{kind, {}, {stack_.begin() + static_cast<std::ptrdiff_t>(*begin), stack_.end()}};
    if (kind == Node::Kind::dictionary && node.children.size() % 2 != 0) return unbalanced;
    stack_.resize(*begin);
    return push(std::move(node));
  }
  const char* collect_last(std::size_t count) {
    return has(count) ? collect(Node::Kind::list, stack_.size() - count) : unbalanced;
  }
  // Adds the values from `begin` to the container below them.
  const char* extend(Node::Kind kind, std::optional<std::size_t> begin) {
    if (!begin || *begin == 0 || (!marks_.empty() && *begin <= marks_.back())) return unbalanced;
    Node& container = nodes_[stack_[*begin - 1]];
    if (container.kind != kind || (kind == Node::Kind::dictionary && (stack_.size() - *begin) % 2 != 0))
      return unbalanced;
    container.children.insert(container.children.end(), stack_.begin() + static_cast<std::ptrdiff_t>(*begin),
                              stack_.end());
    stack_.resize(*begin);
    return nullptr;
  }
  const char* extend_by(Node::Kind kind, std::size_t count) {
    return has(count + 1) ? extend(kind, stack_.size() - count) : unbalanced;
  }
  template <class Number>
  const char* remember() {
    const auto name = number<Number>();
    if (!name) return cut;
    return remember_as(*name);
  }
  const char* remember_as(std::uint32_t name) {
    if (!has(1)) return unbalanced;
    memo_[name] = stack_.back();
    return nullptr;
  }
  template <class Number>
  const char* recall() {
    const auto name = number<Number>();
    const auto found = name ? memo_.find(*name) : memo_.end();
    if (found == memo_.end()) return name ? "it refers to a value that is not there" : cut;
    stack_.push_back(found->second);
    return nullptr;
  }
  const char* finish() {
    if (stack_.size() != 1 || !marks_.empty()) return unbalanced;
    done_ = true;
    return nullptr;
  }

  const char* step(unsigned char opcode) {
    using Kind = Node::Kind;
    switch (opcode) {
      case 0x80: return take(1) ? nullptr : cut;  // protocol
      case 0x95: return take(8) ? nullptr : cut;  // frame
      case '(': marks_.push_back(stack_.size()); return nullptr;
      case '}': return push({Kind::dictionary});
      case ']':
      case ')': return push({Kind::list});
      case 't':
      case 'l': return collect(Kind::list, mark());
      case 'd': return collect(Kind::dictionary, mark());
      case 0x85: return collect_last(1);
      case 0x86: return collect_last(2);
      case 0x87: return collect_last(3);
      case 'a': return extend_by(Kind::list, 1);
      case 'e': return extend(Kind::list, mark());
      case 's': return extend_by(Kind::dictionary, 2);
      case 'u': return extend(Kind::dictionary, mark());
      case 'N': return scalar(nullptr);
      case 0x88: return scalar(true);
      case 0x89: return scalar(false);
      case 'J': return integer<std::int32_t>();
      case 'K': return integer<std::uint8_t>();
      case 'M': return integer<std::uint16_t>();
      case 0x8a: return long_integer<std::uint8_t>();
      case 0x8b: return long_integer<std::uint32_t>();
      case 'G': return real();
      case 'X':
      case 'T':
      case 'B': return text<std::uint32_t>();
      case 0x8c:
      case 'U':
      case 'C': return text<std::uint8_t>();
      case 0x8d:
      case 0x8e: return text<std::uint64_t>();
      case 'q': return remember<std::uint8_t>();
      case 'r': return remember<std::uint32_t>();
      case 0x94: return remember_as(static_cast<std::uint32_t>(memo_.size()));
      case 'h': return recall<std::uint8_t>();
      case 'j': return recall<std::uint32_t>();
      case '.': return finish();
      case 'c':
      case 0x93: return "it imports something";
      case 'R':
      case 'i':
      case 'o':
      case 0x81:
      case 0x92:
      case 'b': return "it calls something";
      default: return "an instruction that plain values do not need";
    }
  }

  bool convert(std::uint32_t index, Json& out, std::size_t& left, int depth) const {
    if (depth > deepest || left == 0) return false;
    --left;
    const Node& node = nodes_[index];
    if (node.kind == Node::Kind::scalar) {
      out = node.scalar;
      return true;
    }
    if (node.kind == Node::Kind::list) {
      out = Json::array();
      for (const std::uint32_t child : node.children)
        if (!convert(child, out.emplace_back(nullptr), left, depth + 1)) return false;
      return true;
    }
    out = Json::object();
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const Node& key = nodes_[node.children[i]];
      if (key.kind != Node::Kind::scalar) return false;
      const std::string name = key.scalar.is_string() ? key.scalar.get<std::string>() : key.scalar.dump();
      if (!convert(node.children[i + 1], out[name], left, depth + 1)) return false;
    }
    return true;
  }

  static constexpr const char *cut = "it is cut off", *unbalanced = "its values do not fit together";
  std::string_view all_;
  std::size_t at_ = 0;
  bool done_ = false;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, std::uint32_t> memo_;
};

}  // namespace

Result<Json> read_pickle(std::string_view bytes) { return Machine{bytes}.run(); }

}  // namespace tocsin::adapters::evidence
