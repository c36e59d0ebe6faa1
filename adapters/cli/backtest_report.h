#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/pack.h"
#include "stream/values/time.h"

namespace tocsin::adapters::cli {

// An alert from its first sign to its end, or to that of the recording.
struct Fired {
  std::string recording, job, attempt, rule, member, who;  // who: all that it names
  stream::Severity severity{};
  stream::Mode mode{};
  stream::Time since{}, at{}, until{};
  bool resolved = false;
};

// What the rules made of all recordings.
struct Judged {
  std::vector<Fired> alerts;  // in the order in which they fired
  std::map<std::tuple<std::string, std::string, std::string>, std::string> verdicts;  // recording, job, attempt: family
  std::map<std::string, std::string> failed;                                          // rules that failed: why
  std::set<std::pair<std::string, std::string>> jobs;                                 // recording, job
  stream::Duration span{};                                                            // of all recordings
  std::size_t recordings = 0, unread = 0;
};

// What is printed of a backtest: each rule's alerts and all alerts; or, with `before`, what differs. `places`: where
// the rules are.
void print_backtest(const Judged& now, const Judged* before, const stream::Pack& pack, const std::string& places,
                    const std::string& places_before);
// The same, whole, as one JSON object.
void print_backtest_json(const Judged& now, const Judged* before);

}  // namespace tocsin::adapters::cli
