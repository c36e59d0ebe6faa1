#pragma once

#include <termios.h>

#include "adapters/wrap/descriptor.h"

namespace tocsin::adapters::wrap {

// Our terminal, and the pseudo-terminal that stands for it before the command. What of ours is a terminal is one for
// the command too. Where our input is one, ours is raw meanwhile: keys, Ctrl-C among them, go through as bytes, and the
// pseudo-terminal makes of them what the command asked for. Owned by the parent; restores the terminal when it goes.
class Terminal {
 public:
  Terminal();  // looks at descriptors 0, 1 and 2
  ~Terminal() { restore(); }
  Terminal(const Terminal&) = delete;

  [[nodiscard]] bool used() const noexcept { return static_cast<bool>(master_); }  // there is a pseudo-terminal
  [[nodiscard]] bool interactive() const noexcept { return used() && input_; }     // and our keys go to it
  [[nodiscard]] bool output() const noexcept { return used() && output_; }         // it is the command's stdout
  [[nodiscard]] bool errors() const noexcept { return used() && errors_; }         // and stderr
  [[nodiscard]] int master() const noexcept { return master_.get(); }
  [[nodiscard]] int slave() const noexcept { return slave_.get(); }
  void close_slave() { slave_.close(); }

  void make_raw();  // ours, if keys go through and we are in the foreground
  void restore();
  [[nodiscard]] bool raw() const noexcept { return raw_; }
  [[nodiscard]] char interrupt() const noexcept {
    return static_cast<char>(before_.c_cc[VINTR]);
  }                                 // the key: Ctrl-C, as a rule
  void copy_size() const;           // of ours to the pseudo-terminal; the kernel notifies the command
  [[nodiscard]] bool gone() const;  // we had one, and it hung up
  void become_controlling() const;  // in the command: a session of its own with the pseudo-terminal

 private:
  int ours_ = -1;  // a descriptor of our terminal; -1: none
  bool input_ = false, output_ = false, errors_ = false, raw_ = false;
  termios before_{};
  Descriptor master_, slave_;
};

}  // namespace tocsin::adapters::wrap
