#include "adapters/cli/packs.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "dsl/cases/case_runner.h"
#include "dsl/load/text_definitions.h"

namespace tocsin::adapters::cli {

namespace {
constexpr std::size_t most_failures = 5;  // that are written out
}  // namespace

stream::Result<RuleFiles> read_rules(const std::vector<std::string>& directories) {
  if (directories.empty()) return read_rules({rules_directory().string()});
  RuleFiles all;
  for (const std::string& directory : directories) {
    const bool shipped = directory == "shipped", alone = directories.size() == 1;
    const std::filesystem::path place = shipped ? rules_directory() : std::filesystem::path{directory};
    all.places += (all.places.empty() ? "" : ", ") + place.string();
    auto files = dsl::read_pack(place);
    if (!files) return files.error();
    if (!alone) all.files[dsl::directories_file] += (shipped ? "" : (place / "").string()) + "\n";
    for (auto& [name, text] : *files) {
      if (shipped && !alone) all.shipped.insert(name);
      all.files[shipped || alone ? name : (place / name).string()] = std::move(text);
    }
  }
  return all;
}

stream::Result<stream::LoadedPack> load_pack_from(const std::vector<std::string>& directories,
                                                  const dsl::Budgets& budgets) {
  const auto rules = read_rules(directories);
  if (!rules) return rules.error();
  packs::PackOutcome outcome = packs::compile(rules->files, budgets);
  if (outcome.pack) return std::move(*outcome.pack);
  return refusal(outcome, rules->places);
}

stream::Result<stream::LoadedPack> load_tested_pack_from(const std::vector<std::string>& directories,
                                                         const std::function<bool()>& stop) {
  const auto rules = read_rules(directories);
  if (!rules) return rules.error();
  packs::PackOutcome outcome = packs::compile(rules->files);
  if (!outcome.pack) return refusal(outcome, rules->places);
  std::string failed;
  std::size_t failures = 0;
  for (const dsl::Case& one : outcome.cases) {
    if (stop()) return stream::Error{stream::Errc::io, "ended before all cases were tried"};
    if (rules->shipped.contains(one.file)) continue;
    const dsl::CaseResult result = dsl::run_case(one, *outcome.pack);
    if (result.passed || ++failures > most_failures) continue;
    failed += fmt::format("\n{}:{}: the case '{}' fails", one.file, one.line, one.name);
    for (const std::string& message : result.messages) failed += "\n  " + message;
  }
  if (failures == 0) return std::move(*outcome.pack);
  if (failures > most_failures) failed += fmt::format("\nand {} more cases", failures - most_failures);
  return stream::Error{stream::Errc::refused, "the rules in " + rules->places + " do not pass their cases:" + failed};
}

stream::Error refusal(const packs::PackOutcome& outcome, const std::string& directories) {
  std::string text = dsl::list(outcome.errors());
  text.pop_back();
  const char* where = text.find('\n') == text.npos ? " " : "\n";  // one mistake is one line
  return {stream::Errc::refused, "the rules in " + directories + " do not load:" + where + text};
}

std::string journal_pack_refused(std::string_view hash, const stream::Error& why) {
  const bool lines = why.message.find('\n') != std::string::npos;
  std::string text = "the rules that this journal was recorded with (pack " + std::string{hash.substr(0, 8)} +
                     ") do not load; those before them, at first the shipped ones, judge on. Under wrap: fix them and "
                     "send it SIGHUP:" +
                     (lines ? "\n" : " ") + why.message;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::filesystem::path rules_directory() {
  if (const char* set = std::getenv("TOCSIN_RULES"); set && *set) return set;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error)
    for (const char* beside : {"rules", "../share/tocsin/rules"})
      if (auto path = program.parent_path() / beside; std::filesystem::exists(path, error)) return path;
  return TOCSIN_RULES_DIR;
}

std::filesystem::path python_directory() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const auto& place :
       {error ? std::filesystem::path{} : program.parent_path().parent_path() / "share/tocsin/python",
        std::filesystem::path{TOCSIN_PYTHON_DIR}})
    if (std::filesystem::exists(place / "tocsin.py", error)) return place;
  return {};
}

}  // namespace tocsin::adapters::cli
