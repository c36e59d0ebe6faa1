#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tocsin::adapters::notify {

struct ReceiverStatus {
  std::string name;
  std::map<std::string, std::uint64_t> results;  // of attempts and messages: sent, failed, refused, dropped
  std::size_t waiting = 0;                       // messages, and alerts that wait for their group or the limit
  bool backs_off = false;
  std::string last_error;  // empty after a success
};
struct NotifierStatus {
  std::vector<ReceiverStatus> receivers;
  std::uint64_t bytes = 0;    // of messages on disk
  std::uint64_t dropped = 0;  // reports that came faster than they could be taken
};

}  // namespace tocsin::adapters::notify
