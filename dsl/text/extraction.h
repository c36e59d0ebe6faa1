#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/text/database_store.h"
#include "dsl/text/definitions.h"
#include "stream/extractor.h"

namespace tocsin::dsl::text {

struct TextProblem {
  std::string file;
  int line = 0;
  std::string message;  // names the pattern and the remedy
};

// The groups of expressions that RE2 compiles, by their texts in its syntax.
struct GroupsOf {
  int count = 0;
  std::map<std::string, int> named;
  static void fields(auto& self, auto& archive) { archive(1, self.count), archive(2, self.named); }
};
using Groups = std::map<std::string, GroupsOf>;

// Compiles patterns and parsers into one Vectorscan database with RE2 captures. Their order is that of the files, and
// decides which parser applies. Null if there is a problem. `store`: where compiled databases are kept, if there is
// such a place.
struct Compiled {
  std::shared_ptr<const stream::Extraction> extraction;
  std::vector<TextProblem> problems;
  std::shared_ptr<const std::vector<Definition>> definitions;  // if it was made of files
};
[[nodiscard]] Compiled compile(std::span<const Definition> definitions, DatabaseStore* store = nullptr);
// What is in `groups` is known to compile, and is compiled only where a line needs it. What is not is added.
[[nodiscard]] Compiled compile(std::span<const Definition> definitions, Groups& groups, DatabaseStore* store);

// Replaces secrets (tokens, keys, passwords) in a text that appears in an alert or on a page.
[[nodiscard]] std::string mask_secrets(std::string_view text);

}  // namespace tocsin::dsl::text
