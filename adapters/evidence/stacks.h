#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/formats/json.h"

namespace tocsin::adapters::evidence {

// A function that a thread is in. Values of variables are never read.
struct Frame {
  std::string function, file;  // file: empty where the way of taking it shows none
  std::uint32_t line = 0;      // 0: not known
  bool native = false;         // of compiled code; otherwise Python
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct ThreadStack {
  pid_t tid = 0;  // 0: not known
  std::string name;
  bool main = false;
  bool idle = false;        // it waits for something
  bool interprets = false;  // it holds the lock of the Python interpreter
  char state = 0;           // of the kernel: R, S, D, T …; 0: not known
  std::string call{},
      waits{};  // the system call it is in, and the kernel's function that it sleeps in; empty: not known
  std::vector<Frame> frames{};  // innermost first
  friend bool operator==(const ThreadStack&, const ThreadStack&) = default;
};

// How stacks are taken, the best first.
enum class Way : std::uint8_t { none, kernel, gdb, faulthandler, py_spy };

// What one process was doing at a moment. Owned by whom it is handed to.
struct ProcessStack {
  pid_t pid = 0;
  std::optional<std::uint32_t> rank{};
  Way way = Way::none;
  std::vector<ThreadStack> threads{};  // the main thread first
  std::string error{};                 // why there is not more, with the remedy; empty: nothing is missing
  friend bool operator==(const ProcessStack&, const ProcessStack&) = default;

  [[nodiscard]] const ThreadStack* main_thread() const noexcept;
};

[[nodiscard]] std::string_view name_of(Way way) noexcept;

[[nodiscard]] formats::Json to_json(const ProcessStack& stack);
// Of the same form. Nothing where it is another.
[[nodiscard]] std::optional<ProcessStack> stack_from_json(std::string_view text);
// For a person: a heading and the frames of each thread, a line each; printable.
[[nodiscard]] std::string text_of(const ProcessStack& stack);

}  // namespace tocsin::adapters::evidence
