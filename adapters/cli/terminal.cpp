#include "adapters/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <vector>

namespace tocsin::adapters::cli {
namespace {

using stream::AlertState;
using stream::Severity;

constexpr std::size_t width = 100;

// Wraps `text` behind a label of fixed width.
std::string paragraph(const std::string& label, const std::string& text) {
  std::string out = fmt::format("    {:<15}", label);
  std::size_t column = 19;
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (!first && column + 1 + (end - at) > width) {
      out += "\n" + std::string(19, ' ');
      column = 19;
      first = true;
    }
    if (!first) out += ' ', ++column;
    out.append(text, at, end - at);
    column += end - at;
    first = false;
    at = end + 1;
  }
  return out + "\n";
}

std::string number_text(double value) {
  if (stream::is_absent(value)) return "unknown";
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  return fmt::format("{:.4g}", value);
}

template <class Words>
std::string join(const Words& words, const char* between) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// "C2 (unknown: a, b, c, d, e)" as "C2 (unknown: a, b, c and 2 more)": the whole is in the JSON lines.
std::string shortened(const std::string& doubt) {
  constexpr int most = 3;
  std::size_t cut = std::string::npos;
  int parts = 1;
  for (std::size_t at = doubt.find_first_of(",;"); at != std::string::npos; at = doubt.find_first_of(",;", at + 1))
    if (parts++ == most) cut = at;
  // Less than two would save nothing.
  return parts < most + 2 ? doubt : fmt::format("{} and {} more)", doubt.substr(0, cut), parts - most);
}

}  // namespace

std::string clock_text(stream::Time time) {
  const std::time_t seconds = stream::nanoseconds(time) / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string duration_text(stream::Duration duration) {
  const auto s = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

Terminal::Terminal(std::FILE* out) : out_(out), colours_(isatty(fileno(out)) && !std::getenv("NO_COLOR")) {}

std::string Terminal::colour(const char* code, const std::string& text) const {
  return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

void Terminal::print(const std::string& text) {
  const std::string line = progress_;
  if (!line.empty()) std::fputs("\r\x1b[K", out_);
  std::fwrite(text.data(), 1, text.size(), out_);
  if (!line.empty()) std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

void Terminal::set_progress(std::string line) {
  if (!colours_) return;
  progress_.clear();
  std::fputs("\r\x1b[K", out_);
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
  progress_ = std::move(line);
}

void Terminal::end_progress() {
  if (!progress_.empty()) std::fputs("\r\x1b[K", out_), std::fflush(out_);
  progress_.clear();
}

void Terminal::transition(const stream::AlertTransition& t) {
  if (t.mode == stream::Mode::shadow) return;
  std::string text;
  if (t.state == AlertState::firing) {
    const char* code = t.severity == Severity::critical ? "1;31" : t.severity == Severity::warning ? "1;33" : "1;36";
    text += colour(code, fmt::format("▲ {}  {} {}", stream::name(t.severity), t.rule, t.family.empty() ? "" : "(" + t.family + ")")) +
            fmt::format("  {}  {}  job {}\n", describe(t.member), clock_text(t.at), t.subject);
    text += paragraph("", t.summary);
    text += paragraph("shows", t.shows);
    for (const auto& [cause, implied] : t.implies) text += paragraph("implies", implied);
    if (t.implies.empty()) text += paragraph("implies", "no cause is proven");
    for (const auto& unknown : t.cannot_decide) text += paragraph("cannot decide", unknown);
    if (t.cannot_decide.empty()) text += paragraph("cannot decide", "nothing: all that this rule asks is known");
    std::string evidence;
    for (const auto& [name, value] : t.evidence)
      evidence += fmt::format("{}{} = {}", evidence.empty() ? "" : ", ", name, number_text(value));
    for (const auto& [name, value] : t.evidence_texts) evidence += fmt::format("{}{} = {}", evidence.empty() ? "" : ", ", name, value);
    if (!evidence.empty()) text += paragraph("evidence", evidence);
  } else {
    std::string reason{stream::name(t.reason)};
    if (!t.explained_by.empty()) reason += " by " + t.explained_by;
    text +=
        colour("1;32", fmt::format("▼ resolved  {}", t.rule)) +
        fmt::format("  {}  {}  {}, {} after its first sign\n", describe(t.member), clock_text(t.at), reason, duration_text(t.at - t.since));
  }
  print(text);
}

void Terminal::verdict(const stream::Verdict& v) {
  const char* nothing = v.end_reason == "failed" ? "it failed, and no cause was found" : "no fault found";
  std::string text =
      colour("1", fmt::format("■ verdict  job {}, attempt {}: {}", v.subject, v.attempt, v.family.empty() ? nothing : v.family)) +
      fmt::format("  (ended {}, {})\n", clock_text(v.ended), v.end_reason.empty() ? "reason unknown" : v.end_reason);
  if (!v.shows.empty()) text += paragraph("shows", join(v.shows, "; "));
  std::vector<std::string> out;
  for (const auto& line : v.families)
    if (line.standing == stream::Standing::out) out.push_back(line.family);
  if (!out.empty()) text += paragraph("ruled out", join(out, ", "));
  std::vector<std::string> doubts;
  std::transform(v.cannot_decide.begin(), v.cannot_decide.end(), std::back_inserter(doubts), shortened);
  if (!doubts.empty()) text += paragraph("cannot decide", join(doubts, ", "));
  print(text);
}

}  // namespace tocsin::adapters::cli
