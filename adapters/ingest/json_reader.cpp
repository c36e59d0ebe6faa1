#include "adapters/ingest/json_reader.h"

#include <algorithm>

#include "adapters/formats/parse_time.h"
#include "adapters/ingest/json_values.h"
#include "stream/values/utf8.h"

namespace tocsin::adapters::ingest {
namespace {

constexpr int deepest = 8;  // of objects in one another

}  // namespace

struct JsonMessages::State {
  dom::parser parser{longest_message};
  Item item;
  MadeTexts texts;
  std::string path;

  // The scalars of an object and of those in it, each under its path with dots. False: too many.
  bool flatten(const dom::object& object, int depth) {
    for (const auto pair : object) {
      const std::size_t before = path.size();
      if (before != 0) path += '.';
      path += pair.key;
      dom::object inner;
      bool fits = true;
      if (pair.value.get(inner) == simdjson::SUCCESS) {
        fits = depth == deepest || flatten(inner, depth + 1);
      } else if (const auto value = scalar_of(pair.value, texts)) {
        fits = item.labels.size() < most_labels;
        if (fits) item.labels.push_back({before == 0 ? pair.key : texts.keep(path), *value});
      }
      path.resize(before);
      if (!fits) return false;
    }
    return true;
  }

  const Label* first_of(std::span<const std::string> names) const {
    for (const std::string& name : names)
      for (const Label& label : item.labels)
        if (label.name == name) return &label;
    return nullptr;
  }

  std::string read_log(const dom::object& object, const LogFields& fields) {
    path.clear();
    if (!flatten(object, 0)) return "more than 1024 fields";
    const Label* text = first_of(fields.text);
    if (text == nullptr) {
      std::string names;
      for (const std::string& name : fields.text) names += (names.empty() ? "" : ", ") + name;
      return "no text of a line: it has none of the fields " + names + " (option text)";
    }
    item.text = text->value;
    if (const Label* time = first_of(fields.time)) {
      item.time = formats::parse_time(time->value);
      if (const auto number = number_in(time->value); !item.time && number) item.time = formats::parse_time(*number);
    }
    for (const Label& label : item.labels)
      if (label.name == "stream" && label.value == "stderr") item.error_stream = true;
    return {};
  }

  void read_object(Format format, const LogFields& fields, const dom::element& element, std::uint32_t place,
                   Items& out) {
    item.clear(), texts.clear();
    item.place = place;
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS) return out.left_out(Reason::malformed, place, "no JSON object");
    ObjectReading reading{item, texts, 0, {}};
    std::string problem;
    switch (format) {
      case Format::prometheus_json: problem = read_prometheus(object, reading); break;
      case Format::telegraf_json: problem = read_telegraf(object, reading); break;
      case Format::otlp_metrics:
      case Format::otlp_logs:
        return read_otlp_json(format == Format::otlp_logs, fields.text, simdjson::minify(object), place, out);
      case Format::slurm_jobcomp: problem = read_slurm(object, reading); break;
      case Format::vector_metrics: problem = read_vector(object, reading); break;
      default: problem = read_log(object, fields);
    }
    if (!problem.empty()) return out.left_out(Reason::malformed, place, std::move(problem));
    if (!reading.unsupported.empty()) return out.left_out(Reason::unsupported, place, std::move(reading.unsupported));
    if (reading.unwanted != 0) out.unwanted(reading.unwanted);
    if (item.text || !item.values.empty() || !item.event.empty()) out.item(item);
  }

  void read_document(Format format, const LogFields& fields, const dom::element& document, std::uint32_t place,
                     Items& out) {
    dom::array list;
    dom::object object;
    const bool batch = format == Format::telegraf_json && document.get(object) == simdjson::SUCCESS &&
                       object["metrics"].get(list) == simdjson::SUCCESS;
    if (!batch && document.get(list) != simdjson::SUCCESS) return read_object(format, fields, document, place, out);
    for (const auto element : list) read_object(format, fields, element, place, out);
  }

  // A message that is one document; what is not may be a document a line.
  simdjson::error_code parse(std::string_view text, dom::element& document) {
    auto error = parser.parse(text.data(), text.size(), true).get(document);
    if (error == simdjson::UTF8_ERROR) {  // lines of logs can hold any bytes
      const std::string mended = stream::as_utf8(text);
      error = mended.size() > longest_message ? simdjson::CAPACITY : parser.parse(mended).get(document);
    }
    return error;
  }
};

JsonMessages::JsonMessages() : state_(std::make_unique<State>()) {}
JsonMessages::~JsonMessages() = default;
JsonMessages::JsonMessages(JsonMessages&&) noexcept = default;

void JsonMessages::read(Format format, const LogFields& fields, std::string_view message, Items& out) {
  State& s = *state_;
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r' || message.back() == ' '))
    message.remove_suffix(1);
  dom::element document;
  const auto whole = s.parse(message, document);
  if (whole == simdjson::SUCCESS) return s.read_document(format, fields, document, 1, out);
  const auto report = [&](simdjson::error_code error, std::string_view text, std::uint32_t place) {
    out.left_out(Reason::malformed, place,
                 std::string{"no JSON ("} + simdjson::error_message(error) + "): " + shortened(text));
  };
  if (message.find('\n') == message.npos) return report(whole, message, 1);
  each_line(message, [&](std::string_view line, std::uint32_t number) {
    if (line.find_first_not_of(" \t") == line.npos) return;
    if (const auto error = s.parse(line, document); error != simdjson::SUCCESS) report(error, line, number);
    else s.read_document(format, fields, document, number, out);
  });
}

}  // namespace tocsin::adapters::ingest
