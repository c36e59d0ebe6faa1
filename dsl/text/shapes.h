#pragma once

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tocsin::dsl::text {

// An expression for captures, which is known to compile. `digits_alike`: it treats all digits alike, so that it matches
// lines that differ only in their digits at the same places.
struct Regex {
  Regex(std::string expression, std::uint32_t number_among);
  std::string text;      // in RE2's syntax
  std::uint32_t number;  // among those of a pack, from 0
  bool digits_alike;
};
[[nodiscard]] RE2::Options regex_options();
// Whether an expression in RE2's syntax does. If in doubt, no.
[[nodiscard]] bool treats_digits_alike(std::string_view expression) noexcept;
// An expression that treats all digits alike and matches wherever the given one does; nothing if in doubt.
[[nodiscard]] std::optional<std::string> with_digits_alike(std::string_view expression);

// The expressions of a pack that lines have needed so far, compiled: most are never needed. Owned by a shard.
class Searches {
 public:
  // As RE2::Match() anywhere in the text behind `from`.
  bool match(const Regex& regex, std::string_view text, std::size_t from, std::span<re2::StringPiece> groups);
  [[nodiscard]] bool occurs(const Regex& regex, std::string_view text) { return match(regex, text, 0, {}); }

 private:
  std::vector<std::unique_ptr<const RE2>> compiled_;  // by number; null: it was not needed
};

// What expressions matched in the lines seen last, by the shape of a line: the line with a 0 for each digit. 19 of 20
// lines with a loss have the shape of an earlier one, for which nothing needs to be searched again. It changes no
// result, so that it is no state of an extractor. Owned by a shard.
class Shapes {
 public:
  explicit Shapes(Searches& searches) : searches_(&searches) {}
  // The line that is looked at from now on; it has to stay until the next.
  void begin(std::string_view line) noexcept {
    line_ = line;
    known_ = nullptr;
    looked_up_ = false;
  }
  // As Searches::match() from the text's beginning. Remembered if the text is the line.
  bool match(const Regex& regex, std::string_view text, std::span<re2::StringPiece> groups);
  // What a scan for expressions that treat digits alike found in the line; null: not known.
  [[nodiscard]] const std::vector<std::uint32_t>* found();
  void found(std::span<const std::uint32_t> expressions);
  // The last match() was of this expression and failed: if it fails for all lines of this shape, found() no longer has
  // it.
  void drop(std::uint32_t expression, const Regex& regex);
  [[nodiscard]] std::uint64_t recalled() const noexcept { return recalled_; }  // matches, without a search

 private:
  static constexpr std::size_t longest = 4096, most_results = 56, most_groups = 112;
  struct Group {
    std::int16_t begin = -1;  // -1: none
    std::uint16_t size = 0;
  };
  struct Result {
    const Regex* regex = nullptr;
    std::uint16_t first = 0;  // of its groups
    bool matched = false;
  };
  struct Shape {
    std::string text;
    std::uint16_t results = 0, groups = 0;
    bool scanned = false;
    std::vector<std::uint32_t> found;
    std::array<Result, most_results> result;
    std::array<Group, most_groups> group;
  };
  void look_up();
  [[nodiscard]] const Result* find(const Regex& regex) noexcept;

  Searches* searches_;
  std::array<char, longest> shape_;  // of the line
  std::vector<Shape> shapes_;        // by hash; made with the first line
  std::string_view line_;
  Shape* known_ = nullptr;  // of the line; null: it is too long
  bool looked_up_ = false;
  std::size_t next_ = 0;  // the result that is probably asked for next: searches repeat in the same order
  std::uint64_t recalled_ = 0;
};

}  // namespace tocsin::dsl::text
