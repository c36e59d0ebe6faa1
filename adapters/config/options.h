#pragma once

#include <cstdint>
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
using ListsByName = std::map<std::string, Texts>;
struct Size {  // of memory, in bytes
  std::uint64_t* bytes;
};
// Where the value of an option is.
using Place =
    std::variant<std::string*, Path*, bool*, std::uint64_t*, Size, Milliseconds*, Texts*, TextsByName*, PathsByName*,
                 std::vector<alertmanager::Instance>*, std::vector<ingest::Source>*, std::vector<ingest::MappedGpu>*,
                 ListsByName*, std::vector<notify::Receiver>*, std::vector<http::Sender>*>;

inline constexpr std::uint64_t no_limit = UINT64_MAX;

struct Traits {
  std::string_view name, meaning;
  Form form = Form::plain;
  std::uint64_t least = 0, most = no_limit;  // of a count or a size; of a duration, in milliseconds
  bool needed = false;
  std::vector<std::string> choices{};
};
// An option of the configuration, or of an item of one of its lists.
template <class Of>
struct OptionOf : Traits {
  Place (*place)(Of&);
};
using Option = OptionOf<Config>;

// The options of an item of a list, and how one is written.
template <class Item>
struct ItemOptions {
  std::span<const OptionOf<Item>> options;
  std::string_view example;
};
[[nodiscard]] ItemOptions<alertmanager::Instance> options_of(const alertmanager::Instance&);
[[nodiscard]] ItemOptions<ingest::Source> options_of(const ingest::Source&);
[[nodiscard]] ItemOptions<notify::Receiver> options_of(const notify::Receiver&);
[[nodiscard]] ItemOptions<http::Sender> options_of(const http::Sender&);
[[nodiscard]] ItemOptions<ingest::MappedGpu> options_of(const ingest::MappedGpu&);
[[nodiscard]] std::span<const OptionOf<ingest::MappedNode>> node_options();

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

// What stands for the type in messages and in the reference: "a duration (45s)".
[[nodiscard]] std::string type_of(const Place& place, const Traits& option);

// What is wrong with a text of this form, and what to write; empty: nothing.
[[nodiscard]] std::string problem_of(Form form, const std::string& name, const std::string& text);

// 250ms, 45s, 5m, 1h. 512B, 64KiB, 16MiB, 1GiB. The error says what to write.
[[nodiscard]] stream::Result<Milliseconds> parse_duration(std::string_view text);
[[nodiscard]] stream::Result<std::uint64_t> parse_size(std::string_view text);
[[nodiscard]] std::string show_duration(std::uint64_t milliseconds);
[[nodiscard]] std::string show_size(std::uint64_t bytes);

}  // namespace tocsin::adapters::config
