#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "stream/graph/evaluator.h"
#include "stream/job/shard.h"
#include "tests/oracle/graph.h"

namespace tocsin::dsl::test {

// One message of a log.
struct Message {
  stream::Time arrival;
  schemas::EntryBuilder entry;
};

// What one rule answered at one tick of its members, in the order of their slots. The reserved one is left out: no
// alert is about it.
struct Evaluated {
  std::string rule;
  stream::Time tick;
  oracle::Mask outcomes;
  std::map<std::string, oracle::Column> values;  // columns of the second table
};
[[nodiscard]] stream::Slot first_member(stream::Level per);
[[nodiscard]] bool operator==(const Evaluated& a, const Evaluated& b);

[[nodiscard]] bool same(const oracle::Number& a, const oracle::Number& b);  // a NaN is a NaN

// Everything a shard reported of a log.
struct Judged {
  std::vector<Evaluated> evaluations;  // where it was observed
  std::vector<stream::AlertTransition> alerts;
  std::vector<std::string> transitions;  // the same in words, with their evidence
  std::map<std::string, std::uint64_t> digests;
  stream::Counters counters;
};

using Look = std::function<void(const stream::RuleEvaluation&)>;
[[nodiscard]] Judged judge(std::vector<Message>& log, const stream::PackPtr& pack, bool observed, const Look& look = {},
                           stream::PackSource* packs = nullptr);

}  // namespace tocsin::dsl::test
