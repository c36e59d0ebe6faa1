#include "adapters/cli/check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "adapters/cli/packs.h"
#include "dsl/case_runner.h"

namespace tocsin::adapters::cli {

namespace {

std::string counted(std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

}  // namespace

int check(const std::filesystem::path& directory, bool json) {
  const auto rules = rules_directory(directory);
  const auto files = dsl::read_pack(rules);
  if (!files) {
    fmt::print(stderr, "tocsin check: {}\n", files.error().message);
    return 2;
  }
  const packs::PackOutcome outcome = packs::compile(*files);
  if (json) {
    nlohmann::json report{{"ok", outcome.pack.has_value()}, {"problems", nlohmann::json::array()}, {"rules", nlohmann::json::array()}};
    for (const auto& p : outcome.problems)
      report["problems"].push_back({{"file", p.file}, {"line", p.line}, {"rule", p.rule}, {"message", p.message}, {"warning", p.warning}});
    if (outcome.pack)
      for (const auto& rule : outcome.pack->pack->rules)
        report["rules"].push_back({{"name", rule.name},
                                   {"family", rule.family},
                                   {"severity", stream::name(rule.severity)},
                                   {"per", stream::name(rule.per)},
                                   {"scripted", rule.scripted.value_or("")},
                                   {"nodes", rule.hot.size()}});
    fmt::print("{}\n", report.dump());
    return outcome.pack ? 0 : 1;
  }
  if (!outcome.pack) {
    // What is never read may only be so because of the errors: of warnings nothing yet.
    const auto errors = outcome.errors();
    fmt::print("{}{} in {}: nothing is loaded\n", dsl::list(errors), counted(errors.size(), "error"), rules.string());
    return 1;
  }
  fmt::print("{}", dsl::list(outcome.problems));
  const auto& pack = *outcome.pack->pack;
  for (const auto& rule : pack.rules)
    fmt::print("{:<28} {:<3} per {:<5} {:>3} nodes  {}\n", rule.name, rule.family, stream::name(rule.per), rule.hot.size(),
               rule.scripted ? "scripted: " + *rule.scripted : "compiled");
  fmt::print("{}, {} merged, {}, {}; hash {}\n", counted(pack.rules.size(), "rule"), counted(pack.graph->size(), "node"),
             counted(outcome.cases.size(), "case"), counted(outcome.problems.size(), "warning"), pack.hash);
  return 0;
}

int test(const std::filesystem::path& directory, const std::string& only, bool verbose) {
  const auto rules = rules_directory(directory);
  const auto files = dsl::read_pack(rules);
  if (!files) {
    fmt::print(stderr, "tocsin test: {}\n", files.error().message);
    return 2;
  }
  const packs::PackOutcome outcome = packs::compile(*files);
  if (!outcome.pack) {
    fmt::print("{}the rules in {} do not load: no case was run\n", dsl::list(outcome.errors()), rules.string());
    return 1;
  }
  std::size_t passed = 0, failed = 0;
  for (const auto& one : outcome.cases) {
    if (!only.empty() && one.name.find(only) == std::string::npos) continue;
    const dsl::CaseResult result = dsl::run_case(one, *outcome.pack);
    ++(result.passed ? passed : failed);
    if (verbose || !result.passed) fmt::print("{} {}:{}: {}\n", result.passed ? "ok  " : "FAIL", one.file, one.line, one.name);
    for (const auto& message : result.messages) fmt::print("       {}\n", message);
  }
  if (passed + failed == 0 && !only.empty()) {
    fmt::print(stderr, "tocsin test: the name of none of {} in {} holds '{}'\n", counted(outcome.cases.size(), "case"), rules.string(),
               only);
    return 1;
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace tocsin::adapters::cli
