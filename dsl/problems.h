#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/loader.h"

namespace tocsin::dsl {

// " (clock?)": the word of `words` that was probably meant, or nothing if none is close.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> words);

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
