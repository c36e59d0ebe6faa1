#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/load/cases.h"
#include "dsl/load/loader.h"
#include "dsl/load/shared_files.h"
#include "dsl/load/unfinished.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "dsl/lua/rule_source.h"
#include "dsl/text/definitions.h"
#include "stream/rules/pack.h"
#include "stream/rules/scripts.h"

namespace tocsin::dsl {

// `tune "x" { … }`: what a site changes in a rule, or in a signal's row and lateness.
struct TuneSource {
  std::string name, file;
  int line = 0;
  std::optional<stream::Severity> severity;            // the highest, where `severities` has some
  std::map<std::string, stream::Severity> severities;  // by cause, and "otherwise"
  std::optional<std::string> runbook, owner;
  std::optional<stream::Mode> mode;
  std::optional<stream::Persistence> fire, clear;
  std::map<std::string, ParamValue> params;
  std::optional<std::map<std::string, std::vector<std::string>>> jobs;
  std::optional<stream::Duration> row, lateness;
};

// The declarations of a pack's files, before anything is traced.
// Owned by one load.
struct Collection {
  enum class Part : std::uint8_t { signals, shared, rules, verdict, texts };
  explicit Collection(Problems& problems_of) : problems(&problems_of) {}

  Problems* problems;
  Part part = Part::signals;
  bool signals_read = false;  // signals.lua was read to its end: else all signals are unknown
  bool rules_read = true;     // each file of rules was read to its end: else a missing rule can be in the rest
  std::map<std::string, stream::SignalDefinition> signals;
  struct SignalName {
    std::string signal, file;
    int line = 0;
  };
  std::map<std::string, SignalName>
      names_of_signals;  // with aliases: which signal each means, and where it was declared
  std::map<std::string, stream::Level> coordinates;
  std::map<std::string, RuleSource> rules;
  std::vector<TuneSource> tunes;
  std::vector<Case> cases;
  std::vector<text::Definition> definitions;  // patterns and parsers
  std::vector<NeedSource> declared;  // needs in the order of their `signal` and `finding`; a table holds their numbers
  stream::VerdictPolicy verdict;
  UnfinishedDeclarations unfinished;
  SharedFiles shared;

  [[nodiscard]] std::vector<std::string> signal_names() const;  // with aliases
  [[nodiscard]] std::vector<std::string> rule_names() const;
  [[nodiscard]] const stream::SignalDefinition* find_signal(const std::string& name) const;
  // Report a name without a declaration, unless the file that would declare it was not read: then that problem is
  // enough.
  void no_signal(const std::string& file, int line, const std::string& name) const;
  void no_rule(const std::string& file, int line, const std::string& name, const std::string& where = "") const;
};

// Turns the declarations of files into a pack whose rules have their heads: applies tunes, builds the tables of signals
// and coordinates, expands findings, computes settle and depths, and detects cycles. Tracing adds the rest.
void assemble(Collection& collection, stream::Pack& pack);

// Checks that what cases name exists (signals, rules, causes, members), and that each value is one that its signal can
// have: what is given in vain would make a case pass that tests nothing. After all files are read.
void check_cases(const Collection& collection);

// Makes the hosts of a pack's scripted rules. Each reads the pack's text again, into its own Lua state, and keeps only
// the functions of those rules.
[[nodiscard]] std::shared_ptr<const stream::ScriptSource> script_source(const Budgets& budgets);

}  // namespace tocsin::dsl
