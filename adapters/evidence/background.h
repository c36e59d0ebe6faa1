#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "adapters/journal/directory.h"

namespace tocsin::adapters::evidence {

// Work that may block, in a process of its own, whose answer comes through a pipe; it ends with its caller. Owned by
// the caller; one piece of work at a time. For a thread that has no others beside it, since it forks.
class Background {
 public:
  using Work = std::function<void(int out)>;  // in the forked process; writes its answer and returns

  Background() = default;
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void start(const char* name, const Work& work, std::chrono::milliseconds limit);
  [[nodiscard]] bool running() const noexcept { return static_cast<bool>(answer_); }
  [[nodiscard]] int descriptor() const noexcept { return answer_.get(); }  // readable: call poll(); -1: not running
  // Reads on; what was written once the work has ended. Also to be called now and then (once a second) while nothing is
  // readable: work that has not ended at its limit is killed.
  [[nodiscard]] std::optional<std::string> poll();
  void stop();

 private:
  pid_t pid_ = -1;
  journal::File answer_;
  std::string bytes_;
  std::chrono::steady_clock::time_point until_{};
};

// A piece of such work among several.
struct Piece {
  Background::Work work;
  std::chrono::milliseconds limit;
};
// Runs them in processes of their own, so many at once, and reports what each wrote; one that is late is killed, with
// what it started. Blocks: for a process of Background.
void run_pieces(std::span<const Piece> pieces, std::size_t at_once,
                const std::function<void(std::size_t piece, std::string bytes, bool late)>& done);

void write_all_of(int descriptor, std::string_view bytes);

}  // namespace tocsin::adapters::evidence
