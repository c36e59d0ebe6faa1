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

std::optional<stream::LoadedPack> Packs::refuse(std::string_view hash, const std::string& why) {
  if (!refused_.emplace(hash).second) return std::nullopt;
  std::string text = "the rules that this journal was recorded with (pack " + std::string{hash.substr(0, 8)} +
                     ") do not load; those before them, at first the shipped ones, judge on. Under wrap: mend them and send it SIGHUP" +
                     why;
  if (text.ends_with('\n')) text.pop_back();
  complain_(text);
  return std::nullopt;
}

std::optional<stream::LoadedPack> Packs::pack(std::string_view hash, std::string_view text) {
  if (const auto found = known_.find(hash); found != known_.end()) return found->second;
  if (text.empty()) return refuse(hash, ": their text is not in it");
  auto files = dsl::pack_files(text);
  if (!files) return refuse(hash, ": " + files.error().message);
  PackOutcome outcome = load_pack(*files);
  if (!outcome.pack) return refuse(hash, ":\n" + dsl::list(outcome.errors()));
  known_.emplace(hash, *outcome.pack);
  return *outcome.pack;
}

}  // namespace tocsin::adapters::cli
