#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tocsin::stream {

// A text of where and except: a `*` in it stands for any part of a text, `\\*` for a star.
class TextPattern {
 public:
  explicit TextPattern(std::string_view written) {
    parts_.emplace_back();
    for (std::size_t i = 0; i < written.size(); ++i) {
      const bool escaped = written[i] == '\\' && i + 1 < written.size() && written[i + 1] == '*';
      if (written[i] == '*') parts_.emplace_back();
      else parts_.back() += written[escaped ? ++i : i];
    }
  }
  // The one text that it stands for, if there is no `*` in it.
  [[nodiscard]] const std::string* literal() const noexcept { return parts_.size() == 1 ? &parts_.front() : nullptr; }
  [[nodiscard]] bool matches(std::string_view text) const noexcept {
    if (literal() != nullptr) return text == parts_.front();
    const std::string &first = parts_.front(), &last = parts_.back();
    if (text.size() < first.size() + last.size() || !text.starts_with(first) || !text.ends_with(last)) return false;
    text.remove_prefix(first.size()), text.remove_suffix(last.size());
    for (std::size_t i = 1; i + 1 < parts_.size(); ++i) {
      const auto at = text.find(parts_[i]);
      if (at == std::string_view::npos) return false;
      text.remove_prefix(at + parts_[i].size());
    }
    return true;
  }

 private:
  std::vector<std::string> parts_;  // between the stars
};

}  // namespace tocsin::stream
