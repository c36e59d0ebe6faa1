#include "adapters/service/push_role.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "adapters/kafka/topic_settings.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 10s;

const Error ending{Errc::io, "this instance is stopping: push to another one"};
const Error too_many{Errc::io, "too many pushes wait for the brokers: push again later"};
const Error not_taken{Errc::io, "the brokers take nothing: push again later"};
const Error not_known{Errc::io,
                      "the brokers have not taken it within 10 s and may do so yet: push it again with the same "
                      "producer and sequence, and it counts once"};

}  // namespace

PushLimits push_limits(std::size_t connections, std::size_t body_size) {
  PushLimits limits;
  limits.requests = std::max<std::size_t>(connections / 2, 1);
  limits.bytes = std::max(limits.bytes, body_size);
  return limits;
}

PushRole::PushRole(kafka::Address address, PushLimits limits)
    : address_(std::move(address)), limits_(limits), thread_([this] { run(); }) {}
PushRole::~PushRole() { stop(); }

void PushRole::push(const Query& query, std::string text, Done done) {
  auto settings =
      formats::push_settings(query, std::chrono::time_point_cast<stream::Duration>(std::chrono::system_clock::now()));
  const Error* refusal = settings ? nullptr : &settings.error();
  if (settings) {
    const std::lock_guard lock{mutex_};
    if (stopped_) refusal = &ending;
    else if (unanswered_ >= limits_.requests || unanswered_bytes_ + text.size() > limits_.bytes) refusal = &too_many;
    else {
      const std::size_t bytes = text.size();
      ++unanswered_;
      unanswered_bytes_ += bytes;
      waiting_.push_back({std::move(*settings), std::move(text),
                          [this, bytes, done = std::move(done)](const Result<PushCounts>& pushed) {
                            answered(bytes);
                            done(pushed);
                          }});
      asked_.notify_one();
    }
  }
  if (refusal != nullptr) done(*refusal);
}

void PushRole::answered(std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  --unanswered_;
  unanswered_bytes_ -= bytes;
}

void PushRole::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    asked_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void PushRole::run() {
  for (;;) {
    std::vector<Request> requests;
    {
      std::unique_lock lock{mutex_};
      asked_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      requests = std::exchange(waiting_, {});
    }
    if (requests.empty()) return;
    handle(requests);
  }
}

// The brokers are waited for once, for all that were posted meanwhile.
void PushRole::handle(const std::vector<Request>& requests) {
  std::vector<std::pair<const Request*, formats::Pushed>> read;
  for (const Request& request : requests) {
    auto pushed = formats::read_push(request.text, request.settings);
    if (pushed) read.emplace_back(&request, std::move(*pushed));
    else request.done(pushed.error());
  }
  if (read.empty()) return;
  const auto opened = open();
  std::vector<std::pair<const Request*, PushCounts>> written;
  for (const auto& [request, pushed] : read) {
    const auto appended = opened ? append(pushed) : opened;
    if (appended) written.emplace_back(request, PushCounts{pushed.records, pushed.jobs});
    else request->done(appended.error());
  }
  if (written.empty()) return;
  const auto flushed = appender_->flush(patience);
  if (!flushed) appender_.reset();  // it may be of no more use; the next push opens another
  for (const auto& [request, counts] : written) {
    if (!flushed) request->done(flushed.error());
    else if (!*flushed) request->done(not_known);
    else request->done(counts);
  }
}

Result<void> PushRole::open() {
  if (!appender_) {
    auto appender = kafka::Appender::open(address_);
    if (!appender) return appender.error();
    const auto partitions = (*appender)->partitions(kafka::topic::telemetry, patience);
    if (!partitions) return partitions.error();
    appender_ = std::move(*appender);
    partitions_ = *partitions;
  }
  // What an earlier push left must be gone first, so that pushes which are repeated do not pile up.
  const auto flushed = appender_->flush(1s);
  if (flushed) return *flushed ? Result<void>{} : not_taken;
  appender_.reset();
  return flushed.error();
}

Result<void> PushRole::append(const formats::Pushed& pushed) {
  for (const formats::PushedEntry& entry : pushed.entries) {
    const auto to = static_cast<int>(stream::murmur2(entry.job) % static_cast<std::uint32_t>(partitions_));
    if (auto appended = appender_->append(kafka::topic::telemetry, to, entry.job, entry.message); !appended)
      return appended;
  }
  return {};
}

}  // namespace tocsin::adapters::service
