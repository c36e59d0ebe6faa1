#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// The last lines of each job's log, for the message about its end. Any thread may call it.
class LastLines {
 public:
  static constexpr std::size_t most = 20, longest = 300, most_jobs = 4096;

  void read(const stream::Entry& entry);
  // In the order in which they came, secrets masked. The job's lines are forgotten.
  [[nodiscard]] std::vector<std::string> take(const std::string& job);

 private:
  std::mutex mutex_;
  std::map<std::string, std::deque<std::string>, std::less<>> jobs_;
};

// A log whose lines are remembered on the way to the shard.
class RememberingLog final : public stream::LogReader {
 public:
  RememberingLog(stream::LogReader& log, LastLines* lines)
      : log_(&log), lines_(lines) {}  // null: nothing is remembered
  stream::Result<const stream::Entry*> next() override {
    auto entry = log_->next();
    if (lines_ != nullptr && entry && *entry != nullptr) lines_->read(**entry);
    return entry;
  }
  stream::Result<void> seek(stream::Position position) override { return log_->seek(position); }
  stream::Result<stream::Position> oldest() override { return log_->oldest(); }

 private:
  stream::LogReader* log_;
  LastLines* lines_;
};

}  // namespace tocsin::adapters::runtime
