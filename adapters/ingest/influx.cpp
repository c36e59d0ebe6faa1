// Line protocol: MEASUREMENT[,TAG=VALUE…] FIELD=VALUE[,FIELD=VALUE…] [TIME], a line each. The time is in nanoseconds,
// or, as a writer may set it, in micro-, milli- or whole seconds.
#include <algorithm>
#include <charconv>

#include "adapters/formats/parse_time.h"
#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {
namespace {

class InfluxLine {
 public:
  InfluxLine(std::string_view text, Item& item, MadeTexts& texts) : rest_(text), item_(item), texts_(texts) {}

  const char* read() {
    const std::string_view measurement = word(", ");
    if (measurement.empty() || measurement.size() > longest_name)
      return "a line begins with a measurement, of at most 255 bytes";
    while (take(',')) {
      const std::string_view tag = word("=, ");
      if (tag.empty() || !take('=')) return "a tag is written NAME=VALUE";
      if (item_.labels.size() == most_labels) return "more than 1024 tags";
      item_.labels.push_back({tag, word(", ")});
    }
    if (!take(' ')) return "a blank and the fields are missing";
    skip_blanks();
    do {
      const std::string_view field = word("=, ");
      if (field.empty() || !take('=')) return "a field is written NAME=VALUE";
      if (item_.values.size() == most_values) return "more than 4096 fields";
      const std::string_view name = texts_.keep(telegraf_name(measurement, field));
      if (name.size() > longest_name) return "measurement and field together have more than 255 bytes";
      if (!value(name)) return "the value of a field is a number, 12i, true, or a text in quotes";
    } while (take(','));
    skip_blanks();
    if (rest_.empty()) return nullptr;
    std::int64_t time = 0;
    const auto [end, wrong] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), time);
    if (wrong != std::errc{} || end != rest_.data() + rest_.size())
      return "the text after the fields is not a time since 1970";
    item_.time = formats::parse_time(time);
    return nullptr;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Up to one of `ends` that no backslash stands before.
  std::string_view word(std::string_view ends) {
    std::size_t end = 0;
    bool escaped = false;
    for (; end < rest_.size() && ends.find(rest_[end]) == ends.npos; ++end)
      if (rest_[end] == '\\' && end + 1 < rest_.size()) escaped = true, ++end;
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(found.size());
    return escaped ? texts_.keep(unescaped(found, ",= \\")) : found;
  }
  static std::string unescaped(std::string_view text, std::string_view special) {
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size() && special.find(text[i + 1]) != special.npos) ++i;
      made += text[i];
    }
    return made;
  }
  bool value(std::string_view name) {
    if (take('"')) {
      std::size_t end = 0;
      while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
      if (end >= rest_.size()) return false;
      item_.values.push_back({name, 0, texts_.keep(unescaped(rest_.substr(0, end), "\"\\")), true});
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::string_view text = word(", ");
    static constexpr std::string_view yes[] = {"t", "T", "true", "True", "TRUE"},
                                      no[] = {"f", "F", "false", "False", "FALSE"};
    const bool is_yes = std::find(std::begin(yes), std::end(yes), text) != std::end(yes);
    if (is_yes || std::find(std::begin(no), std::end(no), text) != std::end(no)) {
      item_.values.push_back({name, is_yes ? 1.0 : 0.0, {}, false});
      return true;
    }
    if (text.ends_with('i') || text.ends_with('u')) text.remove_suffix(1);
    const auto number = number_in(text);
    if (number) item_.values.push_back({name, *number, {}, false});
    return number.has_value();
  }

  std::string_view rest_;
  Item& item_;
  MadeTexts& texts_;
};

}  // namespace

std::string telegraf_name(std::string_view measurement, std::string_view field) {
  if (field == "value" || field == "gauge" || field == "counter") return std::string{measurement};
  if (measurement == "prometheus") return std::string{field};
  return std::string{measurement} + '_' + std::string{field};
}

void read_influx(std::string_view message, Items& out) {
  Item item;
  MadeTexts texts;
  each_line(message, [&](std::string_view line, std::uint32_t number) {
    if (line.find_first_not_of(" \t") == line.npos || line.starts_with('#')) return;
    item.clear(), texts.clear();
    item.place = number;
    if (const char* problem = InfluxLine{line, item, texts}.read())
      out.left_out(Reason::malformed, number, std::string{"no line protocol: "} + problem + ": " + shortened(line));
    else out.item(item);
  });
}

}  // namespace tocsin::adapters::ingest
