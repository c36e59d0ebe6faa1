#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stream/rules/rule_evaluation.h"
#include "stream/topology/topology.h"
#include "stream/values/time.h"

namespace tocsin::adapters::cli {

// The answer of a rule for one member at one tick, and why.
struct Explained {
  struct Value {
    std::string name, expression, value;  // name: what its author calls it, or empty
    std::string missing;                  // why it is unknown; empty: it is known
  };
  std::string rule, job, member, outcome;
  stream::Time tick{};
  std::string fire, alert;    // how far `fire` is; the state of the alert
  std::string deciding;       // the values that decide, a line each; empty: the rule is a script
  std::vector<Value> values;  // every value of the rule
};
[[nodiscard]] Explained explained(const stream::RuleEvaluation& evaluation, stream::Slot slot);
// Verbose: with the values that have no name.
[[nodiscard]] std::string as_text(const Explained& all, bool verbose);
[[nodiscard]] std::string as_json(const Explained& all);

// Values of a rule over time, for one member: a line for each tick at which one changed.
class ValueTable {
 public:
  // `names`: of values that evaluate returns, or of its local variables; empty: those that it returns.
  explicit ValueTable(std::vector<std::string> names) : names_(std::move(names)) {}

  // An error names a value that the rule does not have.
  [[nodiscard]] std::optional<std::string> add(const stream::RuleEvaluation& evaluation, stream::Slot slot);
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  [[nodiscard]] std::string as_text() const;
  [[nodiscard]] std::string as_json() const;

 private:
  struct Line {
    stream::Time tick{};
    std::vector<std::string> cells;  // the outcome, then the values
  };
  std::vector<std::string> names_;
  std::string rule_, job_, member_;
  std::vector<Line> lines_;
};

// Why the rule never ran for the job, as far as its declaration tells.
[[nodiscard]] std::string why_not_run(const stream::Pack& pack, const stream::Rule& rule,
                                      const std::map<std::string, std::string>& labels);

}  // namespace tocsin::adapters::cli
