#include "adapters/cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/printable.h"
#include "stream/values/units.h"

namespace tocsin::adapters::cli {
namespace {

using formats::printable;
using stream::AlertState;
using stream::Severity;

constexpr std::size_t title_width = 15, indent = 4, usual_width = 100, least_width = 40, most_width = 120;

// Of the terminal that is written to; else of the one that the command was started from, which a pipe of ours leads to.
std::size_t width_of(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<std::size_t>(size.ws_col, least_width, most_width);
  if (const char* columns = std::getenv("COLUMNS"))
    if (const int set = std::atoi(columns); set > 0)
      return std::clamp<std::size_t>(static_cast<std::size_t>(set), least_width, most_width);
  return usual_width;
}

// Characters, not bytes.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool takes_escapes(std::FILE* out) {
  const char* terminal = std::getenv("TERM");
  return isatty(fileno(out)) != 0 && terminal != nullptr && std::string_view{terminal} != "dumb" && *terminal != 0;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

}  // namespace

Terminal::Terminal(Options options)
    : options_(std::move(options)),
      width_(width_of(fileno(options_.out))),
      colours_(takes_escapes(options_.out) && !std::getenv("NO_COLOR")),
      bar_(takes_escapes(stderr)) {}

std::string Terminal::colour(const char* code, const std::string& text) const {
  return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string Terminal::paragraph(const std::string& title, const std::string& written) const {
  const std::string text = printable(written);
  std::string out = fmt::format("{:{}}{:<{}}", "", indent, title, title_width);
  std::size_t column = indent + title_width;
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t size = columns(std::string_view{text}.substr(at, end - at));
    if (!first && column + 1 + size > width_) {
      out += "\n" + std::string(indent + title_width, ' ');
      column = indent + title_width;
      first = true;
    }
    if (!first) out += ' ', ++column;
    out.append(text, at, end - at);
    column += size;
    first = false;
    at = end + 1;
  }
  return out + "\n";
}

std::string Terminal::list(const std::string& title, const std::vector<std::string>& items) const {
  if (options_.verbose || items.empty()) return items.empty() ? "" : paragraph(title, join(items, "; "));
  std::string text;
  for (std::size_t shown = items.size(); shown > 0; --shown) {
    text = printable(join({items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown)}, "; "));
    if (shown < items.size()) text += fmt::format(" and {} more", items.size() - shown);
    if (indent + title_width + columns(text) <= width_) break;
  }
  return fmt::format("{:{}}{:<{}}{}\n", "", indent, title, title_width, text);
}

void Terminal::print(std::FILE* to, const std::string& text) {
  const std::string line = progress_;
  if (!line.empty()) std::fputs("\r\x1b[K", stderr), std::fflush(stderr);
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
  if (!line.empty()) std::fwrite(line.data(), 1, line.size(), stderr), std::fflush(stderr);
}

void Terminal::note(const std::string& text) { print(stderr, "tocsin: " + formats::printable_lines(text)); }

void Terminal::set_progress(std::string line) {
  if (!bar_) return;
  progress_.clear();
  std::fputs("\r\x1b[K", stderr);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  progress_ = std::move(line);
}

void Terminal::end_progress() {
  if (!progress_.empty()) std::fputs("\r\x1b[K", stderr), std::fflush(stderr);
  progress_.clear();
}

std::string Terminal::details(const stream::AlertTransition& t) const {
  std::string text;
  if (t.implies.empty()) text += paragraph("likely", "no cause was confirmed");
  for (const auto& unknown : t.cannot_decide) text += paragraph("cannot decide", unknown);
  if (t.cannot_decide.empty()) text += paragraph("cannot decide", "nothing: this rule has all the data that it needs");
  std::string evidence;
  for (const auto& [name, value] : t.evidence)
    if (!stream::is_absent(value))
      evidence += fmt::format("{}{} = {}", evidence.empty() ? "" : ", ", name, stream::quantity_text(value, ""));
  for (const auto& [name, value] : t.evidence_texts)
    evidence += fmt::format("{}{} = {}", evidence.empty() ? "" : ", ", name, value);
  if (!evidence.empty()) text += paragraph("evidence", evidence);
  return text;
}

void Terminal::transition(const stream::AlertTransition& t) {
  const bool shadow = t.mode == stream::Mode::shadow;
  if (shadow && !options_.shadow) return;
  const std::string marked = printable(t.rule) + (shadow ? "  (shadow)" : "");
  const formats::AlertForm form = formats::alert_form(t, options_.recording);
  std::string text;
  if (t.state == AlertState::firing) {
    const char* code = t.severity == Severity::critical ? "1;31" : t.severity == Severity::warning ? "1;33" : "1;36";
    text += colour(code, fmt::format("▲ {}  {}", stream::name(t.severity), marked)) + "\n";
    for (const auto& [title, part] : form.parts()) text += paragraph(title, part);
    if (options_.verbose) text += details(t);
  } else {
    std::string reason{stream::name(t.reason)};
    if (!t.explained_by.empty()) reason += " by " + t.explained_by;
    text += colour("1;32", fmt::format("▼ resolved  {}", marked)) +
            printable(fmt::format("  {}  {}  {}, {} after it began", describe(t.member), formats::time_text(t.at),
                                  reason, formats::duration_text(t.at - t.since))) +
            "\n";
  }
  print(options_.out, text);
}

void Terminal::verdict(const stream::Verdict& v) {
  const char* nothing = v.end_reason == "failed" ? "failed, and no cause was found" : "no fault found";
  std::string text =
      colour("1", printable(fmt::format("■ verdict  job {}, attempt {}: {}", v.subject, v.attempt,
                                        v.family.empty() ? nothing : stream::with_words(v.family, v.family_words)))) +
      printable(fmt::format("  (ended {}{})", formats::time_text(v.ended),
                            v.end_reason.empty() || v.end_reason == "unknown" ? "" : ", " + v.end_reason)) +
      "\n";
  std::vector<std::string> ruled_out, undecided;
  for (const auto& line : v.families) {
    const std::string& words = line.words.empty() ? line.family : line.words;
    if (line.standing == stream::Standing::out)
      ruled_out.push_back(options_.verbose ? stream::with_words(line.family, line.words) : words);
    if (line.standing == stream::Standing::undecidable)
      undecided.push_back(line.missing.empty() ? words : fmt::format("{} (no {})", words, line.missing.front()));
  }
  text += list("found", v.shows) + list("rules failed", v.quarantined) + list("ruled out", ruled_out);
  text += list("cannot decide", options_.verbose ? v.cannot_decide : undecided);
  print(options_.out, text);
}

}  // namespace tocsin::adapters::cli
