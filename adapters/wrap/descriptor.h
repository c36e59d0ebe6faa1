#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "adapters/journal/directory.h"

namespace tocsin::adapters::wrap {

using Descriptor = journal::File;

// Both ends of a pipe, closed on exec; an end is invalid where the system had none left to give.
struct Pipe {
  Descriptor read, write;
};

[[nodiscard]] inline Pipe make_pipe() noexcept {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

inline void make_nonblocking(int descriptor) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

}  // namespace tocsin::adapters::wrap
