#pragma once

#include <string_view>

#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// Whose code a frame is.
enum class Owner : std::uint8_t {
  program,
  package,  // installed: where a program is installed itself, this is its own code
  library,  // Python, PyTorch and what is known beside them
};
[[nodiscard]] Owner owner_of(const Frame& frame);

// What a frame of a library says of what is done: a name of doings(), empty: nothing.
struct Sign {
  std::string_view doing;
  bool weak = false;  // it holds only where no other frame of a library says what it is done for
};
[[nodiscard]] Sign sign_of(const Frame& frame);
// Whether it is a loop of a server, in which a thread waits for requests.
[[nodiscard]] bool serves(const Frame& frame);
// What the system call that a thread waits in says, where the innermost frame is the program's own.
[[nodiscard]] std::string_view doing_of_call(std::string_view call);

}  // namespace tocsin::adapters::evidence
