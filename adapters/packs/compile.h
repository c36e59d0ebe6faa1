#pragma once

#include <optional>
#include <vector>

#include "dsl/load/loader.h"
#include "dsl/text/extraction.h"
#include "stream/ports.h"

namespace tocsin::adapters::packs {

// A pack ready to run, or what keeps it from loading.
struct PackOutcome {
  std::optional<stream::LoadedPack> pack;
  std::vector<dsl::Problem> problems;  // of rules, patterns and parsers; warnings too
  std::vector<dsl::Case> cases;

  [[nodiscard]] std::vector<dsl::Problem> errors() const;  // the problems that are no warnings
};

// Where a pack is from. One that a log or a state names judged before, and does so again although today's rules must
// say more in alerts. If an earlier start kept what its Lua came to, no Lua runs: then there are no warnings and no
// cases.
enum class Origin { files, log };

// Rules, patterns and parsers together.
[[nodiscard]] PackOutcome compile(const dsl::PackFiles& files, const dsl::Budgets& budgets = {},
                                  Origin origin = Origin::files);

// Patterns and parsers alone. What is in use already is not compiled again.
[[nodiscard]] dsl::text::Compiled compile_texts(const dsl::PackFiles& files);

}  // namespace tocsin::adapters::packs
