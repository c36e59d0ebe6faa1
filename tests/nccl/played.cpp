#include "played.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <utility>

#include "doctest/doctest.h"

extern char** environ;

namespace tocsin::test {

Player::Player(int version, const std::vector<std::string>& environment) {
  int in[2], out[2];
  REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  std::string program = NCCL_PLAYER, plugin = NCCL_PLUGIN, number = std::to_string(version);
  char* arguments[] = {program.data(), plugin.data(), number.data(), nullptr};
  std::vector<std::string> own = environment;
  std::vector<char*> variables;
  for (std::string& it : own) variables.push_back(it.data());
  variables.push_back(nullptr);
  const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]), ::close(out[1]);
  to_ = in[1], from_ = out[0];
  REQUIRE(failed == 0);
  REQUIRE(line() == "version " + number);
}
Player::~Player() {
  ::close(to_), ::close(from_);
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

std::string Player::play(std::string_view lines) {
  std::istringstream in{std::string{lines}};
  std::string all, answer;
  int count = 0;
  for (std::string one; std::getline(in, one);)
    if (one.find_first_not_of(' ') != std::string::npos) all += one + '\n', ++count;
  REQUIRE(::write(to_, all.data(), all.size()) == static_cast<ssize_t>(all.size()));
  for (; count > 0; --count) answer = line();
  return answer;
}

void Player::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

std::string Player::line() {
  for (;;) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      std::string result = read_.substr(0, end);
      read_.erase(0, end + 1);
      return result;
    }
    char buffer[512];
    const ssize_t n = ::read(from_, buffer, sizeof buffer);
    REQUIRE_MESSAGE(n > 0, "the player ended");
    read_.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace tocsin::test
