#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stream/values/archive.h"

// Columns of numbers of a section in few bytes. Integers are runs of equal differences to the one before, so that what
// members have in common takes bytes once; reals are floats where that loses no bit. A few bytes can hold any number of
// equal numbers, so a reader says how many there can be: no section, however torn, makes it take more memory than that.
namespace tocsin::stream {

class Packed {
 public:
  // One column: `of` gives the number of an element.
  template <class R, class Of>
  static std::vector<std::byte> pack(const R& elements, Of of) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Of, ElementOf<const R>>>;
    Packed packed;
    if constexpr (std::is_floating_point_v<Value>) packed.reals(elements, of);
    else packed.integers(elements, of);
    return std::move(packed.bytes_);
  }
  template <class R>
  static std::vector<std::byte> pack(const R& numbers) {
    return pack(numbers, std::identity{});
  }
  // Nullopt: no pack() made these bytes of at most so many numbers of this type.
  template <class T>
  static std::optional<std::vector<T>> unpack(std::span<const std::byte> bytes, std::size_t most) {
    std::vector<T> values;
    if (bytes.empty()) return values;
    const auto kind = static_cast<Kind>(bytes.front());
    bytes = bytes.subspan(1);
    const auto count = read(bytes);
    if (!count || *count > most) return std::nullopt;
    const auto size = static_cast<std::size_t>(*count);
    bool sound = false;
    if constexpr (std::is_floating_point_v<T>) sound = read_reals(kind, bytes, size, values);
    else sound = kind == Kind::runs && read_runs(bytes, size, values);
    if (!sound) return std::nullopt;
    return values;
  }

 private:
  enum class Kind : std::uint8_t { runs, one, floats, doubles };

  template <class T>
  static constexpr std::uint64_t whole(T value) noexcept {
    if constexpr (std::is_same_v<T, Time>) return static_cast<std::uint64_t>(nanoseconds(value));
    else return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  void begin(Kind kind, std::size_t count) {
    bytes_.push_back(static_cast<std::byte>(kind));
    number(count);
  }
  void number(std::uint64_t value) {  // seven bits a byte, the lowest first
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<std::byte>(value | 128));
    bytes_.push_back(static_cast<std::byte>(value));
  }
  static std::optional<std::uint64_t> read(std::span<const std::byte>& bytes) noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<std::uint64_t>(bytes.front());
      bytes = bytes.subspan(1);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return std::nullopt;
  }

  template <class R, class Of>
  void integers(const R& elements, Of of) {
    begin(Kind::runs, static_cast<std::size_t>(std::size(elements)));
    std::uint64_t before = 0, difference = 0, run = 0;
    const auto end_run = [&] {
      if (run != 0) number(run), number(difference << 1 ^ (0 - (difference >> 63)));
    };
    for (const auto& element : elements) {
      const std::uint64_t value = whole(std::invoke(of, element)), next = value - before;
      if (next != difference) end_run(), run = 0, difference = next;
      ++run;
      before = value;
    }
    end_run();
  }
  template <class T>
  static bool read_runs(std::span<const std::byte> bytes, std::size_t count, std::vector<T>& values) {
    std::uint64_t value = 0;
    while (values.size() < count) {
      const auto run = read(bytes), coded = read(bytes);
      if (!run || !coded || *run > count - values.size()) return false;
      const std::uint64_t difference = *coded >> 1 ^ (0 - (*coded & 1));
      for (std::uint64_t i = 0; i < *run; ++i) {
        value += difference;
        if constexpr (std::is_same_v<T, Time>) values.push_back(at_nanoseconds(static_cast<std::int64_t>(value)));
        else values.push_back(static_cast<T>(value));
        if (whole(values.back()) != value) return false;
        if constexpr (requires { is_possible(values.back()); })
          if (!is_possible(values.back())) return false;
      }
      if (*run == 0) return false;
    }
    return bytes.empty();
  }

  template <class R, class Of>
  void reals(const R& elements, Of of) {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    const auto as_float = [](double value) { return static_cast<float>(value); };
    const std::size_t count = std::size(elements);
    std::uint64_t all = 0, any = 0;
    bool floats = true, first = true;
    for (const auto& element : elements) {
      const auto value = static_cast<double>(std::invoke(of, element));
      all = first ? bits(value) : all & bits(value), any |= bits(value), first = false;
      floats = floats && bits(static_cast<double>(as_float(value))) == bits(value);
    }
    const Kind kind = all == any ? Kind::one : floats ? Kind::floats : Kind::doubles;
    begin(kind, count);
    const std::size_t width = kind == Kind::floats ? sizeof(float) : sizeof(double);
    std::size_t at = bytes_.size();
    bytes_.resize(at + (kind == Kind::one ? std::min<std::size_t>(count, 1) : count) * width);
    for (const auto& element : elements) {
      const auto value = static_cast<double>(std::invoke(of, element));
      const float narrow = as_float(value);
      if (kind == Kind::floats) std::memcpy(bytes_.data() + at, &narrow, width);
      else std::memcpy(bytes_.data() + at, &value, width);
      if (kind == Kind::one) break;
      at += width;
    }
  }
  template <class T>
  static bool read_reals(Kind kind, std::span<const std::byte> bytes, std::size_t count, std::vector<T>& values) {
    const std::size_t width = kind == Kind::floats ? sizeof(float) : sizeof(double);
    const std::size_t stored = kind == Kind::one ? std::min<std::size_t>(count, 1) : count;
    if (kind == Kind::runs || kind > Kind::doubles || bytes.size() != stored * width) return false;
    values.resize(count);
    for (std::size_t i = 0; i < stored; ++i) {
      float narrow = 0;
      double value = 0;
      if (kind == Kind::floats) std::memcpy(&narrow, bytes.data() + i * width, width), value = narrow;
      else std::memcpy(&value, bytes.data() + i * width, width);
      values[i] = static_cast<T>(value);
    }
    if (kind == Kind::one) std::fill(values.begin(), values.end(), values.empty() ? T{} : values.front());
    return true;
  }

  std::vector<std::byte> bytes_;
};

