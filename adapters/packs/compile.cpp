#include "adapters/packs/compile.h"

#include <algorithm>
#include <iterator>

#include "dsl/problems.h"
#include "dsl/text_definitions.h"

namespace tocsin::adapters::packs {

PackOutcome compile(const dsl::PackFiles& files, const dsl::Budgets& budgets) {
  PackOutcome outcome;
  dsl::Loaded rules = dsl::load(files, budgets);
  outcome.problems = std::move(rules.problems);
  outcome.cases = std::move(rules.cases);
  const dsl::text::Compiled texts = dsl::compile_text(files);
  for (const auto& problem : texts.problems)
    outcome.problems.push_back(
        {problem.file, problem.line, dsl::Problems{files}.source_line(problem.file, problem.line), {}, problem.message, false});
  if (rules.pack && texts.source) outcome.pack = stream::LoadedPack{std::move(rules.pack), texts.source};
  return outcome;
}

std::vector<dsl::Problem> PackOutcome::errors() const {
  std::vector<dsl::Problem> found;
  std::copy_if(problems.begin(), problems.end(), std::back_inserter(found), [](const auto& problem) { return !problem.warning; });
  return found;
}

}  // namespace tocsin::adapters::packs
