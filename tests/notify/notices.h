#pragma once

#include "adapters/notify/notice.h"
#include "adapters/notify/receiver.h"

namespace tocsin::test {

inline constexpr std::int64_t second = 1'000'000'000;
inline stream::Time at(std::int64_t seconds) { return stream::at_nanoseconds((1'780'000'000 + seconds) * second); }

// A collective of job llama hangs: every part of an alert is there.
inline stream::AlertTransition hang(std::uint64_t id = 0xabc) {
  stream::AlertTransition t;
  t.id = id, t.number = 1;
  t.rule = "collective_hang", t.family = "C2", t.family_words = "collective hang";
  t.severity = stream::Severity::critical;
  t.subject = "llama", t.attempt = "7";
  t.labels = {{"partition", "prod"}, {"user", "ada"}};
  t.summary = "A NCCL collective hangs";
  t.member.level = stream::Level::rank, t.member.rank = 3, t.member.node = "n2", t.member.gpu = "1";
  t.who = {t.member};
  t.since = at(0), t.at = at(60);
  t.shows = "7 of 8 ranks wait in AllReduce 4711; rank 3 has not entered it";
  t.implies = {{"stopped", "rank 3 is stopped <by a signal>"}};
  t.actions = {"tocsin stacks 4711 on n2, then restart the job"};
  t.not_known = "why rank 3 stopped: no kernel log";
  t.evidence = {{"waiting", 7}};
  t.runbook = "https://wiki.example/hang?rule=collective_hang&x=1";
  t.owner = "platform";
  return t;
}

// A warning about a whole job, with as few parts as an alert can have.
inline stream::AlertTransition slow_input(std::uint64_t id = 0xdef) {
  stream::AlertTransition t;
  t.id = id, t.number = 1;
  t.rule = "data_wait", t.family = "D1";
  t.severity = stream::Severity::warning;
  t.subject = "bert", t.attempt = "1";
  t.summary = "Data loading limits the step";
  t.since = t.at = at(30);
  return t;
}

inline stream::AlertTransition resolved(stream::AlertTransition t,
                                        stream::ResolveReason reason = stream::ResolveReason::cleared) {
  ++t.number;
  t.state = stream::AlertState::resolved, t.reason = reason;
  t.at += std::chrono::seconds{190};
  return t;
}

inline stream::Verdict failure(std::string job = "llama") {
  stream::Verdict v;
  v.subject = std::move(job), v.attempt = "7", v.ended = at(300), v.end_reason = "failed";
  v.family = "C2", v.family_words = "collective hang";
  v.labels = {{"partition", "prod"}};
  v.shows = {"collective_hang: rank 3 on n2 did not enter AllReduce 4711"};
  v.families = {{"A1", stream::Standing::out, {"oom"}, {}, "CUDA out of memory"},
                {"E1", stream::Standing::undecidable, {"xid"}, {"kernel_log"}, "GPU error"}};
  return v;
}

inline adapters::notify::Receiver receiver(const std::string& to) {
  adapters::notify::Receiver one;
  one.to = to;
  auto completed = adapters::notify::complete(one, "smtps://tocsin%40site.example@mail.example/?password_file=/etc/p");
  return completed ? *completed : one;
}

}  // namespace tocsin::test
