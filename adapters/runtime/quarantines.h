#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "stream/rules/counters.h"

namespace tocsin::adapters::runtime {

// Rules of a shard that failed and are set aside: each message once, while it happens.
class Quarantines {
 public:
  // Calls `say` with a line for each that is new.
  template <class Say>
  void look(const stream::Counters& counters, Say&& say) {
    if (counters.quarantined == seen_) return;
    seen_ = counters.quarantined;
    for (const auto& [rule, message] : counters.quarantine_messages)
      if (noted_.insert(rule + message).second)
        say("rule '" + rule +
            "' failed and is set aside, for longer each time; it decides nothing meanwhile: " + message);
  }

 private:
  std::uint64_t seen_ = 0;
  std::set<std::string> noted_;
};

}  // namespace tocsin::adapters::runtime