template <class R>
void pack(Writer& out, Tag tag, const R& numbers) {
  out(tag, Packed::pack(numbers));
}
// A column has a number of each member: those of a level, which Topology limits to these.
inline constexpr std::size_t most_of_column = 262'145;
// Without the field, the numbers stay as they are.
template <class T>
void unpack(Reader& in, Tag tag, std::vector<T>& numbers, std::size_t most = most_of_column) {
  const auto bytes = in.get<std::vector<std::byte>>(tag);
  if (bytes.empty()) return;
  auto read = Packed::unpack<T>(bytes, most);
  if (read) numbers = *std::move(read);
  else in.fail("its numbers cannot be unpacked, or are more than the " + std::to_string(most) + " that there can be");
}

// A list of small structs, a column for each member: the n-th has tag n for ever. A column of a newer program can be
// missing, but the first.
template <class R, class... Members>
void pack_columns(Writer& out, Tag tag, const R& elements, Members... members) {
  out.object(tag, [&](Writer& of) {
    Tag next = 1;
    (of(next++, Packed::pack(elements, members)), ...);
  });
}
template <class R, class Member>
void unpack_column(Reader& in, Tag tag, R& elements, std::size_t most, Member member) {
  using Value = std::remove_cvref_t<decltype((*std::begin(elements)).*member)>;
  std::vector<std::conditional_t<std::is_same_v<Value, bool>, std::uint8_t, Value>> values;
  if (tag == 1) elements.clear();
  unpack(in, tag, values, most);
  if (tag == 1) elements.resize(values.size());
  if (values.empty()) return;
  if (values.size() != elements.size()) return elements.clear(), in.fail("its columns have different lengths");
  auto value = values.begin();
  for (auto& element : elements) element.*member = static_cast<Value>(*value++);
}
template <class R, class... Members>
void unpack_columns(Reader& in, Tag tag, R& elements, std::size_t most, Members... members) {
  in.object(tag, [&](Reader& of) {
    Tag next = 1;
    (unpack_column(of, next++, elements, most, members), ...);
  });
}

}  // namespace tocsin::stream
