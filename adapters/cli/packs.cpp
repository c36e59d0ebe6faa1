#include "adapters/cli/packs.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "dsl/problems.h"
#include "dsl/text_definitions.h"

namespace tocsin::adapters::cli {

PackOutcome load_pack(const dsl::PackFiles& files, const dsl::Budgets& budgets) {
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

stream::Result<stream::LoadedPack> load_pack_from(const std::filesystem::path& directory) {
  auto files = dsl::read_pack(directory);
  if (!files) return files.error();
  PackOutcome outcome = load_pack(*files);
  if (outcome.pack) return std::move(*outcome.pack);
  return outcome.refusal(directory);
}

std::vector<dsl::Problem> PackOutcome::errors() const {
  std::vector<dsl::Problem> found;
  std::copy_if(problems.begin(), problems.end(), std::back_inserter(found), [](const auto& problem) { return !problem.warning; });
  return found;
}

stream::Error PackOutcome::refusal(const std::filesystem::path& directory) const {
  std::string text = dsl::list(errors());
  text.pop_back();
  return {stream::Errc::refused, "the rules in " + directory.string() + " do not load:\n" + text};
}

std::filesystem::path rules_directory(const std::filesystem::path& asked) {
  if (!asked.empty()) return asked;
  if (const char* set = std::getenv("TOCSIN_RULES"); set && *set) return set;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error)
    for (const char* beside : {"rules", "../share/tocsin/rules"})
      if (auto path = program.parent_path() / beside; std::filesystem::exists(path, error)) return path;
  return TOCSIN_RULES_DIR;
}

std::optional<stream::LoadedPack> Packs::pack(std::string_view hash, std::string_view text) {
  if (const auto found = known_.find(hash); found != known_.end()) return found->second;
  if (text.empty()) {
    refused_.push_back("pack " + std::string{hash} + ": its text is not in the log");
    return std::nullopt;
  }
  auto files = dsl::pack_files(text);
  if (!files) {
    refused_.push_back("pack " + std::string{hash} + ": " + files.error().message);
    return std::nullopt;
  }
  PackOutcome outcome = load_pack(*files);
  if (!outcome.pack) {
    refused_.push_back("pack " + std::string{hash} + " does not load" +
                       (outcome.problems.empty() ? "" : ": " + dsl::describe(outcome.problems.front())));
    return std::nullopt;
  }
  known_.emplace(hash, *outcome.pack);
  return *outcome.pack;
}

}  // namespace tocsin::adapters::cli
