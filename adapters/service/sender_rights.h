#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/http/server.h"
#include "stream/values/result.h"

namespace tocsin::adapters::service {

// What each sender may write: records of the jobs and users that the configuration names for it, and none of a job
// that another sender writes of. A job belongs to the first such sender that writes of it, until an hour after its last
// record or a restart of the service. A sender without limits may write of every job, and no job becomes its own.
// Any thread.
class SenderRights {
 public:
  using Now = std::chrono::steady_clock::time_point;
  explicit SenderRights(const std::vector<http::Sender>& senders);

  // A part of what is sent.
  struct Part {
    std::string_view job;            // empty: a watermark
    std::string_view source;         // that its records, or the watermark, are of; empty: none
    std::vector<std::string> users;  // that it calls the job's user
  };
  // Whether the sender may write all the parts; then their jobs are its own. Empty: it has the service's own
  // credentials. The error, of code `refused`, names the first part that it may not write.
  [[nodiscard]] stream::Result<void> take(const std::string& sender, std::span<const Part> parts, Now now);

 private:
  struct Limits {
    std::vector<std::string> jobs, users;
    std::size_t owns = 0;
  };
  struct Owner {
    std::string sender;
    Now last{};
  };
  using Key = std::pair<bool, std::string>;  // whether it is a source; its name
  [[nodiscard]] stream::Result<void> check(const std::string& sender, const Limits& limits, const Part& part) const;
  [[nodiscard]] stream::Result<void> is_free(const std::string& sender, const Key& key) const;
  void own(const std::string& sender, Limits& limits, Key key, Now now);
  void forget(Now now);

  std::mutex mutex_;                      // of what follows
  std::map<std::string, Limits> limits_;  // of senders that have some
  std::map<Key, Owner> owners_;
  Now next_look_{};
};

}  // namespace tocsin::adapters::service
