#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "adapters/formats/push.h"
#include "adapters/formats/telemetry.h"
#include "adapters/service/backend.h"
#include "adapters/service/sender_rights.h"
#include "stream/values/result.h"

namespace tocsin::adapters::service {

struct PushCounts {
  std::size_t records = 0, jobs = 0;
};

// Of the pushes that are not answered yet.
struct PushLimits {
  std::size_t requests = 128, bytes = 32u << 20;  // of their texts
  std::size_t sources = 100'000;                  // that are remembered, answered or not
};
// Half of the server's connections are left to probes and readers; a body of any size that it takes fits.
[[nodiscard]] PushLimits push_limits(std::size_t connections, std::size_t body_size);

// The role `push`: what is posted to the HTTP server becomes records of the log, keyed by job. A push is answered once
// all its records are durable; nothing of a push with a wrong line is written. Owned by the
// service's command; any thread may push. It reads, writes and answers by a thread of its own.
class PushRole {
 public:
  using Query = std::map<std::string, std::string>;
  using Done = std::function<void(const stream::Result<PushCounts>&)>;
  // `rights`: what senders may write; null: everything.
  explicit PushRole(OpenAppender open, PushLimits limits = {}, SenderRights* rights = nullptr);
  ~PushRole();  // as stop()

  // Before the first push: called with the node and the job of each message, by the role's thread.
  void tells_places(std::function<void(std::string_view node, std::string_view job)> seen) { seen_ = std::move(seen); }
  // JSON lines, or messages as formats/telemetry.h has them. `sender`: of SenderRights.
  void push(const Query& query, std::string text, std::string sender, Done done);
  void push_telemetry(std::string body, std::string encoding, std::string sender, Done done);
  void stop();  // whoever waits is answered; from now on everybody is refused

 private:
  struct Request {
    std::function<stream::Result<formats::Pushed>()> read;
    std::string sender;
    Done done;
  };
  using Requests = std::vector<Request>;
  struct Source {
    std::set<int> to;    // partitions
    std::string sender;  // of its first record
  };
  void take(std::size_t bytes, Request request);
  void answered(std::size_t bytes);
  void run();
  [[nodiscard]] stream::Result<formats::Pushed> read_allowed(const Request& request);
  void handle(std::span<const Request> requests);
  std::span<const Request> handle_some(std::span<const Request> requests);
  stream::Result<void> open();
  stream::Result<void> append(const formats::PushedEntry& entry, const std::string& sender);
  [[nodiscard]] stream::Result<void> check_sources(formats::Pushed& pushed, const std::string& sender);
  Source* source_of(const std::string& name, const std::string* sender);

  const OpenAppender open_;
  std::function<void(std::string_view node, std::string_view job)> seen_;
  const PushLimits limits_;
  SenderRights* const rights_;
  formats::TelemetryReader telemetry_;
  std::unique_ptr<Appender> appender_;  // from the first push on; another one after an error
  int partitions_ = 0;                  // of the log
  // Where records of each source went, and whose they are: its watermarks follow them. Those of a source that is not
  // here go everywhere. Once half of the limit is in `sources_` they become `older_`, and those that were there are
  // forgotten.
  std::map<std::string, Source> sources_, older_;
  std::mutex mutex_;  // of what follows
  std::condition_variable asked_;
  Requests waiting_;
  std::size_t unanswered_ = 0, unanswered_bytes_ = 0;  // those that wait, and those in hand
  bool stopped_ = false;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace tocsin::adapters::service
