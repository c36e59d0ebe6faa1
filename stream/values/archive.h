#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// The inside of a snapshot's section: values one after the other, little-endian, no names. What a section holds and in which order
// is fixed by the snapshot's format number; schemas/ frames and checksums sections.
class Writer {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void put(Time time) { put(nanoseconds(time)); }
  void put(Duration duration) { put(static_cast<std::int64_t>(duration.count())); }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  void put(const char* text) { put(std::string_view{text}); }
  void put(const std::string& text) { put(std::string_view{text}); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_all(std::span<const T> values) {
    put(static_cast<std::uint64_t>(values.size()));
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put_all(std::span<const T>{values});
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a Writer wrote. A read past the end gives zero and remembers that it failed: check ok() once, at the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  [[nodiscard]] T get() {
    T value{};
    if (!has(sizeof value)) return value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  [[nodiscard]] Time get_time() { return at_nanoseconds(get<std::int64_t>()); }
  [[nodiscard]] Duration get_duration() { return Duration{get<std::int64_t>()}; }
  [[nodiscard]] std::string get_text() {
    const auto size = get<std::uint32_t>();
    if (!has(size)) return {};
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return text;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> get_all() {
    const auto count = get<std::uint64_t>();
    if (count > (bytes_.size() - at_) / sizeof(T)) {
      failed_ = true;
      return {};
    }
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count != 0) std::memcpy(values.data(), bytes_.data() + at_, values.size() * sizeof(T));
    at_ += values.size() * sizeof(T);
    return values;
  }
  // A count of things that follow, each at least one byte: a torn snapshot cannot ask for more than it has.
  [[nodiscard]] std::size_t get_count() {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() - at_) {
      failed_ = true;
      return 0;
    }
    return static_cast<std::size_t>(count);
  }
  [[nodiscard]] bool ok() const noexcept { return !failed_; }
  [[nodiscard]] Result<void> status() const {
    if (failed_) return Error{Errc::torn, "the snapshot's section ends too early"};
    return {};
  }

 private:
  bool has(std::size_t size) {
    if (failed_ || size > bytes_.size() - at_) {
      failed_ = true;
      return false;
    }
    return true;
  }
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace tocsin::stream
