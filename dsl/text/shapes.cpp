#include "dsl/text/shapes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dsl/text/number.h"
#include "stream/values/digest.h"

namespace tocsin::dsl::text {
namespace {

constexpr std::size_t shapes_kept = 256;

// A class from the bracket that opens it: whether it has all digits or none, and where it ends; 0: it is not
// understood.
struct ByteClass {
  bool alike = true;
  std::size_t end = 0;
};
ByteClass read_class(std::string_view text, std::size_t at) noexcept {
  std::array<bool, 10> has{};
  const auto add = [&](char first, char last) {
    for (char c = std::max(first, '0'); c <= std::min(last, '9'); ++c) has[static_cast<std::size_t>(c - '0')] = true;
  };
  std::size_t i = at + 1;
  if (i < text.size() && text[i] == '^') ++i;
  for (bool first = true; i < text.size() && (first || text[i] != ']'); first = false) {
    char from = text[i], to = from;
    if (from == '[' && text.substr(i, 2) == "[:") return {false, 0};
    if (from == '\\') {
      const char escaped = i + 1 < text.size() ? text[i + 1] : 'x';
      if (digit(escaped) || escaped == 'x' || escaped == 'p' || escaped == 'P') return {false, 0};
      if (escaped == 'd' || escaped == 'w' || escaped == 'S') add('0', '9');
      from = to = ' ';
      ++i;
    }
    if (i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] != ']') {
      to = text[i + 2];
      if (to == '\\') return {false, 0};
      i += 2;
    }
    add(from, to);
    ++i;
  }
  return {std::count(has.begin(), has.end(), true) % 10 == 0, std::min(i + 1, text.size())};
}

// The length of `{2,5}` here; 0: it is no count of repeats.
std::size_t repeat_length(std::string_view text) noexcept {
  const std::size_t close = text.find_first_not_of("0123456789,", 1);
  return close != text.npos && close > 1 && text[close] == '}' ? close + 1 : 0;
}

}  // namespace

Regex::Regex(std::string expression, std::uint32_t number_among)
    : text(std::move(expression)), number(number_among), digits_alike(treats_digits_alike(text)) {}

RE2::Options regex_options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // lines are bytes
  options.set_log_errors(false);
  options.set_max_mem(8 << 20);
  return options;
}

bool Searches::match(const Regex& regex, std::string_view text, std::size_t from, std::span<re2::StringPiece> groups) {
  if (compiled_.size() <= regex.number) compiled_.resize(regex.number + 1);
  auto& compiled = compiled_[regex.number];
  if (!compiled) compiled = std::make_unique<const RE2>(regex.text, regex_options());
  return compiled->Match(text, from, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()));
}

bool treats_digits_alike(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\\') {
      const char escaped = i + 1 < text.size() ? text[i + 1] : 'x';
      if (digit(escaped) || escaped == 'x' || escaped == 'p' || escaped == 'P' || escaped == 'Q') return false;
      i += 2;
    } else if (c == '[') {
      const ByteClass bytes = read_class(text, i);
      if (!bytes.alike) return false;
      i = bytes.end;
    } else if (c == '{') {
      i += std::max<std::size_t>(repeat_length(text.substr(i)), 1);
    } else if (text.substr(i, 4) == "(?P<") {
      i = std::min(text.find('>', i), text.size());
    } else if (digit(c)) {
      return false;
    } else {
      ++i;
    }
  }
  return true;
}

std::optional<std::string> with_digits_alike(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t size = 1;
    bool alike = true;
    if (text[i] == '\\') {
      size = 2;
    } else if (text[i] == '[') {
      const ByteClass bytes = read_class(text, i);
      if (bytes.end == 0) return std::nullopt;
      size = bytes.end - i, alike = bytes.alike;
    } else if (text[i] == '{') {
      size = std::max<std::size_t>(repeat_length(text.substr(i)), 1);
    } else if (text.substr(i, 4) == "(?P<") {
      size = std::min(text.find('>', i), text.size()) - i;
    } else if (digit(text[i])) {
      out += "\\d";
      ++i;
      continue;
    }
    const std::string_view part = text.substr(i, size);
    if (alike && !treats_digits_alike(part)) return std::nullopt;
    out += alike ? std::string{part} : "(?:" + std::string{part} + "|\\d)";
    i += size;
  }
  return out;
}

void Shapes::look_up() {
  looked_up_ = true;
  next_ = 0;
  if (line_.size() > longest) return;
  std::transform(line_.begin(), line_.end(), shape_.begin(), [](char c) { return digit(c) ? '0' : c; });
  const std::string_view shape{shape_.data(), line_.size()};
  if (shapes_.empty()) shapes_.resize(shapes_kept);
  known_ = &shapes_[stream::hash_text(shape) % shapes_kept];
  if (known_->text == shape) return;
  known_->text = shape;
  known_->results = known_->groups = 0;
  known_->scanned = false;
}

const std::vector<std::uint32_t>* Shapes::found() {
  if (!looked_up_) look_up();
  return known_ != nullptr && known_->scanned ? &known_->found : nullptr;
}

void Shapes::found(std::span<const std::uint32_t> expressions) {
  if (known_ == nullptr) return;
  known_->scanned = true;
  known_->found.assign(expressions.begin(), expressions.end());
}

void Shapes::drop(std::uint32_t expression, const Regex& regex) {
  if (known_ == nullptr || !regex.digits_alike) return;
  std::erase(known_->found, expression);
  if (known_->results > 0 && known_->result[known_->results - 1].regex == &regex) --known_->results;
}

const Shapes::Result* Shapes::find(const Regex& regex) noexcept {
  for (std::size_t tried = 0; tried < known_->results; ++tried, ++next_) {
    if (next_ >= known_->results) next_ = 0;
    if (known_->result[next_].regex == &regex) return &known_->result[next_++];
  }
  return nullptr;
}

bool Shapes::match(const Regex& regex, std::string_view text, std::span<re2::StringPiece> groups) {
  const auto search = [&] { return searches_->match(regex, text, 0, groups); };
  if (!regex.digits_alike || text.data() != line_.data() || text.size() != line_.size()) return search();
  if (!looked_up_) look_up();
  if (known_ == nullptr) return search();
  if (const Result* result = find(regex)) {
    ++recalled_;
    for (std::size_t i = 0; result->matched && i < groups.size(); ++i) {
      const Group group = known_->group[result->first + i];
      groups[i] = group.begin < 0 ? re2::StringPiece{}
                                  : re2::StringPiece{text.data() + group.begin, static_cast<std::size_t>(group.size)};
    }
    return result->matched;
  }
  const bool matched = search();
  const std::size_t kept = matched ? groups.size() : 0;
  if (known_->results == most_results || known_->groups + kept > most_groups) return matched;
  known_->result[known_->results++] = {&regex, known_->groups, matched};
  for (std::size_t i = 0; i < kept; ++i)
    known_->group[known_->groups++] = groups[i].data() == nullptr
                                          ? Group{}
                                          : Group{static_cast<std::int16_t>(groups[i].data() - text.data()),
                                                  static_cast<std::uint16_t>(groups[i].size())};
  return matched;
}

}  // namespace tocsin::dsl::text
