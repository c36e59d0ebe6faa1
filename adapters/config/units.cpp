#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

#include "adapters/config/options.h"

namespace tocsin::adapters::config {
namespace {

using stream::Errc;
using stream::Error;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr Unit times[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
constexpr Unit sizes[] = {{"B", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}};

template <std::size_t N>
stream::Result<std::uint64_t> parse(std::string_view text, const Unit (&units)[N], std::string_view examples) {
  std::uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  if (wrong == std::errc::result_out_of_range) return Error{Errc::too_large, "is too large"};
  if (wrong != std::errc{})
    return Error{Errc::malformed, fmt::format("'{}' is no whole number with a unit: write {}", text, examples)};
  if (unit.empty()) return Error{Errc::malformed, fmt::format("{} has no unit: write {}", text, examples)};
  for (const Unit& one : units)
    if (one.name == unit) {
      if (number > std::numeric_limits<std::int64_t>::max() / one.factor) return Error{Errc::too_large, "is too large"};
      return number * one.factor;
    }
  return Error{Errc::malformed, fmt::format("'{}' is none of the units: write {}", unit, examples)};
}

template <std::size_t N>
std::string show(std::uint64_t value, const Unit (&units)[N]) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < N; ++i)
    if (value != 0 && value % units[i].factor == 0) best = i;
  return fmt::format("{}{}", value / units[best].factor, units[best].name);
}

}  // namespace

stream::Result<Milliseconds> parse_duration(std::string_view text) {
  const auto value = parse(text, times, "250ms, 45s, 5m or 1h");
  if (!value) return value.error();
  return Milliseconds{static_cast<std::int64_t>(*value)};
}
stream::Result<std::uint64_t> parse_size(std::string_view text) {
  return parse(text, sizes, "512B, 64KiB, 16MiB or 1GiB");
}
std::string show_duration(Milliseconds duration) { return show(static_cast<std::uint64_t>(duration.count()), times); }
std::string show_size(std::uint64_t bytes) { return show(bytes, sizes); }

std::string type_of(const Place& place, Form form, const std::vector<std::string>& choices) {
  if (!choices.empty()) {
    std::string all;
    for (std::size_t i = 0; i < choices.size(); ++i)
      all += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
    return all;
  }
  struct Name {
    Form form;
    std::string operator()(const std::string*) const {
      switch (form) {
        case Form::host_port: return "HOST:PORT";
        case Form::url: return "a URL";
        case Form::url_template: return "a URL";
        case Form::listen: return "ADDRESS:PORT";
        case Form::name:
        case Form::name_or_none: return "a name";
        default: return "a text";
      }
    }
    std::string operator()(const Path*) const { return "a path"; }
    std::string operator()(const bool*) const { return "true or false"; }
    std::string operator()(const std::uint64_t*) const { return "a whole number"; }
    std::string operator()(Size) const { return "a size (64KiB)"; }
    std::string operator()(const Milliseconds*) const { return "a duration (45s)"; }
    std::string operator()(const Texts*) const {
      return form == Form::host_port ? "a list of HOST:PORT" : "a list of texts";
    }
    std::string operator()(const TextsByName*) const { return "texts by name"; }
    std::string operator()(const PathsByName*) const { return "paths by name"; }
    std::string operator()(const Instances*) const { return "a list of instances"; }
    std::string operator()(const Sources*) const { return "a list of sources"; }
  };
  return std::visit(Name{form}, place);
}

}  // namespace tocsin::adapters::config
