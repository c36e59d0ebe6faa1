#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tocsin::dsl::text {

// An expression that is mostly words and numbers in a row, which most lines of a log need: literals, \s* \s+ \d+
// \S+ \w+ [^x]* .* .+ .*? and the like, NUM, INT, ^ $ \b, groups around them, and choices of words. It has the result
// of RE2, a few times faster; if it is not sure of that it reports so, and RE2 is used. Immutable.
class Straight {
 public:
  static constexpr std::size_t most_groups = 20;
  enum class Answer : std::uint8_t { no, yes, unsure };
  using Groups = std::array<std::string_view, most_groups + 1>;  // 0: the whole match; null data: not part of the match

  // Nothing: the expression (with NUM and INT) has another construct.
  static std::optional<Straight> compile(std::string_view expression);

  [[nodiscard]] Answer search(std::string_view text, std::size_t from, Groups& groups) const;

 private:
  struct Atom {
    enum class Kind : std::uint8_t { literal, choice, run, number, integer, begin, end, boundary, open, close };
    Kind kind{};
    bool lazy = false;
    std::uint8_t group = 0;
    std::uint16_t least = 0;  // of a run
    std::uint32_t most = 0xFFFFFFFFu;
    std::string literal;
    std::vector<std::string> choices;  // in the order of preference; an empty one is last: optional
    std::bitset<256> set;              // of a run
  };
  class Parser;
  struct Search;
  std::vector<Atom> atoms_;
  std::size_t first_ = 0;  // the atom that a search starts with: a literal, or the beginning
  std::size_t groups_ = 0;
};

}  // namespace tocsin::dsl::text
