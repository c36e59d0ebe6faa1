#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/result.h"

// What is read from the values of labels.
namespace tocsin::adapters::ingest {

// Stands for no value: empty, "unknown", "none", "null", "N/A".
[[nodiscard]] bool blank(std::string_view value);
// A PCI address, a UUID or an index, as a GPU is called; nothing: the value is none of them. GPU3 and nvidia3 are the
// index 3.
[[nodiscard]] std::optional<std::string_view> gpu_name(std::string_view value);
// Whether a text is of a pattern in which * stands for any text.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

// A path with parts that name a member: /var/log/{job}/*-rank{rank}.log. No part that varies holds a slash, and a rank
// is digits where it can be. Of several ways to divide a text, * takes as much as it can, and before that what has a
// name as little.
class Template {
 public:
  static constexpr std::size_t job = 0, attempt = 1, rank = 2, node = 3, gpu = 4;
  using Found = std::array<std::string_view, 5>;  // by the numbers above; empty: not found

  static stream::Result<Template> parse(std::string_view text);
  // False: the text is not of this form, and `found` is as before.
  bool match(std::string_view text, Found& found) const;

 private:
  class Division;
  static constexpr int varies = -1;  // *
  struct Part {
    std::string before;  // the text in front
    int target = varies;
  };
  std::vector<Part> parts_;
  std::string end_;
};

}  // namespace tocsin::adapters::ingest
