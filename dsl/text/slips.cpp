#include "dsl/text/slips.h"

#include <re2/re2.h>

#include <algorithm>

#include "dsl/text/number.h"
#include "dsl/text/scanner.h"

namespace tocsin::dsl::text {
namespace {

// Calls `set` with each [...], brackets included, and `plain` with the place of each other character that is not
// escaped.
void walk(std::string_view text, auto&& set, auto&& plain) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
      continue;
    }
    if (text[at] != '[') {
      plain(at);
      continue;
    }
    std::size_t end = at + 1;
    if (end < text.size() && text[end] == '^') ++end;
    if (end < text.size() && text[end] == ']') ++end;  // as the first it is a character of the set
    while (end < text.size() && text[end] != ']') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) return;
    set(text.substr(at, end + 1 - at));
    at = end;
  }
}

// `%d` and the like.
std::optional<Slip> class_of_lua(std::string_view text) {
  struct Class {
    char letter;
    const char* instead;
  };
  static constexpr Class classes[] = {
      {'d', "\\d"},   {'s', "\\s"},         {'w', "\\w"},         {'a', "[A-Za-z]"},    {'u', "[A-Z]"},
      {'l', "[a-z]"}, {'x', "[0-9a-fA-F]"}, {'p', "[[:punct:]]"}, {'g', "[[:graph:]]"}, {'c', "[[:cntrl:]]"}};
  std::optional<Slip> found;
  walk(
      text, [](std::string_view) {},
      [&](std::size_t at) {
        if (found || text[at] != '%' || at + 1 >= text.size()) return;
        const bool longer = at + 2 < text.size() && letter(text[at + 2]);
        const auto known = std::ranges::find(classes, text[at + 1], &Class::letter);
        if (longer || known == std::end(classes)) return;
        const std::string written{text.substr(at, 2)};
        found = Slip{"`" + written +
                     "` belongs to Lua's patterns; in a regular expression it is a percent sign and a letter: write " +
                     known->instead + ", NUM or INT for a number, and [%]" + text[at + 1] + " for the text " + written};
      });
  return found;
}

// A number in a set of characters.
std::optional<Slip> number_in_set(std::string_view text) {
  std::optional<Slip> found;
  walk(
      text,
      [&](std::string_view set) {
        static const RE2 number{R"(\b(?:NUM|INT)\b)"};
        if (!found && RE2::PartialMatch(re2::StringPiece{set.data(), set.size()}, number))
          found = Slip{"`" + std::string{set} +
                       "` is a set of single characters: write \\[ and \\] for the brackets of a line"};
      },
      [](std::size_t) {});
  return found;
}

// An expression that matches a line of a single character occurs in nearly every line, unless it must match the whole
// line and takes only some characters.
std::optional<Slip> in_every_line(const std::string& text) {
  constexpr std::size_t longest = 24;  // what is longer has words of its line
  constexpr int letters_and_digits = 62;
  if (text.size() > longest) return std::nullopt;
  const RE2 compiled{for_capturing(text), RE2::Quiet};
  if (!compiled.ok()) return std::nullopt;
  int matched = 0;
  char example = 0;
  for (char c = ' ' + 1; c < 0x7F; ++c)
    if (RE2::PartialMatch(re2::StringPiece{&c, 1}, compiled)) ++matched, example = c;
  const bool whole = text.starts_with('^') && text.ends_with('$');
  if (matched == 0 || (whole && matched <= letters_and_digits)) return std::nullopt;
  return Slip{"`" + text + "` occurs in nearly every line, as in one that is `" + std::string(1, example) +
                  "` alone: write more of what its lines have in common",
              true};
}

}  // namespace

std::string group_in_set(std::string_view expression) {
  std::string found;
  walk(
      expression,
      [&](std::string_view set) {
        if (found.empty() && set.find("(?P<") != set.npos)
          found = "`" + std::string{set} +
                  "` is a set of single characters and cannot contain a group: write \\[ and \\] " +
                  "for the brackets of a line";
      },
      [](std::size_t) {});
  return found;
}

std::optional<Slip> slip_in(const std::string& expression) {
  if (auto slip = class_of_lua(expression)) return slip;
  if (auto slip = number_in_set(expression)) return slip;
  return in_every_line(expression);
}

bool occurs_in(const Definition& definition, const std::string& text) {
  return std::ranges::any_of(definition.lines, [&](const std::string& line) {
    return RE2::PartialMatch(text, RE2{for_capturing(line), RE2::Quiet});
  });
}

}  // namespace tocsin::dsl::text
