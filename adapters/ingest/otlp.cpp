// OpenTelemetry's messages, in protobuf and in JSON.
#include <google/protobuf/util/json_util.h>
#include <otlp.pb.h>

#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {
namespace {

// A Scalar or a Body as a text; nothing for what is no scalar.
template <class Value>
std::optional<std::string_view> text_of(const Value& value, MadeTexts& texts) {
  switch (value.value_case()) {
    case Value::kStringValue: return value.string_value();
    case Value::kBoolValue: return value.bool_value() ? "true" : "false";
    case Value::kIntValue: return texts.keep(std::to_string(value.int_value()));
    case Value::kDoubleValue: return texts.keep(shortest(value.double_value()));
    default: return std::nullopt;
  }
}

// Gives the records of a message. The labels of a record are its attributes, and behind them those of its resource.
class Reading {
 public:
  Reading(std::span<const std::string> text, Items& out) : text_(text), out_(out) {}

  void read(const otlp::Metrics& message) {
    for (const auto& group : message.resource_metrics())
      for (const auto& scope : group.scope_metrics())
        for (const auto& metric : scope.metrics()) read(metric, group.resource());
  }
  void read(const otlp::Logs& message) {
    for (const auto& group : message.resource_logs())
      for (const auto& scope : group.scope_logs())
        for (const auto& record : scope.log_records()) read(record, group.resource());
  }

 private:
  template <class Attributes>
  void add(const Attributes& attributes) {
    for (const otlp::Attribute& one : attributes)
      if (const auto text = text_of(one.value(), texts_);
          text && !one.key().empty() && item_.labels.size() < most_labels)
        item_.labels.push_back({one.key(), *text});
  }
  template <class Record>
  void begin(const Record& record) {
    item_.clear(), texts_.clear();
    item_.place = ++place_;
    add(record.attributes());
  }
  // 0 is no time.
  void time(std::uint64_t nanoseconds) {
    if (nanoseconds != 0 && nanoseconds < std::uint64_t{1} << 62)
      item_.time = stream::at_nanoseconds(static_cast<std::int64_t>(nanoseconds));
  }

  void read(const otlp::Metric& metric, const otlp::Resource& resource) {
    const std::string& name = metric.name();
    if (name.empty() || name.size() > longest_name)
      return out_.left_out(Reason::malformed, place_ + 1, "a metric needs a name of 1 to 255 bytes");
    if (metric.data_case() == otlp::Metric::DATA_NOT_SET) return out_.unwanted(1);  // a histogram or a summary
    const otlp::Numbers& numbers = metric.has_sum() ? metric.sum() : metric.gauge();
    for (const otlp::Point& point : numbers.data_points()) {
      begin(point);
      time(point.time_unix_nano());
      add(resource.attributes());
      const bool recorded = point.value_case() != otlp::Point::VALUE_NOT_SET && (point.flags() & 1) == 0;
      if (numbers.aggregation_temporality() == otlp::AGGREGATION_TEMPORALITY_DELTA) {
        out_.left_out(Reason::unsupported, place_,
                      "the value is a difference (temporality delta): let the collector's processor "
                      "deltatocumulative make sums of them");
      } else if (!recorded) {
        out_.unwanted(1);
      } else {
        const double number = point.has_as_int() ? static_cast<double>(point.as_int()) : point.as_double();
        item_.values.push_back({name, number, {}, false});
        out_.item(item_);
      }
    }
  }

  void read(const otlp::LogRecord& record, const otlp::Resource& resource) {
    begin(record);
    time(record.observed_time_unix_nano());
    time(record.time_unix_nano());
    add(record.body().kvlist_value().values());
    add(resource.attributes());
    item_.text = text_of(record.body(), texts_);
    for (std::size_t i = 0; i < text_.size() && !item_.text; ++i)
      for (const Label& label : item_.labels)
        if (label.name == text_[i] && !item_.text) item_.text = label.value;
    if (item_.text) return out_.item(item_);
    out_.left_out(Reason::malformed, place_,
                  "a record of a log whose body is neither a text nor a map with one (option text)");
  }

  std::span<const std::string> text_;
  Items& out_;
  Item item_;
  MadeTexts texts_;
  std::uint32_t place_ = 0;  // the number of the record in the message
};

template <class Message>
bool read_wire(std::span<const std::string> text, std::string_view message, Items& out) {
  // JSON begins with a brace, behind blanks at most. So does protobuf whose first group is as long as a brace's code,
  // 123 bytes: the tag in front is a newline's.
  const auto first = message.find_first_not_of(" \t\r\n");
  const bool braced = first != message.npos && message[first] == '{';
  if (braced && message.front() != '\n') return false;
  Message parsed;
  if (parsed.ParseFromArray(message.data(), static_cast<int>(message.size()))) Reading{text, out}.read(parsed);
  else if (braced) return false;
  else out.left_out(Reason::malformed, 1, "not an OTLP protobuf message, or cut short");
  return true;
}

template <class Message>
void read_json(std::span<const std::string> text, const std::string& json, std::uint32_t place, Items& out) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Message parsed;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &parsed, options);
  if (!status.ok())
    return out.left_out(Reason::malformed, place, "not an OTLP message in JSON: " + status.message().ToString());
  const std::string& groups = Message::descriptor()->field(0)->json_name();
  const bool none = json.find('"' + groups + "\":[") == json.npos;  // of an empty list, too, nothing is parsed
  if (parsed.ByteSizeLong() == 0 && none)
    return out.left_out(Reason::malformed, place, "no '" + groups + "': not an OTLP message in JSON");
  Reading{text, out}.read(parsed);
}

}  // namespace

bool read_otlp_wire(bool logs, std::span<const std::string> text, std::string_view message, Items& out) {
  return logs ? read_wire<otlp::Logs>(text, message, out) : read_wire<otlp::Metrics>(text, message, out);
}

void read_otlp_json(bool logs, std::span<const std::string> text, const std::string& json, std::uint32_t place,
                    Items& out) {
  logs ? read_json<otlp::Logs>(text, json, place, out) : read_json<otlp::Metrics>(text, json, place, out);
}

}  // namespace tocsin::adapters::ingest
