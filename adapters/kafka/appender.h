#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka {

// Appends records to topics, each once and in order, outside of any transaction: they can be read at once.
// Owned by the process; any thread may append.
class Appender {
 public:
  static stream::Result<std::unique_ptr<Appender>> open(const Address& address);
  ~Appender();

  // Queued when it returns; sent, and sent again, by librdkafka's threads. An error where it can never be sent, or too
  // much waits.
  stream::Result<void> append(std::string_view topic, int partition, std::string_view key,
                              std::span<const std::byte> value);
  // Waits until all that was appended is on the brokers. False: not within `wait`.
  stream::Result<bool> flush(std::chrono::milliseconds wait);
  [[nodiscard]] std::size_t waiting() const noexcept;  // records
  [[nodiscard]] stream::Result<int> partitions(std::string_view topic, std::chrono::milliseconds wait) const;

 private:
  struct State;
  explicit Appender(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::kafka
