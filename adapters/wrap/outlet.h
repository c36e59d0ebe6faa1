#pragma once

#include <string>
#include <string_view>

namespace tocsin::adapters::wrap {

// Our stdout, stderr or pseudo-terminal as a place to write to without ever waiting in write(): what it does not take now is held,
// and whoever feeds it stops reading until it is gone. The descriptor's flags are not ours to change (others share them): we ask
// poll() first, and give a pipe no more than it is bound to take. Owned by the parent.
class Outlet {
 public:
  Outlet() = default;
  explicit Outlet(int descriptor);

  void write(std::string_view bytes);
  void flush();
  [[nodiscard]] bool waiting() const noexcept { return sent_ < held_.size(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool broken() const noexcept {
    return broken_;
  }  // its reader has gone: the command is to hear of it as it would without us
  [[nodiscard]] bool hung_up() const noexcept { return hung_up_; }  // it was a terminal: what is written goes nowhere
  [[nodiscard]] bool at_line_start() const noexcept { return last_ == '\n'; }

 private:
  [[nodiscard]] std::size_t put(std::string_view bytes);

  int descriptor_ = -1;
  bool plain_file_ = false, broken_ = false, hung_up_ = false;
  char last_ = '\n';
  std::string held_;
  std::size_t sent_ = 0;
};

}  // namespace tocsin::adapters::wrap
