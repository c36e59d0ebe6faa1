#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stream/rules/pack.h"

namespace tocsin::dsl {

// A parameter as written: a number, a text or duration, a yes or no, or a list of numbers and texts.
using ParamValue = std::variant<double, std::string, bool, std::vector<stream::Scalar>>;

// `signal "x" { … }` or `finding "y"`.
struct NeedSource {
  std::string file;
  int line = 0;
  std::string signal;         // empty: a finding
  stream::WindowSpec window;  // signal, settle and freeze are set when the rule is traced
  bool freeze = false;
  std::vector<std::string> findings;  // as written; after assembly "*" is expanded in place
  bool joined = false;                // of several rules, or of "*": one mask per job
};

struct RuleSource {
  std::string name, file;
  int line = 0;
  std::string family, summary, per;
  stream::Scope scope = stream::Scope::attempt;
  std::optional<stream::Severity> severity;            // the highest, where `severities` has some
  std::map<std::string, stream::Severity> severities;  // by cause, and "otherwise"
  std::optional<std::string> runbook, owner;
  std::optional<stream::Mode> mode;
  std::vector<std::string> every;
  std::optional<stream::Persistence> fire, clear;
  std::vector<std::string> yields_to, peers;
  std::vector<std::string> shows;                                   // this and the next: alternatives
  std::map<std::string, std::vector<std::string>> causes, actions;  // actions: of a cause, or of "otherwise"
  std::map<std::string, std::vector<std::string>> jobs;             // labels, with what they allow
  std::map<std::string, NeedSource> needs;
  bool needs_refused = false;  // one of them is not among `needs`: evaluate cannot be traced
  std::map<std::string, ParamValue> params;
  std::map<std::string, double> state;
  int evaluate = -1;                  // reference of the function in the registry
  int first_line = 0, last_line = 0;  // of the function
};

}  // namespace tocsin::dsl
