#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/notify/queue.h"

namespace tocsin::adapters::notify {

// How an attempt to send a message ended.
struct Outcome {
  enum class Result : std::uint8_t { sent, failed, refused };  // refused: it will never be taken
  Result result = Result::sent;
  std::string reason;                               // of a failure, with the remedy where there is one
  std::optional<std::chrono::seconds> retry_after;  // asked for by the server
};

// Sends messages by libcurl and by commands, one at a time for each receiver and all of them side by side. Touched by
// one thread; wake() may be called by any.
class Sender {
 public:
  explicit Sender(std::chrono::milliseconds timeout = std::chrono::seconds{30});
  ~Sender();  // gives up what is on its way
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void start(Outgoing message);
  [[nodiscard]] bool busy(const std::string& receiver) const;
  [[nodiscard]] bool idle() const;
  // Works until something has ended or wake() is called, at most so long. What ended, by receiver.
  [[nodiscard]] std::vector<std::pair<std::string, Outcome>> work(std::chrono::milliseconds at_most);
  void wake() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::notify
