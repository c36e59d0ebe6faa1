#include "adapters/cli/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <variant>

#include "adapters/formats/printable.h"

namespace tocsin::adapters::cli {

void Ending::read(const stream::Entry& entry) {
  for (const stream::LineRecord& line : entry.lines) {
    if (line.text.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
    if (of_error(line.text)) error_ = line.text;
    else if (line.error_stream) last_ = line.text;
  }
  for (const stream::EventRecord& event : entry.events) {
    if (event.name == "start") attempt_ = entry.attempt;
    if (event.name != "end") continue;
    for (const auto& field : event.fields)
      if (const auto* number = std::get_if<double>(&field.value)) {
        if (field.name == "code") code_ = static_cast<int>(*number);
        if (field.name == "asked") asked_ = true;
        if (field.name == "signal") signal_ = static_cast<int>(*number);
      }
  }
}

void Ending::correct(stream::Verdict& verdict) const {
  if (verdict.family.empty() && verdict.end_reason == "failed" && asked_) verdict.end_reason = "cancelled";
}

std::string Ending::text(const std::string& job) const {
  std::string text = "job " + formats::printable(job);
  if (signal_) text += fmt::format(" was ended by signal {} ({})", *signal_, strsignal(*signal_));
  else if (!code_) text += " ended; its exit status was not recorded";
  else text += fmt::format(" {} with exit status {}", *code_ == 0 ? "ended" : "failed", *code_);
  if (code_ == 0) return text;
  const std::string& line = error_.empty() ? last_ : error_;
  constexpr std::size_t most = 300;
  if (!line.empty()) text += ": " + (line.size() > most ? line.substr(0, most) + "…" : line);
  return text;
}

bool Ending::of_error(std::string_view line) {
  std::string lower{line.substr(0, 2000)};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view none : {"0 error", "no error", "0 failed", "0 failures"})
    for (std::size_t at = lower.find(none); at != std::string::npos; at = lower.find(none, at))
      if (at > 0 && std::isalnum(static_cast<unsigned char>(lower[at - 1]))) ++at;  // 10 errors
      else lower.erase(at, none.size());
  for (const char* word : {"error", "exception", "fatal", "fault", "cannot ", "can't ", "no such ", "not found",
                           "denied", "failed", "panic", "abort", "killed"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace tocsin::adapters::cli
