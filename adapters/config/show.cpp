#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "adapters/config/config.h"
#include "adapters/config/options.h"

namespace tocsin::adapters::config {
namespace {

// As YAML, so that it reads back as the same text.
std::string scalar(std::string_view text) {
  static const std::vector<std::string> words{"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/'; };
  const auto safe = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == ':';
  };
  std::string lower{text};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (!text.empty() && letter(text[0]) && text.back() != ':' && std::all_of(text.begin(), text.end(), safe) &&
      std::find(words.begin(), words.end(), lower) == words.end())
    return std::string{text};
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + '"';
}

// The value after "name:", with what is below it.
struct Shown {
  std::string indent;
  std::string operator()(const std::string* text) const { return " " + scalar(*text); }
  std::string operator()(const Path* path) const { return " " + scalar(path->string()); }
  std::string operator()(const bool* flag) const { return *flag ? " true" : " false"; }
  std::string operator()(const std::uint64_t* count) const { return fmt::format(" {}", *count); }
  std::string operator()(Size size) const { return " " + show_size(*size.bytes); }
  std::string operator()(const Milliseconds* duration) const { return " " + show_duration(*duration); }
  std::string operator()(const Texts* texts) const {
    std::string out = " [";
    for (std::size_t i = 0; i < texts->size(); ++i) out += (i == 0 ? "" : ", ") + scalar((*texts)[i]);
    return out + "]";
  }
  template <class Map>
  std::string mapping(const Map& map) const {
    if (map.empty()) return " {}";
    std::string out;
    for (const auto& [name, value] : map)
      out += fmt::format("\n{}  {}: {}", indent, scalar(name), scalar(Path{value}.string()));
    return out;
  }
  std::string operator()(const TextsByName* map) const { return mapping(*map); }
  std::string operator()(const PathsByName* map) const { return mapping(*map); }
  template <class One>
  std::string items(std::vector<One>& all, std::span<const OptionOf<One>> options) const {
    if (all.empty()) return " []";
    std::string out;
    for (auto& one : all) {
      bool first = true;
      for (const OptionOf<One>& option : options) {
        const std::string value = std::visit(Shown{indent + "    "}, option.place(one));
        if ((value == " \"\"" || value == " []" || value == " {}") && !option.needed) continue;
        out += fmt::format("\n{}  {} {}:{}", indent, first ? "-" : " ", option.name, value);
        first = false;
      }
    }
    return out;
  }
  std::string operator()(Instances* instances) const { return items(*instances, instance_options()); }
  std::string operator()(Sources* sources) const { return items(*sources, source_options()); }
};

std::string limits_of(const Option& option, const Place& place) {
  if (option.most == UINT64_MAX) return "";
  if (std::holds_alternative<Size>(place))
    return fmt::format(", {} to {}", show_size(option.least), show_size(option.most));
  if (std::holds_alternative<Milliseconds*>(place)) {
    const auto shown = [](std::uint64_t ms) { return show_duration(Milliseconds{static_cast<std::int64_t>(ms)}); };
    return fmt::format(", {} to {}", shown(option.least), shown(option.most));
  }
  return fmt::format(", {} to {}", option.least, option.most);
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

template <class One>
std::string items_as_markdown(std::string_view list, std::span<const OptionOf<One>> options) {
  std::string out = fmt::format("Each of `{}` has:\n\n| Option | Type | Meaning |\n|---|---|---|\n", list);
  One one;
  for (const OptionOf<One>& option : options)
    out += fmt::format("| `{}` | {}{} | {} |\n", option.name, type_of(option.place(one), option.form, option.choices),
                       option.needed ? ", needed" : "", escaped(std::string{option.meaning}));
  return out + '\n';
}

}  // namespace

std::string show_config(const Config& config) {
  Config copy = config;
  std::string out;
  for (const Section& section : sections()) {
    const bool top = section.name.empty();
    out += fmt::format("{}# {}\n", out.empty() ? "" : "\n", section.meaning);
    if (!top) out += fmt::format("{}:\n", section.name);
    const std::string indent = top ? "" : "  ";
    for (const Option& option : section.options) {
      const Place place = option.place(copy);
      out += fmt::format("{}# {} ({}{})\n", indent, option.meaning, type_of(place, option.form, option.choices),
                         limits_of(option, place));
      out += fmt::format("{}{}:{}\n", indent, option.name, std::visit(Shown{indent}, place));
    }
  }
  return out;
}

std::string options_as_markdown() {
  Config defaults;
  std::string out;
  for (const Section& section : sections()) {
    out += fmt::format("## `{}`\n\n{}\n\n| Option | Type | Default | Meaning |\n|---|---|---|---|\n", section.title(),
                       section.meaning);
    for (const Option& option : section.options) {
      const Place place = option.place(defaults);
      const std::string value = option.needed ? "needed" : "`" + std::visit(Shown{}, place).substr(1) + "`";
      out += fmt::format("| `{}` | {}{} | {} | {} |\n", option.name, type_of(place, option.form, option.choices),
                         limits_of(option, place), value, escaped(std::string{option.meaning}));
    }
    out += '\n';
    if (section.name == "alertmanager") out += items_as_markdown("instances", instance_options());
    if (section.name == "ingest") out += items_as_markdown("sources", source_options());
  }
  out.pop_back();
  return out;
}

}  // namespace tocsin::adapters::config
