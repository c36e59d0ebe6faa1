#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "adapters/wrap/descriptor.h"

namespace tocsin::adapters::wrap {

// One stream's way to the recorder: a pipe that the parent keeps open at both ends, so that it outlives a recorder, and
// a bounded queue before it. Never blocks: bytes that find both full are dropped and counted, and a newline replaces
// them, so that the parts around them are not read as one line. Owned by the parent; the recorder gets the reading end
// with the fork.
class Feed {
 public:
  static constexpr std::size_t pipe_bytes = 1u << 20;
  static constexpr std::size_t queue_bytes = 4u << 20;

  Feed();

  void offer(std::string_view bytes);
  void flush();         // the pipe can have capacity again
  void close_writer();  // nothing follows; what is queued must be flushed before
  [[nodiscard]] bool pending() const noexcept { return sent_ < queue_.size(); }
  [[nodiscard]] bool half_full() const noexcept { return queue_.size() - sent_ >= queue_bytes / 2; }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }  // bytes that went into the pipe
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  [[nodiscard]] int reader() const noexcept { return pipe_.read.get(); }
  [[nodiscard]] int writer() const noexcept { return pipe_.write.get(); }

 private:
  Pipe pipe_;
  std::string queue_;
  std::size_t sent_ = 0;  // of the queue
  std::uint64_t taken_ = 0;
  std::uint64_t dropped_ = 0;
  bool gap_ = false;  // bytes were dropped since the last that was taken
};

}  // namespace tocsin::adapters::wrap
