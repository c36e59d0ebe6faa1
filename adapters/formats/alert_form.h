#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stream/rules/alert.h"

namespace tocsin::adapters::formats {

// An alert as a person reads it, the same on the terminal, in JSON and in notifications. A part without a text is
// empty.
struct AlertForm {
  std::string what;       // in plain words, with the family's code and words
  std::string who;        // ranks, nodes, GPUs and processes; the job
  std::string since;      // date, time and zone of the first sign; how much later it was reported
  std::string seen;       // the numbers
  std::string likely;     // what the data says of the cause
  std::string action;     // a command or a decision
  std::string not_known;  // what would change the answer
  std::string more;       // runbook and owner; the command that shows every value, which needs a recording

  // The parts under their titles, in the order of reading; only those that have a text.
  [[nodiscard]] std::vector<std::pair<const char*, std::string>> parts() const;
};

// `recording`: the journal that `tocsin explain` reads, as it is typed; empty: there is none.
[[nodiscard]] AlertForm alert_form(const stream::AlertTransition& transition, const std::string& recording = "");

[[nodiscard]] std::string time_text(stream::Time time);   // 2026-11-22 03:12:05 UTC
[[nodiscard]] std::string typed_time(stream::Time time);  // 2026-11-22T03:12:05Z, with a fraction where there is one
[[nodiscard]] std::string duration_text(stream::Duration duration);  // 4 min 12 s
// "rank 3 on n1, GPU 0, pid 4711".
[[nodiscard]] std::string member_text(const stream::NamedMember& member);
// Whom an alert names: "rank 3; rank 5", up to eight of them; "the job" if it names nobody.
[[nodiscard]] std::string members_text(const stream::AlertTransition& transition);

}  // namespace tocsin::adapters::formats
