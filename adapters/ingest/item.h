#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/ingest/mapping.h"
#include "adapters/ingest/records.h"

// The step between bytes and records: what a message says, before it is known whose it is. Shared by the readers of the
// formats.
namespace tocsin::adapters::ingest {

inline constexpr std::size_t longest_message = 4u << 20, longest_name = 255, most_labels = 1024, most_values = 4096;

struct Label {
  std::string_view name, value;
};

struct Item {
  std::uint32_t place = 1;  // the line of the message
  std::optional<stream::Time> time;
  std::vector<Label> labels;
  std::vector<schemas::EntryBuilder::Value> values;  // of samples
  std::optional<std::string_view> text;              // of a log; can hold several lines
  bool error_stream = false;
  std::string_view event, source;  // of an event
  std::string_view nodes;          // of a start, as in a Record
  std::optional<stream::Duration> time_limit;
  std::vector<schemas::EntryBuilder::Field> fields;

  void clear() {
    time.reset(), text.reset();
    labels.clear(), values.clear(), fields.clear();
    event = source = nodes = {};
    time_limit.reset();
    error_stream = false;
  }
};

// Whom a reader gives what it found to. Views in the item are valid during the call.
class Items {
 public:
  virtual ~Items() = default;
  virtual void item(const Item& item) = 0;
  virtual void left_out(Reason reason, std::uint32_t place, std::string what) = 0;
  virtual void unwanted(std::uint64_t values) = 0;
};

// Texts that were made while reading, kept until the item is done with.
class MadeTexts {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  void clear() { texts_.clear(); }

 private:
  std::deque<std::string> texts_;
};

// Each line with its number, without the newline.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line, number);
  }
}

// The start of a text, in quotes, for a message.
[[nodiscard]] std::string shortened(std::string_view text);
// The same without quotes, for a name.
[[nodiscard]] std::string short_name(std::string_view name);
// A decimal number as Prometheus writes it: +Inf, -Inf and NaN too.
[[nodiscard]] std::optional<double> number_in(std::string_view text);
// The shortest text that reads back as the same number.
[[nodiscard]] std::string shortest(double number);

// Exposition text.
void read_exposition(std::string_view message, Items& out);
// Line protocol.
void read_influx(std::string_view message, Items& out);
void read_syslog(std::string_view message, Items& out);
void read_lines(std::string_view message, Items& out);
void read_kernel_records(std::string_view message, Items& out);
// The body of a request of remote write.
void read_remote_write(std::string_view message, Items& out);
// OpenTelemetry's protobuf. False: the bytes are of its JSON. `text`: where the line is looked for in a body that is a
// map.
[[nodiscard]] bool read_otlp_wire(bool logs, std::span<const std::string> text, std::string_view message, Items& out);
// A whole message of OpenTelemetry's JSON, which stands at this line.
void read_otlp_json(bool logs, std::span<const std::string> text, const std::string& json, std::uint32_t place,
                    Items& out);
// The name of a metric that Telegraf has in two parts.
[[nodiscard]] std::string telegraf_name(std::string_view measurement, std::string_view field);

}  // namespace tocsin::adapters::ingest
