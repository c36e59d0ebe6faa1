#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scratch.h"

namespace tocsin::test {

// A process of the player (player.cpp), which plays NCCL to our plugin.
class Player {
 public:
  // `environment` are settings such as "TOCSIN_NCCL_DIR=/tmp".
  Player(int version, const std::vector<std::string>& environment);
  ~Player();  // ends it
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Plays lines; the answer to the last of them.
  std::string play(std::string_view lines);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void kill();  // at once, as a crash would

 private:
  std::string line();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string read_;
};

}  // namespace tocsin::test
