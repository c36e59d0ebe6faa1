#pragma once

#include <string>
#include <string_view>

#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/outlet.h"

namespace tocsin::adapters::wrap {

// Messages of tocsin itself: the stderr of the recorder and the engine is a pipe to the parent, which prints whole
// lines on ours, each on a line of its own, with \r\n while the terminal is raw. None of it is recorded. Owned by the
// parent.
class Notes {
 public:
  Notes() : pipe_(make_pipe()) { make_nonblocking(pipe_.read.get()); }

  [[nodiscard]] int reader() const noexcept { return pipe_.read.get(); }
  [[nodiscard]] int writer() const noexcept { return pipe_.write.get(); }

  // `out`: the destination of stderr; `screen`: the output that may have left the cursor in the middle of a line.
  void pass(Outlet& out, const Outlet& screen, bool raw);
  void say(std::string_view line, Outlet& out, const Outlet& screen, bool raw);  // a note of the parent's own
  void finish(Outlet& out, const Outlet& screen, bool raw);  // the last of it, with or without a newline

 private:
  void print(Outlet& out, const Outlet& screen, bool raw, bool all);

  Pipe pipe_;
  std::string held_;
};

}  // namespace tocsin::adapters::wrap
