#include "adapters/service/push_role.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "adapters/journal/directory.h"
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
  if (rights_ == nullptr) return request.read();
  const auto now = std::chrono::steady_clock::now();
  if (auto admitted = rights_->admit(request.sender, now); !admitted) return admitted.error();
  auto pushed = request.read();
  if (!pushed) return pushed;
  std::vector<SenderRights::Part> parts;
  std::size_t bytes = 0;
  for (const formats::PushedEntry& entry : pushed->entries) {
    if (!entry.job.empty()) parts.push_back({entry.job, entry.users});
    bytes += entry.message.size();
  }
  if (auto right = rights_->take(request.sender, parts, bytes, now); !right) return right.error();
  if (rights_->limited(request.sender))
    if (auto right = check_sources(*pushed, request.sender); !right) return right.error();
  return pushed;
}

// A sender that may write only some jobs uses sources of its own: those of journals, which nobody else has used.
// Watermarks of others, and of its own that were forgotten, are left out: the next ones follow within seconds.
Result<void> PushRole::check_sources(formats::Pushed& pushed, const std::string& sender) {
  std::set<std::string_view> own;
  for (const formats::PushedEntry& entry : pushed.entries) {
    if (entry.source.empty()) continue;
    const Source* known = source_of(entry.source, nullptr);
    if (!entry.source.starts_with(journal::source_prefix) || (known != nullptr && known->sender != sender))
      return Error{Errc::refused,
                   "the sender " + sender + " may send records of its own journals alone, and not of " + entry.source};
    own.insert(entry.source);
  }
  const auto foreign = [&](const formats::PushedWatermark& one) {
    const Source* known = source_of(one.source, nullptr);
    return known == nullptr ? !own.contains(one.source) : known->sender != sender;
  };
  std::erase_if(pushed.entries,
                [&](const formats::PushedEntry& entry) { return std::ranges::any_of(entry.watermarks, foreign); });
  return {};
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
      if (appended) appended = append(entry, request->sender);
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

// With a sender it is made; else null: it is not remembered.
PushRole::Source* PushRole::source_of(const std::string& name, const std::string* sender) {
  if (const auto found = sources_.find(name); found != sources_.end()) return &found->second;
  auto older = older_.extract(name);
  if (older.empty() && sender == nullptr) return nullptr;
  if (sources_.size() >= limits_.sources / 2) older_ = std::exchange(sources_, {});
  if (!older.empty()) return &sources_.insert(std::move(older)).position->second;
  Source& made = sources_[name];
  made.sender = *sender;
  return &made;
}

Result<void> PushRole::append(const formats::PushedEntry& entry, const std::string& sender) {
  if (!entry.job.empty()) {
    const auto to = stream::partition_of(entry.job, partitions_);
    if (!entry.source.empty()) source_of(entry.source, &sender)->to.insert(to);
    if (seen_) seen_(entry.node, entry.job);
    return appender_->append(to, entry.job, entry.message);
  }
  std::set<int> to;
  for (const formats::PushedWatermark& watermark : entry.watermarks) {
    const Source* known = source_of(watermark.source, nullptr);
    if (known != nullptr) to.insert(known->to.begin(), known->to.end());
    else
      for (int partition = 0; partition < partitions_; ++partition) to.insert(partition);
  }
  for (const int partition : to)
    if (auto appended = appender_->append(partition, {}, entry.message); !appended) return appended;
  for (const formats::PushedWatermark& watermark : entry.watermarks)
    if (watermark.last) sources_.erase(watermark.source);
  return {};
}

}  // namespace tocsin::adapters::service
