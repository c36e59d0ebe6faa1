#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "stream/rules/alert.h"

namespace tocsin::adapters::cli {

// Alerts and verdicts as a person reads them (formats::AlertForm), as wide as the terminal. What comes from jobs, rules
// and arguments is made printable. Owned by the command that runs the engine.
class Terminal final : public stream::AlertSink {
 public:
  struct Options {
    std::FILE* out = stderr;  // of reports; notes and the progress bar are for stderr
    bool verbose = false;     // with every cause, doubt and value
    std::string recording;    // as `tocsin explain` takes it; empty: none
    bool shadow = false;      // with the alerts of shadow rules
  };
  explicit Terminal(Options options);
  void transition(const stream::AlertTransition& transition) override;
  void verdict(const stream::Verdict& verdict) override;
  void note(const std::string& text);  // what is no alert
  // Something stands on the last line (a progress bar) and must be cleared before we write.
  void set_progress(std::string line);
  void end_progress();

 private:
  [[nodiscard]] std::string colour(const char* code, const std::string& text) const;
  // Text behind a title, in lines of the terminal's width.
  [[nodiscard]] std::string paragraph(const std::string& title, const std::string& text) const;
  // Of a verdict: one line with as many items as fit, and how many more there are. Verbose: all of them.
  [[nodiscard]] std::string list(const std::string& title, const std::vector<std::string>& items) const;
  [[nodiscard]] std::string details(const stream::AlertTransition& transition) const;
  void print(std::FILE* to, const std::string& text);

  Options options_;
  std::size_t width_;
  bool colours_, bar_;
  std::string progress_;
};

}  // namespace tocsin::adapters::cli
