#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stream/rules/alert.h"
#include "stream/values/record.h"

namespace tocsin::adapters::cli {

// How a wrapped command ended, and the last of its lines that speaks of an error.
class Ending {
 public:
  void read(const stream::Entry& entry);
  [[nodiscard]] bool over() const noexcept { return code_ || signal_; }
  [[nodiscard]] const std::string& attempt() const noexcept {
    return attempt_;
  }  // the last that began; empty: none was read
  // Nothing was found, and a signal or Ctrl-C came shortly before: it was cancelled.
  void correct(stream::Verdict& verdict) const;
  // In one line: "job train-4711 failed with exit status 1: RuntimeError: …".
  [[nodiscard]] std::string text(const std::string& job) const;

 private:
  static bool of_error(std::string_view line);
  std::string error_, last_, attempt_;
  std::optional<int> code_, signal_;
  bool asked_ = false;
};

}  // namespace tocsin::adapters::cli
