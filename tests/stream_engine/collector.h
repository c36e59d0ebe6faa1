#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stream/rules/alert.h"

namespace tocsin::tests {

// What a shard reports, a line each: what was reported before a restart is not taken again.
class Collector final : public stream::AlertSink {
 public:
  void transition(const stream::AlertTransition& t) override {
    transitions.push_back(t);
    const std::string key = std::to_string(t.id) + " " + std::to_string(t.number);
    add(key, key + " " + t.subject + "/" + t.attempt + " " + t.rule + " " + std::string{stream::name(t.state)} + " " +
                 std::string{stream::name(t.reason)} + " " + std::to_string(stream::nanoseconds(t.at)) + " " + t.shows);
  }
  void verdict(const stream::Verdict& v) override {
    verdicts.push_back(v);
    const std::string key = "verdict " + v.subject + "/" + v.attempt;
    add(key, key + " " + v.family + " ended " + std::to_string(stream::nanoseconds(v.ended)) + " " + v.end_reason);
  }
  // A line of a history: its first two words name what it is about.
  void known(std::string line) {
    seen_.insert(line.substr(0, line.find(' ', line.find(' ') + 1)));
    reported.push_back(std::move(line));
  }
  std::vector<std::string> reported;
  std::vector<stream::AlertTransition> transitions;  // repeats too
  std::vector<stream::Verdict> verdicts;
  std::function<void(const std::string&)> written;  // called with each new line

 private:
  void add(const std::string& key, std::string line) {
    if (!seen_.insert(key).second) return;
    if (written) written(line);
    reported.push_back(std::move(line));
  }
  std::set<std::string> seen_;
};

}  // namespace tocsin::tests
