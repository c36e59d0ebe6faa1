#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/rule_values.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/json.h"
#include "adapters/packs/shadows.h"
#include "dsl/cases/case_runner.h"
#include "dsl/load/reference.h"
#include "dsl/load/shared_files.h"
#include "dsl/load/tunes.h"

namespace tocsin::adapters::cli {

namespace {

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// What loading cannot see of a scripted rule: whether it fails when it runs, in the cases that stand beside it.
std::vector<dsl::Problem> failures(const packs::PackOutcome& outcome) {
  std::vector<dsl::Problem> found;
  const auto& rules = outcome.pack->pack->rules;
  if (std::none_of(rules.begin(), rules.end(), [](const stream::Rule& rule) { return rule.scripted.has_value(); }))
    return found;
  for (const auto& one : outcome.cases)
    for (const auto& [name, message] : dsl::run_case(one, *outcome.pack).failures) {
      const auto rule =
          std::find_if(rules.begin(), rules.end(), [&name = name](const stream::Rule& r) { return r.name == name; });
      const bool known = std::any_of(found.begin(), found.end(), [&, &name = name, &message = message](const auto& p) {
        return p.rule == name && p.message.ends_with(message);
      });
      if (rule == rules.end() || known) continue;
      found.push_back(
          {rule->file, rule->line, "", name, "fails when it runs, in the case '" + one.name + "': " + message, false});
    }
  return found;
}

// How many nodes have values: of all, and per rank or GPU.
std::pair<std::size_t, std::size_t> evaluated(const stream::Graph& graph) {
  std::size_t all = 0, fine = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const stream::NodeStep& step = graph.step(static_cast<stream::NodeId>(i));
    if (step.in_place) continue;
    ++all;
    fine += step.level == stream::Level::rank || step.level == stream::Level::gpu;
  }
  return {all, fine};
}

int check(const std::vector<std::string>& directories, bool json) {
  const auto read = read_rules(directories);
  if (!read) {
    say("tocsin check: {}\n", read.error().message);
    return 2;
  }
  const std::string& rules = read->places;
  packs::PackOutcome outcome = packs::compile(read->files);
  if (outcome.pack)
    for (auto& found : {failures(outcome), packs::shadows(read->files, *outcome.pack)})
      outcome.problems.insert(outcome.problems.end(), found.begin(), found.end());
  if (json) {
    formats::Json report{{"ok", outcome.pack.has_value() && outcome.errors().empty()},
                         {"problems", formats::Json::array()},
                         {"rules", formats::Json::array()},
                         {"tuned", formats::Json::array()},
                         {"shared", formats::Json::array()}};
    for (const auto& p : outcome.problems)
      report["problems"].push_back(
          {{"file", p.file}, {"line", p.line}, {"rule", p.rule}, {"message", p.message}, {"warning", p.warning}});
    if (outcome.pack)
      for (const auto& rule : outcome.pack->pack->rules)
        report["rules"].push_back({{"name", rule.name},
                                   {"family", rule.family},
                                   {"severity", stream::name(rule.severity)},
                                   {"per", stream::name(rule.per)},
                                   {"scripted", rule.scripted.value_or("")},
                                   {"nodes", rule.hot.size()}});
    if (outcome.pack)
      for (const auto& one : dsl::tuned(read->files))
        report["tuned"].push_back(
            {{"name", one.name}, {"file", one.file}, {"line", one.line}, {"changes", one.changes}});
    if (outcome.pack)
      for (const auto& one : dsl::shared_uses(read->files))
        report["shared"].push_back({{"name", one.name}, {"file", one.file}, {"users", one.users}});
    fmt::print("{}\n", formats::dump(report));
    return report["ok"] ? 0 : 1;
  }
  if (!outcome.pack) {
    // What is never read may only be so because of the errors: of warnings nothing yet.
    const auto errors = outcome.errors();
    fmt::print("{}{} in {}: nothing is loaded\n", dsl::list(errors), counted(errors.size(), "error"), rules);
    return 1;
  }
  if (const auto errors = outcome.errors(); !errors.empty()) {
    fmt::print("{}{} in {}: rules that fail while they run are disabled, and decide nothing\n", dsl::list(errors),
               counted(errors.size(), "error"), rules);
    return 1;
  }
  fmt::print("{}", dsl::list(outcome.problems));
  const auto& pack = *outcome.pack->pack;
  for (const auto& rule : pack.rules)
    fmt::print("{:<28} {:<3} per {:<5} {:>3} nodes  {}\n", rule.name, rule.family, stream::name(rule.per),
               rule.hot.size(), rule.scripted ? "scripted: " + *rule.scripted : "compiled");
  for (const auto& one : dsl::tuned(read->files))
    fmt::print("{:<28} tuned at {}:{}: {}\n", one.name, one.file, one.line, fmt::join(one.changes, ", "));
  for (const auto& one : dsl::shared_uses(read->files))
    fmt::print("{:<28} shared, named by {}\n", one.file,
               one.users.empty() ? "no file" : fmt::format("{}", fmt::join(one.users, ", ")));
  const auto [nodes, per_member] = evaluated(*pack.graph);
  fmt::print("{}, {} merged, {} of them per rank or GPU, {}, {}; hash {}\n", counted(pack.rules.size(), "rule"),
             counted(nodes, "node"), per_member, counted(outcome.cases.size(), "case"),
             counted(outcome.problems.size(), "warning"), pack.hash);
  return 0;
}

int test(const std::vector<std::string>& directories, const std::string& only, bool verbose) {
  const auto read = read_rules(directories);
  if (!read) {
    say("tocsin test: {}\n", read.error().message);
    return 2;
  }
  const std::string& rules = read->places;
  const packs::PackOutcome outcome = packs::compile(read->files);
  if (!outcome.pack) {
    fmt::print("{}the rules in {} do not load: no case was run\n", dsl::list(outcome.errors()), rules);
    return 1;
  }
  std::size_t passed = 0, failed = 0;
  for (const auto& one : outcome.cases) {
    if (read->shipped.contains(one.file) || (!only.empty() && one.name.find(only) == std::string::npos)) continue;
    const dsl::CaseResult result = dsl::run_case(one, *outcome.pack, deciding_values);
    ++(result.passed ? passed : failed);
    if (verbose || !result.passed)
      fmt::print("{} {}:{}: {}\n", result.passed ? "ok  " : "FAIL", one.file, one.line, one.name);
    for (const auto& message : result.messages) {
      std::istringstream lines{message};
      for (std::string line; std::getline(lines, line);) fmt::print("       {}\n", line);
    }
  }
  if (passed + failed == 0 && !only.empty()) {
    say("tocsin test: the name of none of {} in {} holds '{}'\n", counted(outcome.cases.size(), "case"), rules, only);
    return 1;
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

void add_reference_command(CLI::App& app, int& status) {
  const auto rules = std::make_shared<std::vector<std::string>>();
  auto* command = app.add_subcommand(
      "reference",
      "Print every word and key of the rules' language with its meaning, as Markdown; or what rules declare");
  add_option(*command, "RULES", *rules, "",
             "Print the rules of these directories, with their parameters and defaults, and their signals; shipped is "
             "the program's own");
  command->callback([rules, &status] {
    if (rules->empty()) return fmt::print("{}", dsl::reference());
    const auto pack = load_pack_from(*rules);
    if (pack) fmt::print("{}", dsl::reference_of(*pack->pack));
    else status = cannot("reference", pack.error().message);
  });
}

void add_check_commands(CLI::App& app, int& status) {
  const auto rules = std::make_shared<std::vector<std::string>>();
  const auto json = std::make_shared<bool>(false), verbose = std::make_shared<bool>(false);
  const auto only = std::make_shared<std::string>();
  auto* check_command =
      app.add_subcommand("check", "Load rules, and say what is wrong, where, and what to write instead");
  add_option(*check_command, "RULES", *rules, "", several_rules_text);
  check_command->add_flag("--json", *json, "Print one JSON object: ok, problems, rules");
  check_command->callback([rules, json, &status] { status = check(*rules, *json); });

  auto* test_command =
      app.add_subcommand("test", "Run the cases of the rules: each rule must fire where its cases say, and only there");
  add_option(*test_command, "RULES", *rules, "", several_rules_text);
  add_option(*test_command, "--only", *only, "TEXT", "Only cases whose name contains this text");
  test_command->add_flag("--verbose", *verbose, "Name the cases that pass as well");
  test_command->callback([rules, only, verbose, &status] { status = test(*rules, *only, *verbose); });
}

}  // namespace tocsin::adapters::cli
