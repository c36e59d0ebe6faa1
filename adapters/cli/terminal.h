#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "stream/rules/alert.h"

namespace tocsin::adapters::cli {

// Alerts and verdicts as a person reads them: what the data shows, what it implies, what it cannot decide.
// Owned by the command that runs the engine.
class Terminal final : public stream::AlertSink {
 public:
  explicit Terminal(std::FILE* out);
  void transition(const stream::AlertTransition& transition) override;
  void verdict(const stream::Verdict& verdict) override;
  void note(const std::string& text) { print("tocsin: " + text + "\n"); }  // what is no alert
  // Something stands on the last line (a progress bar) and must be cleared before we write.
  void set_progress(std::string line);
  void end_progress();

 private:
  [[nodiscard]] std::string colour(const char* code, const std::string& text) const;
  void print(const std::string& text);

  std::FILE* out_;
  bool colours_;
  std::string progress_;
};

[[nodiscard]] std::string clock_text(stream::Time time);             // 12:03:59
[[nodiscard]] std::string duration_text(stream::Duration duration);  // 1 min 12 s

}  // namespace tocsin::adapters::cli
