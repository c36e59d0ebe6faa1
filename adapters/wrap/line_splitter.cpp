#include "adapters/wrap/line_splitter.h"

#include <cstring>

namespace tocsin::adapters::wrap {

void LineSplitter::give_pieces(std::string_view text, const Line& line) {
  while (text.size() > longest) {
    line(text.substr(0, longest));
    text.remove_prefix(longest);
    ++cut_;
  }
  line(text);
}

void LineSplitter::give(std::string_view tail, bool redraw, const Line& line) {
  if (held_.empty()) {
    if (!tail.empty() || !redraw) give_pieces(tail, line);
    return;
  }
  held_.append(tail);
  give_pieces(held_, line);
  held_.clear();
}

void LineSplitter::feed(std::string_view bytes, const Line& line) {
  if (after_return_ && !bytes.empty()) {
    if (bytes.front() == '\n') {
      if (empty_before_return_) line({});
      bytes.remove_prefix(1);
    }
    after_return_ = false;
  }
  while (!bytes.empty()) {
    const void* newline = std::memchr(bytes.data(), '\n', bytes.size());
    const std::size_t until =
        newline == nullptr ? bytes.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data());
    const void* found = std::memchr(bytes.data(), '\r', until);
    if (found != nullptr) {
      const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
      const bool newline_follows = end + 1 < bytes.size() && bytes[end + 1] == '\n';
      after_return_ = end + 1 == bytes.size();  // the next bytes may bring its \n
      empty_before_return_ = end == 0 && held_.empty();
      give(bytes.substr(0, end), !newline_follows, line);
      bytes.remove_prefix(end + 1 + (newline_follows ? 1 : 0));
    } else if (newline != nullptr) {
      give(bytes.substr(0, until), false, line);
      bytes.remove_prefix(until + 1);
    } else {
      held_.append(bytes);
      if (held_.size() > longest) {
        std::size_t at = 0;
        for (; held_.size() - at > longest; at += longest, ++cut_) line(std::string_view{held_}.substr(at, longest));
        held_.erase(0, at);
      }
      return;
    }
  }
}

void LineSplitter::finish(const Line& line) {
  if (!held_.empty()) give({}, true, line);
  after_return_ = false;
}

}  // namespace tocsin::adapters::wrap
