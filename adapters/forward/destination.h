#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stream/values/record.h"
#include "stream/values/result.h"

namespace tocsin::adapters::forward {

// A log that a journal's messages are sent to. Owned by who forwards the journal; belongs to its thread.
class Destination {
 public:
  virtual ~Destination() = default;
  // The name under which the progress of a journal is remembered. Without blanks.
  [[nodiscard]] virtual std::string name() const = 0;
  // Before the first message, and again until it succeeds: whether messages can be sent. The error is for a person; one
  // of code `refused` is for good.
  [[nodiscard]] virtual stream::Result<void> reach() = 0;
  // A message of the job that `entry` is about. It waits until it is flushed, or is on its way already. An error where
  // it can never be sent.
  virtual stream::Result<void> append(const stream::Entry& entry, std::span<const std::byte> message) = 0;
  // A control record, for every place where messages of this journal went.
  virtual stream::Result<void> control(std::span<const std::byte> message) = 0;
  // Nothing follows: behind the journal's seal.
  virtual stream::Result<void> leave() { return {}; }
  // Messages that are not in the log yet.
  [[nodiscard]] virtual std::size_t waiting() const = 0;
  // Waits about so long until all are. False: not all are.
  virtual stream::Result<bool> flush(std::chrono::milliseconds wait) = 0;
  // Why messages wait, for a person; empty: for no reason that is worth a line.
  [[nodiscard]] virtual std::string problem() const { return {}; }
};

}  // namespace tocsin::adapters::forward
