#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/digest.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// The texts of an attempt's states and events, each with the number that stands for it in columns. Numbers follow the
// order of the attempt's own records, so they are a function of them. Owned by its Attempt.
class Symbols {
 public:
  static constexpr std::size_t limit = 65'536;   // texts; a further one is unknown, not another text
  static constexpr std::size_t longest = 1'024;  // bytes of a text that are compared

  double intern(std::string_view text);                    // absent beyond the limit
  [[nodiscard]] double find(std::string_view text) const;  // absent if no record contains it
  [[nodiscard]] std::optional<std::string> text(double symbol) const;
  [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }
  // How many texts were over the limit since the last call.
  [[nodiscard]] std::uint64_t take_refused() noexcept { return std::exchange(refused_, 0); }

  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return hash_text(text); }
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, double, TextHash, std::equal_to<>> numbers_;
  std::uint64_t refused_ = 0;
};

}  // namespace tocsin::stream
