// What values look like as text: forms of texts, durations and sizes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "adapters/config/options.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::config {
namespace {

using stream::Errc;
using stream::Error;

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool host_and_port(const std::string& text) {
  const auto url = net::parse_url("http://" + text);
  const auto colon = text.rfind(':'), bracket = text.rfind(']');
  return url && url->prefix.empty() && colon != text.npos && (bracket == text.npos || colon > bracket);
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr Unit times[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
constexpr Unit sizes[] = {{"B", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}};

stream::Result<std::uint64_t> parse(std::string_view text, std::span<const Unit> units, std::string_view examples) {
  std::uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  if (wrong == std::errc::result_out_of_range) return Error{Errc::too_large, "is too large"};
  if (wrong != std::errc{})
    return Error{Errc::malformed, fmt::format("'{}' is not a whole number with a unit: write {}", text, examples)};
  if (unit.empty()) return Error{Errc::malformed, fmt::format("{} has no unit: write {}", text, examples)};
  const auto one = std::find_if(units.begin(), units.end(), [&](const Unit& known) { return known.name == unit; });
  if (one == units.end())
    return Error{Errc::malformed, fmt::format("'{}' is none of the units: write {}", unit, examples)};
  if (number > std::numeric_limits<std::int64_t>::max() / one->factor) return Error{Errc::too_large, "is too large"};
  return number * one->factor;
}

// In the largest unit that it is a multiple of.
std::string show(std::uint64_t value, std::span<const Unit> units) {
  Unit best = units.front();
  for (const Unit& unit : units)
    if (value != 0 && value % unit.factor == 0) best = unit;
  return fmt::format("{}{}", value / best.factor, best.name);
}

}  // namespace

std::string problem_of(Form form, const std::string& name, const std::string& text) {
  if (text.empty())
    return form == Form::name ? fmt::format("{} is empty: write a name of letters, digits, '.', '_' and '-'", name)
                              : std::string{};
  switch (form) {
    case Form::url: {
      const auto url = net::parse_url(text);
      return url ? std::string{} : fmt::format("{}: {}", name, url.error().message);
    }
    case Form::url_template:
      if (text.starts_with("http://") || text.starts_with("https://")) return {};
      return fmt::format("{} is a URL: write https://HOST/PATH, and not '{}'", name, text);
    case Form::listen: {
      const auto listen = net::parse_listen(text);
      return listen ? std::string{} : fmt::format("{}: {}", name, listen.error().message);
    }
    case Form::host_port:
      if (text.find('@') != text.npos)
        return fmt::format("{} has a user or password in it: write HOST:PORT, and the user in kafka.properties", name);
      if (host_and_port(text)) return {};
      return fmt::format("{} has '{}', which is not HOST:PORT: write broker1.example:9092", name, text);
    case Form::name:
    case Form::name_or_none:
      if (text.size() <= 200 && std::all_of(text.begin(), text.end(), name_character)) return {};
      return fmt::format("{} is a name of letters, digits, '.', '_' and '-', and not '{}'", name, text);
    case Form::plain: break;
  }
  return {};
}

stream::Result<Milliseconds> parse_duration(std::string_view text) {
  const auto value = parse(text, times, "250ms, 45s, 5m or 1h");
  if (!value) return value.error();
  return Milliseconds{static_cast<std::int64_t>(*value)};
}
stream::Result<std::uint64_t> parse_size(std::string_view text) {
  return parse(text, sizes, "512B, 64KiB, 16MiB or 1GiB");
}
std::string show_duration(std::uint64_t milliseconds) { return show(milliseconds, times); }
std::string show_size(std::uint64_t bytes) { return show(bytes, sizes); }

std::string type_of(const Place& place, const Traits& option) {
  const auto& choices = option.choices;
  if (choices.size() > 1)
    return fmt::format("{} or {}", fmt::join(choices.begin(), choices.end() - 1, ", "), choices.back());
  // By the types of a Place, and by Form.
  static constexpr std::array types{"a text",
                                    "a path",
                                    "true or false",
                                    "a whole number",
                                    "a size (64KiB)",
                                    "a duration (45s)",
                                    "a list of texts",
                                    "texts by name",
                                    "paths by name",
                                    "a list of instances",
                                    "a list of sources",
                                    "a list of GPUs",
                                    "texts or lists by name",
                                    "a list of receivers",
                                    "a list of senders"};
  static_assert(types.size() == std::variant_size_v<Place>);
  static constexpr std::array forms{"a text", "a name", "a name", "HOST:PORT", "a URL", "ADDRESS:PORT", "a URL"};
  if (std::holds_alternative<std::string*>(place)) return forms[static_cast<std::size_t>(option.form)];
  if (option.form == Form::host_port) return "a list of HOST:PORT";
  return types[place.index()];
}

}  // namespace tocsin::adapters::config
