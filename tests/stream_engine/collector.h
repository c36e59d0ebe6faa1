#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stream/rules/alert.h"

namespace tocsin::tests {

// What a shard tells, a line each: what was told before a restart is not told again.
class Collector final : public stream::AlertSink {
 public:
  void transition(const stream::AlertTransition& t) override {
    const std::string key = std::to_string(t.id) + " " + std::to_string(t.number);
    tell(key, key + " " + t.subject + "/" + t.attempt + " " + t.rule + " " + std::string{stream::name(t.state)} + " " +
                  std::string{stream::name(t.reason)} + " " + std::to_string(stream::nanoseconds(t.at)) + " " + t.shows);
  }
  void verdict(const stream::Verdict& v) override {
    const std::string key = "verdict " + v.subject + "/" + v.attempt;
    tell(key, key + " " + v.family);
  }
  // A line of a history: two words say what it is about.
  void known(std::string line) {
    seen_.insert(line.substr(0, line.find(' ', line.find(' ') + 1)));
    said.push_back(std::move(line));
  }
  std::vector<std::string> said;
  std::function<void(const std::string&)> written;  // called with each new line

 private:
  void tell(const std::string& key, std::string line) {
    if (!seen_.insert(key).second) return;
    if (written) written(line);
    said.push_back(std::move(line));
  }
  std::set<std::string> seen_;
};

}  // namespace tocsin::tests
