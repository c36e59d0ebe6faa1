#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// The texts that an attempt's states and events said, each with the number that stands for it in columns. Numbers are given in the
// order of the attempt's own records, so they are a function of them. Owned by its Attempt.
class Symbols {
 public:
  static constexpr std::size_t limit = 65'536;  // further texts all become one, "(other)"

  double intern(std::string_view text);
  [[nodiscard]] double find(std::string_view text) const;  // absent where it was never said
  [[nodiscard]] std::optional<std::string> text(double symbol) const;

  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, double> numbers_;
};

}  // namespace tocsin::stream
