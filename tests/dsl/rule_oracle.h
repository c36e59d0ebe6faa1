#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "stream/rules/pack.h"
#include "tests/dsl/random_log.h"
#include "tests/oracle/alerts.h"

namespace tocsin::dsl::test {

// Judges the rules of a pack again, from the plain records of a log and the rules' graphs: windows from the records,
// everything above them member by member, state, findings and frozen values by what it answered itself. Sums over time
// are rounded by the engine in an order of its own; where its value of a window is near enough, the rest is computed
// from that, so that all else is equal to the last bit.
class RuleOracle final : private oracle::Leaves {
 public:
  RuleOracle(const stream::Pack& pack, const RandomLog& log);

  // What the rule says at a tick of the run that is looked at. Ticks come in the order of the run.
  [[nodiscard]] Evaluated evaluate(const stream::RuleEvaluation& run);

  [[nodiscard]] const std::vector<std::string>& wrong() const noexcept {
    return wrong_;
  }  // windows that are not near, the first few
  [[nodiscard]] const std::set<stream::Op>& met() const noexcept {
    return met_;
  }  // operations that gave something known
  [[nodiscard]] std::size_t known_windows() const noexcept { return known_windows_; }

 private:
  oracle::Column window(stream::NodeId id, const stream::Node& node, const oracle::Column& goal) override;
  oracle::Mask finding(const stream::Node& node) override;
  oracle::Column state(const stream::Node& node) override;
  oracle::Column freeze(const stream::Node& node, oracle::Column values) override;
  double job_age() const override { return stream::seconds(now_ - log_.start); }
  oracle::Number symbol(const std::string& text) const override;

  [[nodiscard]] bool overlap(stream::Level a, std::size_t slot_a, stream::Level b, std::size_t slot_b) const;
  [[nodiscard]] std::size_t index_of(const std::string& rule) const;
  void note(oracle::GraphOracle& graph, const stream::Rule& rule);

  const stream::Pack& pack_;
  const RandomLog& log_;
  Cluster cluster_;
  stream::Time now_{};  // up to which records are seen
  oracle::WindowOracle windows_;
  std::vector<oracle::Alerts> alerts_;                                     // by rule
  std::map<std::pair<std::size_t, std::string>, oracle::Column> states_;   // by rule and field
  std::map<std::pair<std::size_t, stream::NodeId>, oracle::Column> held_;  // by rule and reduction
  const stream::RuleEvaluation* run_ = nullptr;                            // of the evaluation that runs
  std::vector<std::string> wrong_;
  std::set<stream::Op> met_;
  std::size_t known_windows_ = 0;
};

}  // namespace tocsin::dsl::test
