#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stream/extractor.h"
#include "stream/result.h"

namespace tocsin::dsl::text {

struct TextProblem {
  std::string file;
  int line = 0;
  std::string message;
};

// Compiles the patterns (patterns/*.lua) and parsers (progress/*.lua) of a pack, given as path → text, into one Vectorscan
// database with RE2 captures. Null where a problem was found.
struct Compiled {
  std::shared_ptr<const stream::ExtractorSource> source;
  std::vector<TextProblem> problems;
};
[[nodiscard]] Compiled compile(const std::map<std::string, std::string>& files);

// Replaces secrets (tokens, keys, passwords) in a text that leaves in an alert or on a page.
[[nodiscard]] std::string mask_secrets(std::string_view text);

}  // namespace tocsin::dsl::text
