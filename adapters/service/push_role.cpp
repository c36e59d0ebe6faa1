#include "adapters/service/push_role.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stream/job/murmur2.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 10s;
constexpr std::size_t most_at_once = 32u << 20;  // bytes of messages

const Error ending{Errc::io, "this instance is stopping: push to another one"};
const Error too_many{Errc::io, "too many pushes wait for the log: push again later"};
const Error not_taken{Errc::io, "the log takes nothing: push again later"};
const Error not_known{Errc::io,
                      "the log has not taken it within 10 s and may do so yet: push it again with the same "
                      "producer and sequence, and it counts once"};

}  // namespace

PushLimits push_limits(std::size_t connections, std::size_t body_size) {
  PushLimits limits;
  limits.requests = std::max<std::size_t>(connections / 2, 1);
  limits.bytes = std::max(limits.bytes, body_size);
  return limits;
}

PushRole::PushRole(OpenAppender open, PushLimits limits, SenderRights* rights)
    : open_(std::move(open)), limits_(limits), rights_(rights), thread_([this] { run(); }) {}
PushRole::~PushRole() { stop(); }

void PushRole::push(const Query& query, std::string text, std::string sender, Done done) {
  auto settings =
      formats::push_settings(query, std::chrono::time_point_cast<stream::Duration>(std::chrono::system_clock::now()));
  if (!settings) return done(settings.error());
  const std::size_t bytes = text.size();
  take(bytes, {[settings = std::move(*settings), text = std::move(text)] { return formats::read_push(text, settings); },
               std::move(sender), std::move(done)});
}

void PushRole::push_telemetry(std::string body, std::string encoding, std::string sender, Done done) {
  const std::size_t bytes = body.size();
  take(bytes,
       {[this, body = std::move(body), encoding = std::move(encoding)] { return telemetry_.read(body, encoding); },
        std::move(sender), std::move(done)});
}

void PushRole::take(std::size_t bytes, Request request) {
  const Error* refusal = nullptr;
  {
    const std::lock_guard lock{mutex_};
    if (stopped_) refusal = &ending;
    else if (unanswered_ >= limits_.requests || unanswered_bytes_ + bytes > limits_.bytes) refusal = &too_many;
    else {
      ++unanswered_;
      unanswered_bytes_ += bytes;
      waiting_.push_back({std::move(request.read), std::move(request.sender),
                          [this, bytes, done = std::move(request.done)](const Result<PushCounts>& pushed) {
                            answered(bytes);
                            done(pushed);
                          }});
      asked_.notify_one();
    }
  }
  if (refusal != nullptr) request.done(*refusal);
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
    Requests requests;
    {
      std::unique_lock lock{mutex_};
      asked_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      requests = std::exchange(waiting_, {});
    }
    if (requests.empty()) return;
    handle(requests);
  }
}

Result<formats::Pushed> PushRole::read_allowed(const Request& request) {
  auto pushed = request.read();
  if (!pushed || rights_ == nullptr) return pushed;
  std::vector<SenderRights::Part> parts;
  for (const formats::PushedEntry& entry : pushed->entries) parts.push_back({entry.job, entry.source, entry.users});
  if (auto right = rights_->take(request.sender, parts, std::chrono::steady_clock::now()); !right) return right.error();
  return pushed;
}

void PushRole::handle(std::span<const Request> requests) {
  while (!requests.empty()) requests = handle_some(requests);
}

// The log is waited for once, for all that were posted meanwhile, as far as their records fit in memory. Returns the
// requests that are left.
std::span<const PushRole::Request> PushRole::handle_some(std::span<const Request> requests) {
  std::vector<std::pair<const Request*, formats::Pushed>> read;
  for (std::size_t bytes = 0; !requests.empty() && bytes < most_at_once; requests = requests.subspan(1)) {
    const Request& request = requests.front();
    auto pushed = read_allowed(request);
    if (!pushed) {
      request.done(pushed.error());
      continue;
    }
    for (const formats::PushedEntry& entry : pushed->entries) bytes += entry.message.size();
    read.emplace_back(&request, std::move(*pushed));
  }
  if (read.empty()) return requests;
  const auto opened = open();
  std::vector<std::pair<const Request*, PushCounts>> written;
  for (const auto& [request, pushed] : read) {
    auto appended = opened;
    for (const formats::PushedEntry& entry : pushed.entries)
      if (appended) appended = append(entry);
    if (appended) written.emplace_back(request, PushCounts{pushed.records, pushed.jobs});
    else request->done(appended.error());
  }
  if (written.empty()) return requests;
  const auto flushed = appender_->flush(patience);
  if (!flushed) appender_.reset();  // it may be of no more use; the next push opens another
  for (const auto& [request, counts] : written) {
    if (!flushed) request->done(flushed.error());
    else if (!*flushed) request->done(not_known);
    else request->done(counts);
  }
  return requests;
}

Result<void> PushRole::open() {
  if (!appender_) {
    auto appender = open_();
    if (!appender) return appender.error();
    const auto partitions = (*appender)->partitions(patience);
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

// Null: it is not remembered, and not to be made.
std::set<int>* PushRole::partitions_of(const std::string& source, bool make) {
  if (const auto found = sources_.find(source); found != sources_.end()) return &found->second;
  auto older = older_.extract(source);
  if (older.empty() && !make) return nullptr;
  if (sources_.size() >= limits_.sources / 2) older_ = std::exchange(sources_, {});
  return older.empty() ? &sources_[source] : &sources_.insert(std::move(older)).position->second;
}

Result<void> PushRole::append(const formats::PushedEntry& entry) {
  if (!entry.job.empty()) {
    const auto to = stream::partition_of(entry.job, partitions_);
    if (!entry.source.empty()) partitions_of(entry.source, true)->insert(to);
    if (seen_) seen_(entry.node, entry.job);
    return appender_->append(to, entry.job, entry.message);
  }
  std::set<int> everywhere;
  for (int partition = 0; partition < partitions_; ++partition) everywhere.insert(everywhere.end(), partition);
  const std::set<int>* known = partitions_of(entry.source, false);
  for (const int partition : known != nullptr ? *known : everywhere)
    if (auto appended = appender_->append(partition, {}, entry.message); !appended) return appended;
  if (entry.last) sources_.erase(entry.source);
  return {};
}

}  // namespace tocsin::adapters::service
