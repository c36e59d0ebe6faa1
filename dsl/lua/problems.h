#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/nearest.h"

namespace tocsin::dsl {

using stream::nearest;

// The files of a pack by their path within it: rules and cases, signals.lua, verdict.lua, patterns/, progress/.
using PackFiles = std::map<std::string, std::string>;

// A problem of a pack: what, where, and what to write instead.
struct Problem {
  std::string file;
  int line = 0;
  std::string text;      // the offending line of the source
  std::string rule;      // that it is about, or "case 'name'"; empty: none
  std::string message;   // with the remedy
  bool warning = false;  // does not keep the pack from loading
  // A rule whose alert would not say what it must. Who judges with a pack refuses it (packs::compile).
  bool incomplete = false;
};
[[nodiscard]] std::string listed(const std::vector<std::string>& names);  // "one, two"
[[nodiscard]] std::string describe(const Problem& problem);               // "ranks.lua:14: …" and the line below it

// All of them for a person: a problem of many places once, in full at the first, with the next few by file and line; at
// most 20 messages, and a last line that counts the rest. Each line ends with '\n'.
[[nodiscard]] std::string list(const std::vector<Problem>& problems);

// Collects the problems of a pack, with the line of the source below each.
// Owned by one load.
class Problems {
 public:
  explicit Problems(const PackFiles& files) : files_(&files) {}

  // The rule or case that problems are about from here on; empty: none.
  void about(std::string rule) { rule_ = std::move(rule); }
  void add(const std::string& file, int line, std::string message);
  void warn(const std::string& file, int line, std::string message, bool incomplete = false);

  [[nodiscard]] std::string source_line(const std::string& file, int line) const;
  // The first line from `from` on that contains `key =`; `from` if there is none.
  [[nodiscard]] int line_of_key(const std::string& file, int from, std::string_view key) const;

  [[nodiscard]] bool fatal() const noexcept { return fatal_; }
  [[nodiscard]] std::vector<Problem> take() { return std::move(problems_); }

 private:
  const PackFiles* files_;
  std::string rule_;
  std::vector<Problem> problems_;
  bool fatal_ = false;
};

}  // namespace tocsin::dsl
