#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/http/rate_limit.h"
#include "adapters/http/server.h"
#include "stream/values/result.h"

namespace tocsin::adapters::service {

// What each sender may write: records of jobs whose names, and whose label `user`, the configuration allows it, and so
// much a second. Any thread.
class SenderRights {
 public:
  using Now = std::chrono::steady_clock::time_point;
  struct KnownJob {
    std::string user;  // its label; empty: none
    bool ended = false;
  };
  using Find = std::function<std::optional<KnownJob>(const std::string& job)>;
  // `find`: the jobs that the service knows.
  SenderRights(const std::vector<http::Sender>& senders, Find find);

  // Records of a job in a request.
  struct Part {
    std::string_view job;
    std::vector<std::string> users;  // that they call the job's user
  };
  // Whether the sender may write only some jobs. Empty: it has the service's own credentials.
  [[nodiscard]] bool limited(const std::string& sender) const;
  // Before a request is read. An error of code `io`: it has sent more than it may in a second.
  [[nodiscard]] stream::Result<void> admit(const std::string& sender, Now now);
  // Whether the sender may write all the parts of a request, which has so many bytes. The error, of code `refused`,
  // names the first that it may not write.
  [[nodiscard]] stream::Result<void> take(const std::string& sender, std::span<const Part> parts, std::size_t bytes,
                                          Now now);

 private:
  struct Limits {
    std::vector<std::string> jobs, users;
    http::RateLimit bytes;
  };
  [[nodiscard]] stream::Result<void> check(const std::string& sender, const Limits& limits, const Part& part) const;
  [[nodiscard]] std::optional<KnownJob> known(const std::string& job) const;
  void forget(Now now);  // what was stated more than a minute ago

  const Find find_;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, Limits> senders_;
  // Users of jobs that the service may not know yet: what starts say, until a minute later. Of the last and the current
  // minute.
  std::map<std::string, std::string, std::less<>> stated_, stated_before_;
  Now next_minute_{};
};

}  // namespace tocsin::adapters::service
