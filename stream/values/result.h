#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tocsin::stream {

// Why an operation failed. Counters count by the code; the message is for a person and ends with the remedy.
enum class Errc {
  torn,             // cut short, or its checksum differs
  malformed,        // violates its format
  unknown_version,  // written by a newer program
  too_large,        // over a limit
  not_found,
  io,
  refused,  // understood, but not allowed
};

struct Error {
  Errc code = Errc::malformed;
  std::string message;
};

[[nodiscard]] const char* name(Errc code) noexcept;

// A value, or the Error in its place (until std::expected).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return state_.index() == 0; }
  [[nodiscard]] T& operator*() & {
    assert(*this);
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& operator*() const& {
    assert(*this);
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& operator*() && {
    assert(*this);
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] T* operator->() { return &**this; }
  [[nodiscard]] const T* operator->() const { return &**this; }
  [[nodiscard]] const Error& error() const {
    assert(!*this);
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  [[nodiscard]] explicit operator bool() const noexcept { return !error_; }
  [[nodiscard]] const Error& error() const {
    assert(error_);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace tocsin::stream
