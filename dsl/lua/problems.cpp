#include "dsl/lua/problems.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tocsin::dsl {
namespace {

bool of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool has_key(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at > 0 && of_word(line[at - 1])) continue;
    std::size_t after = at + key.size();
    while (after < line.size() && line[after] == ' ') ++after;
    if (after < line.size() && line[after] == '=' && line.substr(after, 2) != "==") return true;
  }
  return false;
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void Problems::add(const std::string& file, int line, std::string message) {
  problems_.push_back({file, line, source_line(file, line), rule_, std::move(message), false});
  fatal_ = true;
}

void Problems::warn(const std::string& file, int line, std::string message, bool incomplete) {
  problems_.push_back({file, line, source_line(file, line), rule_, std::move(message), true, incomplete});
}

std::string Problems::source_line(const std::string& file, int line) const {
  const auto found = files_->find(file);
  if (found == files_->end() || line < 1) return "";
  std::string_view text = found->second;
  for (int n = 1; n < line; ++n) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return std::string{text.substr(0, std::min<std::size_t>(text.find('\n'), 400))};
}

int Problems::line_of_key(const std::string& file, int from, std::string_view key) const {
  const auto found = files_->find(file);
  if (found == files_->end()) return from;
  std::string_view text = found->second;
  for (int n = 1;; ++n) {
    const std::size_t end = text.find('\n');
    if (n >= from && has_key(text.substr(0, end), key)) return n;
    if (end == std::string_view::npos) return from;
    text.remove_prefix(end + 1);
  }
}

namespace {

std::string place(const Problem& problem) {
  return problem.file + (problem.line > 0 ? ":" + std::to_string(problem.line) : "");
}

// Problems with one message: the first, and the other places where it occurs, in order.
struct Kind {
  const Problem* first;
  std::vector<std::string> others{};

  void add(std::string where) {
    if (where != place(*first) && std::find(others.begin(), others.end(), where) == others.end())
      others.push_back(std::move(where));
  }
};

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string describe(const Problem& problem) {
  std::string text = problem.file.empty() ? "" : place(problem) + ": ";
  if (problem.warning) text += "warning: ";
  if (!problem.rule.empty()) text += "[" + problem.rule + "] ";
  text += problem.message;
  if (!problem.text.empty()) text += "\n    " + problem.text;
  return text;
}

std::string list(const std::vector<Problem>& problems) {
  constexpr std::size_t most_kinds = 20, most_places = 5;
  std::vector<Kind> kinds;
  std::map<std::string_view, std::size_t> known;
  for (const Problem& problem : problems) {
    const auto [found, fresh] = known.emplace(problem.message, kinds.size());
    if (fresh) kinds.push_back({&problem});
    else kinds[found->second].add(place(problem));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kinds.size(), most_kinds); ++i) {
    text += describe(*kinds[i].first) + "\n";
    const auto& others = kinds[i].others;
    if (others.empty()) continue;
    text += "    and " + counted(others.size(), "more place") + ": ";
    for (std::size_t j = 0; j < std::min(others.size(), most_places); ++j) text += (j ? ", " : "") + others[j];
    text += others.size() > most_places ? ", …\n" : "\n";
  }
  if (kinds.size() > most_kinds) {
    std::size_t places = 0;
    for (std::size_t i = most_kinds; i < kinds.size(); ++i) places += 1 + kinds[i].others.size();
    text += "… and " + counted(kinds.size() - most_kinds, "more message") + " of " + counted(places, "place") +
            ": many follow from those above, so fix these first\n";
  }
  return text;
}

}  // namespace tocsin::dsl
