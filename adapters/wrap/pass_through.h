#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/wrap/child.h"
#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/feed.h"
#include "adapters/wrap/outlet.h"
#include "adapters/wrap/run_clock.h"
#include "adapters/wrap/run_state.h"
#include "adapters/wrap/signals.h"
#include "adapters/wrap/supervisor.h"
#include "adapters/wrap/terminal.h"

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

// The parent's work while the command runs: passes its bytes to our stdout and stderr and to the recorder's feeds, our
// keys and signals to it, and waits for it. Needs neither the recorder nor the engine, and restarts them when they end.
// Output that comes faster than it is recorded is read at the recorder's pace; a recorder that takes nothing for two
// seconds is no longer waited for. Runs in the parent, owned by wrap().
class PassThrough {
 public:
  struct Parts {
    RunClock clock;
    Signals& signals;
    Terminal& terminal;
    Notes& notes;
    Feed& out;
    Feed& err;
    Supervisor& recorder;
    Supervisor& engine;
    RunState& state;
    int control;   // of the recorder: each change of the state is sent there
    bool reloads;  // SIGHUP asks for new rules
  };
  explicit PassThrough(const Parts& parts);

  void run(Child& child);  // until the command has ended and its last output is out
  // The recorder's and then the engine's end, each within its time; a signal that asks to end cuts both short.
  void settle(std::chrono::milliseconds recorder_wait, std::chrono::milliseconds engine_wait,
              const std::function<void()>& engine_may_end);
  void say(std::string_view line);

 private:
  struct Stream {
    int source = -1;  // of the command; -1: none, or at its end
    Outlet* outlet = nullptr;
    Feed* feed = nullptr;
    Descriptor* owner = nullptr;  // of the source; null: the pseudo-terminal, which is not closed here
    std::uint64_t taken = 0;      // by the recorder, when it was last looked at
    stream::Time taken_at = stream::long_ago;
  };

  // One turn: waits until something happens, at most until `due`, and does it.
  void turn(Child* child, stream::Time due);
  // Whether it is to be read now; if it waits for the recorder, `due` is at most the end of that.
  [[nodiscard]] bool readable(Stream& stream, stream::Time& due) const;
  void take(Stream& stream);
  void keys(const Child& child);
  void signal(const Signals::Signal& signal, const Child* child);
  void ask_to_end();
  void hang_up(const Child* child);
  void reap(Child* child);
  void changed(int status, Child& child);
  void send_state();
  [[nodiscard]] Outlet& screen();
  [[nodiscard]] bool drained() const;
  void leave_the_rest(Child& child);

  Parts parts_;
  Outlet our_out_, our_err_, keys_;
  Stream first_, second_;  // stdout or the pseudo-terminal; stderr
  bool ended_ = false, keys_open_ = false, interrupted_ = false;
  stream::Time drain_until_ = stream::never, reported_at_ = stream::long_ago;
  std::vector<char> buffer_;
};

}  // namespace tocsin::adapters::wrap
