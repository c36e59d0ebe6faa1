#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::wrap {

// Loading and checking rules takes a while and may go wrong in any way: it is done in a process of its own, whose
// answer comes through a pipe, so that lines and beats go on meanwhile. Owned by the Recorder; one at a time.
class Reload {
 public:
  using Load = std::function<stream::Result<PackRecord>()>;
  ~Reload();

  void start(const Load& load);
  [[nodiscard]] bool running() const noexcept { return static_cast<bool>(answer_); }
  [[nodiscard]] int descriptor() const noexcept { return answer_.get(); }
  // Reads on; the answer once it is whole.
  [[nodiscard]] std::optional<stream::Result<PackRecord>> poll();

 private:
  pid_t pid_ = -1;
  Descriptor answer_;
  std::string bytes_;
};

}  // namespace tocsin::adapters::wrap
