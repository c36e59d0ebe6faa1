// Exposition text, as exporters answer a scrape: NAME{LABEL="VALUE",…} NUMBER [TIME], a line each.
#include <algorithm>

#include "adapters/formats/parse_time.h"
#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {
namespace {

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' ||
         c == '.' || c == '-';
}
std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// One line, from left to right.
class Line {
 public:
  Line(std::string_view text, Item& item, MadeTexts& texts) : rest_(text), item_(item), texts_(texts) {}

  // The problem, or nothing.
  const char* read() {
    const std::string_view name = word();
    if (name.empty() || name.size() > longest_name)
      return "a line begins with the name of a metric, of at most 255 bytes";
    skip_blanks();
    if (take('{'))
      if (const char* problem = labels()) return problem;
    skip_blanks();
    if (const auto exemplar = rest_.find(" # "); exemplar != rest_.npos) rest_ = rest_.substr(0, exemplar);
    rest_ = without_blanks(rest_);
    const std::size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
    const auto number = number_in(rest_.substr(0, end));
    if (!number) return "a number is missing behind the name and its labels";
    item_.values.push_back({name, *number, {}, false});
    if (const std::string_view time = without_blanks(rest_.substr(end)); !time.empty()) {
      const auto stamp = number_in(time);
      if (stamp) item_.time = formats::parse_time(*stamp);
      if (!item_.time) return "the text after the number is not a time: write milliseconds since 1970, or nothing";
    }
    return nullptr;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), name_character);
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    return found;
  }
  const char* labels() {
    for (;;) {
      skip_blanks();
      if (take('}')) return nullptr;
      const std::string_view label = word();
      skip_blanks();
      if (label.empty() || !take('=')) return "a label is written NAME=\"VALUE\"";
      skip_blanks();
      if (!take('"')) return "the value of a label stands in quotes";
      std::string_view value;
      if (!quoted(value)) return "the value of a label has no closing quote";
      if (item_.labels.size() == most_labels) return "more than 1024 labels";
      item_.labels.push_back({label, value});
      skip_blanks();
      if (!take(',') && !rest_.starts_with('}')) return "labels are parted by commas and end with }";
    }
  }
  bool quoted(std::string_view& value) {
    const std::size_t end = rest_.find_first_of("\"\\");
    if (end == rest_.npos) return false;
    if (rest_[end] == '"') {
      value = rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::string made;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        value = texts_.keep(std::move(made));
        return true;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) made += rest_[++i] == 'n' ? '\n' : rest_[i];
      else made += rest_[i];
    }
    return false;
  }

  std::string_view rest_;
  Item& item_;
  MadeTexts& texts_;
};

// A part of a distribution is no measurement of its own.
bool part_of_distribution(const Item& item) {
  return std::any_of(item.labels.begin(), item.labels.end(),
                     [](const Label& label) { return label.name == "le" || label.name == "quantile"; });
}

}  // namespace

void read_exposition(std::string_view message, Items& out) {
  Item item;
  MadeTexts texts;
  each_line(message, [&](std::string_view line, std::uint32_t number) {
    line = without_blanks(line);
    if (line.empty() || line.starts_with('#')) return;
    item.clear(), texts.clear();
    item.place = number;
    if (const char* problem = Line{line, item, texts}.read())
      out.left_out(Reason::malformed, number,
                   std::string{"no line of exposition text: "} + problem + ": " + shortened(line));
    else if (part_of_distribution(item)) out.unwanted(1);
    else out.item(item);
  });
}

}  // namespace tocsin::adapters::ingest
