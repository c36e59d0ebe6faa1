#pragma once

#include <map>
#include <string>
#include <utility>

#include "dsl/lua/host.h"

namespace tocsin::dsl {

// Declarations, word "name" { … }, whose name is read and whose table is not. One that still waits at the end is a
// mistake.
class UnfinishedDeclarations {
 public:
  void begin(const std::string& word, const std::string& name, Host::Place at) {
    waiting_[{word, name}] = std::move(at);
  }
  void end(const std::string& word, const std::string& name) { waiting_.erase({word, name}); }

  // Calls report(place, message) for each that waits.
  template <class Report>
  void report_to(Report report) const {
    for (const auto& [declared, at] : waiting_) {
      const std::string title = declared.first + " \"" + declared.second + "\"";
      report(at, title + " has no table: write " + title + " { … }");
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, Host::Place> waiting_;
};

}  // namespace tocsin::dsl
