#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "adapters/kafka/appender.h"
#include "stream/values/result.h"

namespace tocsin::adapters::service {

// One beat a second into each partition that this instance has, caught up or not. While the brokers do not answer none
// are added to those that wait: what they would say late is nothing. Owned by the service; touched by its main thread
// alone.
class Beats {
 public:
  explicit Beats(kafka::Appender& appender);
  stream::Result<void> beat(std::span<const int> partitions, std::chrono::steady_clock::time_point now);

 private:
  kafka::Appender* appender_;
  std::vector<std::byte> message_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace tocsin::adapters::service
