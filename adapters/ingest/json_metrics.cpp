// An object of each format of metrics in JSON.
#include "adapters/formats/parse_time.h"
#include "adapters/ingest/json_values.h"

namespace tocsin::adapters::ingest {

using schemas::EntryBuilder;

std::optional<std::string_view> text_of(const dom::element& value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<double> number_of(const dom::element& value) {
  double number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  if (const auto text = text_of(value)) return number_in(*text);
  return std::nullopt;
}

std::optional<stream::Time> time_of(const dom::element& value) {
  if (const auto text = text_of(value)) {
    if (const auto time = formats::parse_time(*text)) return time;
    const auto number = number_in(*text);
    return number ? formats::parse_time(*number) : std::nullopt;
  }
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS && whole > 100'000'000'000'000'000)
    return stream::at_nanoseconds(whole);  // exactly
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS) return std::nullopt;
  return formats::parse_time(number);
}

std::optional<std::string_view> scalar_of(const dom::element& value, MadeTexts& texts) {
  if (const auto text = text_of(value)) return text;
  if (value.is_object() || value.is_array() || value.is_null()) return std::nullopt;
  return texts.keep(simdjson::minify(value));
}

bool add_labels(const dom::object& object, Item& item, MadeTexts& texts) {
  for (const auto pair : object) {
    auto value = scalar_of(pair.value, texts);
    dom::array list;
    if (!value && pair.value.get(list) == simdjson::SUCCESS)  // Vector writes a tag with several values as a list
      for (const auto one : list)
        if ((value = text_of(one))) break;
    if (!value) continue;
    if (item.labels.size() == most_labels) return false;
    item.labels.push_back({pair.key, *value});
  }
  return true;
}

namespace {

constexpr const char* too_many_labels = "more than 1024 labels";

std::string name_problem(std::string_view name) {
  return name.empty() || name.size() > longest_name ? "'name' is the name of the metric, of 1 to 255 bytes" : "";
}

}  // namespace

std::string read_prometheus(const dom::object& object, ObjectReading& to) {
  dom::element found;
  dom::object labels;
  if (object["labels"].get(labels) == simdjson::SUCCESS && !add_labels(labels, to.item, to.texts))
    return too_many_labels;
  std::string_view name;
  bool part = false;
  for (const Label& label : to.item.labels) {
    if (label.name == "__name__") name = label.value;
    part = part || label.name == "le" || label.name == "quantile";
  }
  if (object["name"].get(name) != simdjson::SUCCESS && name.empty()) return "no 'name'";
  if (auto problem = name_problem(name); !problem.empty()) return problem;
  if (object["value"].get(found) != simdjson::SUCCESS) return "no 'value'";
  const auto value = number_of(found);
  if (!value) return "'value' is not a number";
  if (object["timestamp"].get(found) == simdjson::SUCCESS) to.item.time = time_of(found);
  // NaN is how a series ends: the marker of staleness has no other form here.
  if (part || *value != *value) to.unwanted = 1;
  else to.item.values.push_back({name, *value, {}, false});
  return {};
}

std::string read_telegraf(const dom::object& object, ObjectReading& to) {
  dom::element found;
  dom::object tags, fields;
  std::string_view measurement;
  if (object["name"].get(measurement) != simdjson::SUCCESS)
    return "no 'name': write data_format = \"json\" for Telegraf's output";
  if (auto problem = name_problem(measurement); !problem.empty()) return problem;
  if (object["fields"].get(fields) != simdjson::SUCCESS) return "no 'fields'";
  if (object["tags"].get(tags) == simdjson::SUCCESS && !add_labels(tags, to.item, to.texts)) return too_many_labels;
  if (object["timestamp"].get(found) == simdjson::SUCCESS) to.item.time = time_of(found);
  for (const auto field : fields) {
    if (to.item.values.size() == most_values) return "more than 4096 fields";
    const std::string_view name = to.texts.keep(telegraf_name(measurement, field.key));
    if (name.size() > longest_name) return "name and field together have more than 255 bytes";
    double number = 0;
    bool yes = false;
    if (field.value.get(number) == simdjson::SUCCESS) to.item.values.push_back({name, number, {}, false});
    else if (field.value.get(yes) == simdjson::SUCCESS) to.item.values.push_back({name, yes ? 1.0 : 0.0, {}, false});
    else if (const auto text = text_of(field.value)) to.item.values.push_back({name, 0, *text, true});
    else ++to.unwanted;
  }
  return {};
}

std::string read_vector(const dom::object& object, ObjectReading& to) {
  dom::element found;
  dom::object tags, part;
  std::string_view name, space, kind;
  if (object["name"].get(name) != simdjson::SUCCESS) return "no 'name'";
  if (object["namespace"].get(space) == simdjson::SUCCESS && !space.empty())
    name = to.texts.keep(std::string{space} + '_' + std::string{name});
  if (auto problem = name_problem(name); !problem.empty()) return problem;
  if (object["tags"].get(tags) == simdjson::SUCCESS && !add_labels(tags, to.item, to.texts)) return too_many_labels;
  if (object["timestamp"].get(found) == simdjson::SUCCESS) to.item.time = time_of(found);
  const bool counter = object["counter"].get(part) == simdjson::SUCCESS;
  if (!counter && object["gauge"].get(part) != simdjson::SUCCESS) {
    to.unwanted = 1;  // a set, a distribution, a histogram, a summary
    return {};
  }
  if (object["kind"].get(kind) == simdjson::SUCCESS && kind == "incremental") {
    to.unsupported =
        "the value is a difference (kind incremental): let Vector's transform incremental_to_absolute make sums of "
        "them";
    return {};
  }
  const auto value = part["value"].get(found) == simdjson::SUCCESS ? number_of(found) : std::nullopt;
  if (!value) return counter ? "'counter' has no 'value' that is a number" : "'gauge' has no 'value' that is a number";
  to.item.values.push_back({name, *value, {}, false});
  return {};
}

}  // namespace tocsin::adapters::ingest
