#pragma once

#include "stream/rules/alert.h"

namespace tocsin::test {

inline constexpr std::int64_t second = 1'000'000'000;

// Rank 3 of job llama is slow: every part of an alert is there.
inline stream::AlertTransition slow_rank(std::uint64_t id = 0xabc, std::uint32_t rank = 3) {
  stream::AlertTransition t;
  t.id = id;
  t.number = 1;
  t.rule = "straggler";
  t.family = "D3";
  t.family_words = "a slow rank";
  t.actions = {"drain n1"};
  t.subject = "llama";
  t.attempt = "7";
  t.summary = "One rank is slower than its peers";
  t.member.level = stream::Level::rank;
  t.member.rank = rank;
  t.member.node = "n1";
  t.since = stream::at_nanoseconds(1'780'000'000 * second);
  t.at = stream::at_nanoseconds(1'780'000'060 * second);
  t.shows = "rank 3 computes 0.24 s a step, its peers 0.10 s";
  t.implies = {{"compute", "its clock is fine: it has \"more\" work"}};
  t.cannot_decide = {"whether the data is skewed"};
  t.evidence = {{"x", 0.24}, {"typical", 0.1}};
  t.who = {t.member};
  return t;
}

inline stream::AlertTransition resolved(stream::AlertTransition t,
                                        stream::ResolveReason reason = stream::ResolveReason::cleared) {
  ++t.number;
  t.state = stream::AlertState::resolved;
  t.reason = reason;
  t.at += std::chrono::seconds{60};
  return t;
}

}  // namespace tocsin::test
