#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "adapters/config/config.h"

// The table of options: the one place that knows their names, units, limits and meanings. Reading, showing and the
// reference follow it.
namespace tocsin::adapters::config {

// What a text must be, besides text.
enum class Form : std::uint8_t { plain, name, name_or_none, host_port, url, listen, url_template };

using Texts = std::vector<std::string>;
using TextsByName = std::map<std::string, std::string>;
using PathsByName = std::map<std::string, Path>;
using Instances = std::vector<alertmanager::Instance>;
using Sources = std::vector<ingest::Source>;
struct Size {  // of memory, in bytes
  std::uint64_t* bytes;
};
// Where the value of an option is.
using Place = std::variant<std::string*, Path*, bool*, std::uint64_t*, Size, Milliseconds*, Texts*, TextsByName*,
                           PathsByName*, Instances*, Sources*>;

inline constexpr std::uint64_t no_limit = UINT64_MAX;

// An option of the configuration, or of an item of one of its lists.
template <class Of>
struct OptionOf {
  std::string_view name;
  Place (*place)(Of&);
  std::string_view meaning;
  Form form = Form::plain;
  std::uint64_t least = 0, most = no_limit;  // of a count or a size; of a duration, in milliseconds
  bool needed = false;
  std::vector<std::string> choices{};
};
using Option = OptionOf<Config>;
using InstanceOption = OptionOf<alertmanager::Instance>;
using SourceOption = OptionOf<ingest::Source>;
[[nodiscard]] std::span<const InstanceOption> instance_options();
[[nodiscard]] std::span<const SourceOption> source_options();

struct Section {
  std::string_view name, meaning;  // no name: its one option stands at the top, in the place of a section
  std::span<const Option> options;
  [[nodiscard]] std::string_view title() const { return name.empty() ? options.front().name : name; }
};
[[nodiscard]] std::span<const Section> sections();

// Options of librdkafka that are not for the configuration to set, and the option of ours in their place (empty: none).
[[nodiscard]] std::span<const std::pair<std::string_view, std::string_view>> reserved_properties();
[[nodiscard]] bool secret_property(std::string_view name);
[[nodiscard]] bool property_of_file(std::string_view name);  // may stand in kafka.property_files

// What stands for the type in messages and in the reference: "a duration (250ms, 45s, 5m, 1h)".
[[nodiscard]] std::string type_of(const Place& place, Form form, const std::vector<std::string>& choices);

// What is wrong with a text of this form, and what to write; empty: nothing.
[[nodiscard]] std::string problem_of(Form form, const std::string& name, const std::string& text);

// 250ms, 45s, 5m, 1h. 512B, 64KiB, 16MiB, 1GiB. The error says what to write.
[[nodiscard]] stream::Result<Milliseconds> parse_duration(std::string_view text);
[[nodiscard]] stream::Result<std::uint64_t> parse_size(std::string_view text);
[[nodiscard]] std::string show_duration(Milliseconds duration);
[[nodiscard]] std::string show_size(std::uint64_t bytes);

}  // namespace tocsin::adapters::config
