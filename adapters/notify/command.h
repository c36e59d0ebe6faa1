#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "adapters/journal/directory.h"
#include "stream/values/result.h"

namespace tocsin::adapters::notify {

// A program that is given a text on its standard input. What it prints is kept, to be shown if it fails. Never waited
// for: `descriptor()` becomes readable when it has ended. Ends, with what it started, when this does.
class Command {
 public:
  [[nodiscard]] static stream::Result<Command> start(const std::vector<std::string>& command, const std::string& input);
  Command(Command&& other) noexcept;
  Command& operator=(Command&&) = delete;
  ~Command();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  // nullopt: it runs; empty: it succeeded; else why it did not.
  [[nodiscard]] std::optional<std::string> ended();

 private:
  Command() = default;
  std::string name_;
  pid_t pid_ = -1;
  journal::File descriptor_, output_;
};

}  // namespace tocsin::adapters::notify
