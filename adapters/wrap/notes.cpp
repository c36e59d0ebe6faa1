#include "adapters/wrap/notes.h"

namespace tocsin::adapters::wrap {

namespace {
constexpr std::size_t longest = 64 * 1024;  // of a note without a newline
}

void Notes::print(Outlet& out, const Outlet& screen, bool raw, bool all) {
  std::size_t end = held_.rfind('\n');
  if (end == std::string::npos) {
    if (held_.empty() || (!all && held_.size() < longest)) return;
    held_.push_back('\n');
    end = held_.size() - 1;
  }
  const std::string_view newline = raw ? "\r\n" : "\n";
  std::string text;
  if (!screen.at_line_start()) text.append(newline);
  for (const char c : std::string_view{held_}.substr(0, end + 1)) {
    if (c == '\n') text.append(newline);
    else text.push_back(c);
  }
  held_.erase(0, end + 1);
  out.write(text);
}

void Notes::pass(Outlet& out, const Outlet& screen, bool raw) {
  char bytes[4096];
  for (int i = 0; i < 16 && !out.pending(); ++i) {
    const ssize_t size = ::read(pipe_.read.get(), bytes, sizeof bytes);
    if (size <= 0) break;
    held_.append(bytes, static_cast<std::size_t>(size));
    print(out, screen, raw, false);
  }
}

void Notes::say(std::string_view line, Outlet& out, const Outlet& screen, bool raw) {
  if (!held_.empty() && held_.back() != '\n') held_.push_back('\n');
  held_.append(line).push_back('\n');
  print(out, screen, raw, false);
}

void Notes::finish(Outlet& out, const Outlet& screen, bool raw) {
  for (;;) {
    pass(out, screen, raw);
    char byte;
    if (out.pending() || ::read(pipe_.read.get(), &byte, 1) != 1) break;
    held_.push_back(byte);
  }
  print(out, screen, raw, true);
}

}  // namespace tocsin::adapters::wrap
