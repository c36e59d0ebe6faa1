#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/stack_taker.h"
#include "tests/scratch.h"

// Processes and tools as tests of the evidence use them.
namespace tocsin::test {

// Stands alone in PATH while it lives: there are no tools but the programs that are put there.
class OnlyTools : public Scratch {
 public:
  OnlyTools() { ::setenv("PATH", path().c_str(), 1); }
  ~OnlyTools() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH");
};

// A child that sleeps until it is ended, with an environment of its own.
class Sleeper {
 public:
  explicit Sleeper(const std::map<std::string, std::string>& environment = {}) : pid_(::fork()) {
    if (pid_ == 0) {
      std::vector<std::string> entries;
      for (const auto& [name, value] : environment) entries.push_back(name + '=' + value);
      std::vector<char*> words;
      for (std::string& entry : entries) words.push_back(entry.data());
      words.push_back(nullptr);
      char program[] = "/bin/sleep", seconds[] = "100000";
      char* arguments[] = {program, seconds, nullptr};
      ::execve(program, arguments, words.data());
      ::_exit(127);
    }
    // Until it is what it becomes.
    while (adapters::evidence::kernel_view(pid_).main_thread()->name != "sleep") ::usleep(1000);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] adapters::evidence::StackTarget as_rank(std::uint32_t rank) const {
    return {pid_, rank, adapters::evidence::start_of(pid_)};
  }

 private:
  pid_t pid_;
};

}  // namespace tocsin::test
