#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <utility>

#include "adapters/config/config.h"
#include "adapters/config/options.h"

namespace tocsin::adapters::config {
namespace {

// On one line, so that it reads back as the same.
template <class Value>
std::string yaml(const Value& value) {
  YAML::Emitter out;
  out << YAML::Flow << value;
  return out.c_str();
}

// The value after "name:", with what is below it.
struct Shown {
  std::string indent;
  std::string operator()(const auto* value) const { return " " + yaml(*value); }
  std::string operator()(const Path* path) const { return " " + yaml(path->string()); }
  std::string operator()(Size size) const { return " " + show_size(*size.bytes); }
  std::string operator()(const Milliseconds* duration) const {
    return " " + show_duration(static_cast<std::uint64_t>(duration->count()));
  }
  std::string operator()(const PathsByName* paths) const {
    return " " + yaml(TextsByName{paths->begin(), paths->end()});
  }
  template <class Item>
  requires requires(const Item& item) { options_of(item); }
  std::string operator()(std::vector<Item>* items) const {
    if (items->empty()) return " []";
    std::string out;
    for (Item& one : *items) {
      const char* bullet = "-";
      for (const OptionOf<Item>& option : options_of(one).options) {
        const std::string value = std::visit(Shown{indent + "    "}, option.place(one));
        if ((value == " \"\"" || value == " []" || value == " {}") && !option.needed) continue;
        out += fmt::format("\n{}  {} {}:{}", indent, std::exchange(bullet, " "), option.name, value);
      }
    }
    return out;
  }
};

std::string limits_of(const Traits& option, const Place& place) {
  if (option.most == no_limit) return "";
  const auto shown = std::holds_alternative<Size>(place)            ? show_size
                     : std::holds_alternative<Milliseconds*>(place) ? show_duration
                                                                    : [](std::uint64_t n) { return std::to_string(n); };
  return fmt::format(", {} to {}", shown(option.least), shown(option.most));
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

template <class Item>
std::string items_as_markdown(std::string_view list, Item one) {
  std::string out = fmt::format("Each of `{}` has:\n\n| Option | Type | Meaning |\n|---|---|---|\n", list);
  for (const OptionOf<Item>& option : options_of(one).options)
    out += fmt::format("| `{}` | {}{} | {} |\n", option.name, type_of(option.place(one), option),
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
      out += fmt::format("{}# {} ({}{})\n", indent, option.meaning, type_of(place, option), limits_of(option, place));
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
      out += fmt::format("| `{}` | {}{} | {} | {} |\n", option.name, type_of(place, option), limits_of(option, place),
                         value, escaped(std::string{option.meaning}));
    }
    out += '\n';
    if (section.name == "alertmanager") out += items_as_markdown("instances", alertmanager::Instance{});
    if (section.name == "notify") out += items_as_markdown("receivers", notify::Receiver{});
    if (section.name == "http") out += items_as_markdown("senders", http::Sender{});
    if (section.name == "ingest") out += items_as_markdown("sources", ingest::Source{});
  }
  out.pop_back();
  return out;
}

}  // namespace tocsin::adapters::config
