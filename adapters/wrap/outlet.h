#pragma once

#include <string>
#include <string_view>

namespace tocsin::adapters::wrap {

// Our stdout, stderr or pseudo-terminal, written without ever blocking in write(): bytes that it does not take now are
// held, and the source is not read until they are written. The descriptor's flags are shared with other processes, so
// they stay unchanged: we call poll() first, and give a pipe no more than it certainly takes. Owned by the parent.
class Outlet {
 public:
  Outlet() = default;
  explicit Outlet(int descriptor);

  void write(std::string_view bytes);
  void flush();
  [[nodiscard]] bool pending() const noexcept { return sent_ < held_.size(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool broken() const noexcept {
    return broken_;
  }  // its reader has ended: the command learns it as it would without us
  [[nodiscard]] bool at_line_start() const noexcept { return last_ == '\n'; }

 private:
  [[nodiscard]] std::size_t put(std::string_view bytes);

  int descriptor_ = -1;
  bool plain_file_ = false, broken_ = false;
  bool hung_up_ = false;  // it was a terminal: what is written goes nowhere
  char last_ = '\n';
  std::string held_;
  std::size_t sent_ = 0;
};

}  // namespace tocsin::adapters::wrap
