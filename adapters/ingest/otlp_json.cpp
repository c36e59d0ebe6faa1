// OpenTelemetry's JSON: the same messages as its protobuf.
#include <charconv>

#include "adapters/ingest/json_values.h"
#include "adapters/ingest/otlp.h"

namespace tocsin::adapters::ingest {
namespace {

// Visits the objects of a list; what is none is left out.
template <class Visit>
void each_of(const dom::object& object, const char* name, Visit visit) {
  dom::array list;
  if (object[name].get(list) != simdjson::SUCCESS) return;
  for (const auto element : list) {
    dom::object item;
    if (element.get(item) == simdjson::SUCCESS) visit(item);
  }
}

std::optional<std::string_view> scalar(const dom::object& value, MadeTexts& texts) {
  for (const char* name : {"stringValue", "intValue", "doubleValue", "boolValue"}) {
    dom::element element;
    if (value[name].get(element) == simdjson::SUCCESS) return scalar_of(element, texts);
  }
  return std::nullopt;
}

template <class Add>
void each_attribute(const dom::object& owner, const char* list, MadeTexts& texts, Add add) {
  each_of(owner, list, [&](const dom::object& pair) {
    std::string_view key;
    dom::object value;
    if (pair["key"].get(key) != simdjson::SUCCESS || pair["value"].get(value) != simdjson::SUCCESS) return;
    if (const auto text = scalar(value, texts)) add(Label{key, *text});
  });
}

// A whole number of 64 bits, which JSON has as a text.
std::uint64_t whole(const dom::object& object, const char* name) {
  dom::element element;
  std::uint64_t number = 0;
  if (object[name].get(element) != simdjson::SUCCESS || element.get(number) == simdjson::SUCCESS) return number;
  const std::string_view text = text_of(element).value_or("");
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  return wrong == std::errc{} && end == text.data() + text.size() ? number : 0;
}

void read_metric(const dom::object& metric, OtlpRecords& records) {
  std::string_view name;
  dom::object data;
  if (metric["name"].get(name) != simdjson::SUCCESS) name = {};
  if (!records.good_name(name)) return;
  const bool sum = metric["sum"].get(data) == simdjson::SUCCESS;
  if (!sum && metric["gauge"].get(data) != simdjson::SUCCESS) return records.unwanted();
  dom::element temporality;
  const bool differences = sum && data["aggregationTemporality"].get(temporality) == simdjson::SUCCESS &&
                           (number_of(temporality) == 1.0 || text_of(temporality) == "AGGREGATION_TEMPORALITY_DELTA");
  each_of(data, "dataPoints", [&](const dom::object& point) {
    records.begin_record();
    each_attribute(point, "attributes", records.texts, [&](Label label) { records.add_to_record(label); });
    records.time(whole(point, "timeUnixNano"));
    dom::element value;
    const bool there =
        point["asDouble"].get(value) == simdjson::SUCCESS || point["asInt"].get(value) == simdjson::SUCCESS;
    records.give_sample(name, there ? number_of(value) : std::nullopt, differences);
  });
}

void read_log(const dom::object& record, OtlpRecords& records) {
  records.begin_record();
  const auto add = [&](Label label) { records.add_to_record(label); };
  each_attribute(record, "attributes", records.texts, add);
  records.time(whole(record, "observedTimeUnixNano"));
  records.time(whole(record, "timeUnixNano"));
  dom::object body, map;
  if (record["body"].get(body) == simdjson::SUCCESS) {
    records.item.text = scalar(body, records.texts);
    if (body["kvlistValue"].get(map) == simdjson::SUCCESS) each_attribute(map, "values", records.texts, add);
  }
  records.give_line();
}

}  // namespace

void read_otlp_json(bool logs, std::span<const std::string> text, const dom::object& message, std::uint32_t place,
                    Items& out) {
  const char* const list = logs ? "resourceLogs" : "resourceMetrics";
  if (message[list].error() != simdjson::SUCCESS)
    return out.left_out(Reason::malformed, place, std::string{"no '"} + list + "': this is no message of OTLP's JSON");
  OtlpRecords records{text, out};
  each_of(message, list, [&](const dom::object& group) {
    records.begin_resource();
    dom::object resource;
    if (group["resource"].get(resource) == simdjson::SUCCESS)
      each_attribute(resource, "attributes", records.texts, [&](Label label) { records.add_to_resource(label); });
    each_of(group, logs ? "scopeLogs" : "scopeMetrics", [&](const dom::object& scope) {
      each_of(scope, logs ? "logRecords" : "metrics", [&](const dom::object& record) {
        if (logs) read_log(record, records);
        else read_metric(record, records);
      });
    });
  });
}

}  // namespace tocsin::adapters::ingest
