#pragma once

#include <chrono>
#include <string>

#include "adapters/kafka/address.h"
#include "adapters/kafka/group.h"

namespace tocsin::adapters::kafka {

// Finds out whether another instance has the name that the brokers no longer take from this one. They fence a member
// also where there is no other: after an outage librdkafka 2.0 may send its request to join twice, and the first is
// answered as that of an older instance. What such a member leaves in the group ends with its session; another instance
// stays. Owned by a member; belongs to the thread that polls it.
class NameContest {
 public:
  enum class Outcome { undecided, own, of_another };
  NameContest(const Address& address, const GroupOptions& options);

  // Asks the brokers once the session is over, and again each second until they answer; it takes up to three seconds
  // then.
  [[nodiscard]] Outcome look();

 private:
  Address address_;
  std::string group_, instance_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tocsin::adapters::kafka
