#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "adapters/formats/json_lines.h"
#include "adapters/formats/parse_time.h"
#include "schemas/limits.h"
#include "stream/values/value.h"

namespace tocsin::adapters::formats {
namespace {

namespace dom = simdjson::dom;
using schemas::EntryBuilder;
using stream::Errc;
using stream::Error;
using stream::Level;
using stream::Time;

constexpr std::size_t longest_name = 255, most_signals = 4096, most_fields = 1024;

Error wrong(std::string message) { return {Errc::malformed, std::move(message)}; }
std::string quoted(std::string_view text) {
  return "'" + std::string{text.substr(0, 40)} + (text.size() > 40 ? "…'" : "'");
}

}  // namespace

std::size_t JsonRecord::room() const {
  std::size_t bytes = 128 + text.size() + source.size() + member.node.size() + member.gpu.size();
  for (const auto& value : values) bytes += 32 + value.signal.size() + value.text.size();
  for (const auto& field : fields) bytes += 40 + field.name.size() + field.text.size();
  for (const auto& covered : members) bytes += 16 + covered.node.size();
  return bytes;
}

void JsonRecord::add_to(EntryBuilder& builder, Time when) const {
  switch (what) {
    case What::samples: builder.sample(when, member, values, source); break;
    case What::line: builder.line(when, member, text, error_stream, source); break;
    case What::event: builder.event(when, member, event, fields, source); break;
    case What::coverage: builder.coverage(source, members); break;
    case What::control:
      using Kind = stream::ControlRecord::Kind;
      if (control.kind == Kind::beat) builder.beat();
      if (control.kind == Kind::watermark) builder.watermark(control.source, control.read_up_to, control.gap_from);
      if (control.kind == Kind::pack) builder.pack(control.pack_hash, control.pack_from, control.pack_text);
      if (control.kind == Kind::seal) builder.seal();
      break;
  }
}

struct JsonReader::State {
  explicit State(std::optional<Time> of_others) : otherwise(of_others) {}
  std::optional<Time> otherwise;  // the time of records without one
  dom::parser parser{longest_json_line};
  JsonRecord record;
  std::deque<std::string> texts;  // made for this line: flattened names, nested values

  std::optional<Error> read(const dom::object& object);
  std::optional<Error> where_and_when(std::string_view key, const dom::element& value, bool& known);
  std::optional<Error> value(std::string_view name, const dom::element& from);
  std::optional<Error> field(std::string name, const dom::element& from, bool nested);
  std::optional<Error> control(const dom::object& object, std::string_view kind);
  std::optional<Error> coverage(const dom::object& object, std::string_view source);
};

namespace {

std::optional<std::string_view> text_of(const dom::element& value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}
std::optional<std::uint32_t> rank_of(const dom::element& value) {
  std::uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS || number > 0xFFFFFFFEu) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}
std::optional<Time> time_of(const dom::element& value) {
  if (const auto text = text_of(value)) return parse_time(*text);
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS) return parse_time(whole);
  double number = 0;
  if (value.is_double() && value.get(number) == simdjson::SUCCESS) return parse_time(number);
  return std::nullopt;
}
std::optional<Error> short_name(std::string_view key, const dom::element& value, std::string_view& name) {
  const auto text = text_of(value);
  if (!text || text->empty() || text->size() > longest_name)
    return wrong(quoted(key) + " must be a text of 1 to 255 bytes");
  name = *text;
  return std::nullopt;
}

// A number as people write it; "NaN", "inf" and "-inf" are numbers without a form in JSON.
std::optional<double> number_of(const dom::element& value) {
  double number = 0;
  bool yes = false;
  if (value.get(number) == simdjson::SUCCESS) return number;
  if (value.get(yes) == simdjson::SUCCESS) return yes ? 1.0 : 0.0;
  if (value.is_null()) return stream::absent;
  const auto text = text_of(value);
  if (text == "NaN") return stream::measured_nan;
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  return std::nullopt;
}

}  // namespace

// Keys that any record can have.
std::optional<Error> JsonReader::State::where_and_when(std::string_view key, const dom::element& value, bool& known) {
  known = true;
  if (key == "t") {
    record.time = time_of(value);
    if (!record.time)
      return wrong(
          "'t' is not a time: write RFC 3339 with a zone (\"2026-11-21T02:14:43.5Z\") or a number of seconds, ms, us "
          "or "
          "ns since 1970");
    record.time = std::clamp(*record.time, stream::at_nanoseconds(schemas::earliest_time),
                             stream::at_nanoseconds(schemas::latest_time));
  } else if (key == "job") {
    return short_name(key, value, record.job);
  } else if (key == "source") {
    return short_name(key, value, record.source);
  } else if (key == "attempt") {
    std::uint64_t number = 0;
    if (const auto text = text_of(value); text && !text->empty() && text->size() <= longest_name)
      record.attempt = *text;
    else if (value.get(number) == simdjson::SUCCESS) record.attempt = std::to_string(number);
    else return wrong("'attempt' must be a text of 1 to 255 bytes or a whole number");
  } else if (key == "rank") {
    const auto rank = rank_of(value);
    if (!rank) return wrong("'rank' must be a whole number from 0");
    record.member.level = Level::rank;
    record.member.rank = *rank;
  } else if (key == "node") {
    std::string_view name;
    if (auto error = short_name(key, value, name)) return error;
    record.member.node = name;
  } else if (key == "gpu") {
    std::uint64_t number = 0;
    if (const auto text = text_of(value); text && !text->empty() && text->size() <= longest_name)
      record.member.gpu = *text;
    else if (value.get(number) == simdjson::SUCCESS) record.member.gpu = std::to_string(number);
    else return wrong("'gpu' must be a PCI address, a UUID or an index");
  } else {
    known = false;
  }
  return std::nullopt;
}

std::optional<Error> JsonReader::State::value(std::string_view name, const dom::element& from) {
  if (name.empty() || name.size() > longest_name) return wrong("a signal's name must have 1 to 255 bytes");
  if (record.values.size() == most_signals) return wrong("more than 4096 signals in one record: write several");
  if (const auto number = number_of(from)) record.values.push_back({name, *number, {}, false});
  else if (const auto text = text_of(from)) record.values.push_back({name, 0, *text, true});
  else
    return wrong("the value of " + quoted(name) +
                 " must be a number, a text or null: write one signal for each of its parts");
  return std::nullopt;
}

// Objects are flattened once ({"labels": {"a": 1}} is labels.a); what is deeper, and lists, become JSON text.
std::optional<Error> JsonReader::State::field(std::string name, const dom::element& from, bool nested) {
  if (name.empty() || name.size() > 2 * longest_name) return wrong("a field's name must have 1 to 255 bytes");
  if (from.is_null()) return std::nullopt;
  dom::object object;
  if (!nested && from.get(object) == simdjson::SUCCESS) {
    for (const auto inner : object)
      if (auto error = field(name + "." + std::string{inner.key}, inner.value, true)) return error;
    return std::nullopt;
  }
  if (record.fields.size() == most_fields) return wrong("more than 1024 fields in one event: write several");
  const std::string_view kept = texts.emplace_back(std::move(name));
  if (const auto text = text_of(from)) record.fields.push_back({kept, 0, *text, true});
  else if (const auto number = number_of(from)) record.fields.push_back({kept, *number, {}, false});
  else record.fields.push_back({kept, 0, texts.emplace_back(simdjson::minify(from)), true});
  return std::nullopt;
}

std::optional<Error> JsonReader::State::coverage(const dom::object& object, std::string_view source) {
  record.source = source;
  dom::array list;
  if (object["ranks"].get(list) == simdjson::SUCCESS)
    for (const auto element : list) {
      const auto rank = rank_of(element);
      if (!rank) return wrong("'ranks' must be a list of whole numbers");
      record.members.push_back(EntryBuilder::rank(*rank));
    }
  else if (object["ranks"].error() == simdjson::SUCCESS) return wrong("'ranks' must be a list of whole numbers");
  if (object["nodes"].get(list) == simdjson::SUCCESS)
    for (const auto element : list) {
      std::string_view name;
      if (auto error = short_name("nodes", element, name)) return error;
      record.members.push_back({Level::node, 0, std::string{name}, {}});
    }
  else if (object["nodes"].error() == simdjson::SUCCESS) return wrong("'nodes' must be a list of names");
  if (record.members.empty() && record.member.level != Level::job) record.members.push_back(record.member);
  return std::nullopt;
}

std::optional<Error> JsonReader::State::control(const dom::object& object, std::string_view kind) {
  using Kind = stream::ControlRecord::Kind;
  dom::element found;
  const auto time_at = [&](const char* key) {
    return object[key].get(found) == simdjson::SUCCESS ? time_of(found) : std::nullopt;
  };
  if (kind == "beat" || kind == "seal") {
    record.control.kind = kind == "beat" ? Kind::beat : Kind::seal;
  } else if (kind == "watermark") {
    record.control.kind = Kind::watermark;
    record.control.source = record.source;
    const auto time = time_at("read_up_to");
    if (!time || record.source.empty()) return wrong("a watermark needs 'source' and 'read_up_to', a time");
    record.control.read_up_to = *time;
    record.control.gap_from = time_at("gap_from").value_or(Time{});
    if (object["gap_from"].error() == simdjson::SUCCESS &&
        (record.control.gap_from == Time{} || record.control.gap_from >= *time))
      return wrong("'gap_from' of a watermark must be a time before 'read_up_to'");
  } else if (kind == "pack") {
    record.control.kind = Kind::pack;
    const auto time = time_at("from");
    if (!time || object["hash"].get(record.control.pack_hash) != simdjson::SUCCESS || record.control.pack_hash.empty())
      return wrong("a pack needs 'hash' and 'from', a time");
    record.control.pack_from = *time;
    if (object["text"].get(record.control.pack_text) != simdjson::SUCCESS) record.control.pack_text = {};
  } else {
    return wrong("'control' is " + quoted(kind) + ": beat, seal, watermark and pack are known");
  }
  return std::nullopt;
}

std::optional<Error> JsonReader::State::read(const dom::object& object) {
  static constexpr std::array kinds{"signal", "values", "line", "coverage", "control"};
  dom::element what;
  std::string_view kind;
  if (object["event"].get(what) == simdjson::SUCCESS)
    kind = "event";  // all other keys are its fields, also those named as here
  else
    for (const char* candidate : kinds) {
      dom::element found;
      if (object[candidate].get(found) != simdjson::SUCCESS) continue;
      if (!kind.empty())
        return wrong("both '" + std::string{kind} + "' and '" + candidate + "': write a line for each record");
      kind = candidate;
      what = found;
    }
  if (kind.empty())
    return wrong("says nothing: it needs one of 'signal', 'values', 'line', 'event', 'coverage', 'control'");

  const auto belongs = [&](std::string_view key) {
    if (kind == "signal") return key == "value";
    if (kind == "line") return key == "stream";
    if (kind == "coverage") return key == "ranks" || key == "nodes";
    if (kind == "control")
      return key == "read_up_to" || key == "gap_from" || key == "hash" || key == "from" || key == "text";
    return false;
  };
  for (const auto member : object) {
    bool known = false;
    if (auto error = where_and_when(member.key, member.value, known)) return error;
    if (known || member.key == kind) continue;
    if (kind == "event") {
      if (auto error = field(std::string{member.key}, member.value, false)) return error;
    } else if (!belongs(member.key)) {
      return wrong("unknown key " + quoted(member.key) + " beside '" + std::string{kind} +
                   "': only events have free fields; is it misspelt?");
    }
  }
  auto& member = record.member;
  if (member.level != Level::rank)
    member.level = !member.gpu.empty() ? Level::gpu : !member.node.empty() ? Level::node : Level::job;
  if (member.level == Level::gpu && member.node.empty()) return wrong("'gpu' without 'node': say on which node it is");
  if (!record.time) record.time = otherwise;
  if (!record.time && kind != "coverage" && kind != "control") return wrong("no 't': every record needs its time");

  if (kind == "signal") {
    const auto name = text_of(what);
    dom::element number;
    if (!name) return wrong("'signal' must be a name");
    if (object["value"].get(number) != simdjson::SUCCESS) return wrong("'signal' without 'value': null is an absence");
    return value(*name, number);
  }
  if (kind == "values") {
    dom::object values;
    if (what.get(values) != simdjson::SUCCESS || values.size() == 0)
      return wrong("'values' must be an object of signals, not empty");
    for (const auto entry : values)
      if (auto error = value(entry.key, entry.value)) return error;
    return std::nullopt;
  }
  const auto text = text_of(what);
  if (!text) return wrong("'" + std::string{kind} + "' must be a text");
  if (kind == "line") {
    record.what = JsonRecord::What::line;
    record.text = text->ends_with('\n') ? text->substr(0, text->size() - 1) : *text;
    dom::element stream_name;
    if (object["stream"].get(stream_name) == simdjson::SUCCESS) {
      const auto name = text_of(stream_name);
      if (name != "stdout" && name != "stderr") return wrong("'stream' must be stdout or stderr");
      record.error_stream = name == "stderr";
    }
    return std::nullopt;
  }
  if (text->empty() || text->size() > longest_name)
    return wrong("'" + std::string{kind} + "' must be a name of 1 to 255 bytes");
  if (kind == "event") {
    record.what = JsonRecord::What::event;
    record.event = *text;
    return std::nullopt;
  }
  if (kind == "coverage") {
    record.what = JsonRecord::What::coverage;
    return coverage(object, *text);
  }
  record.what = JsonRecord::What::control;
  return control(object, *text);
}

JsonReader::JsonReader(std::optional<Time> otherwise) : state_(std::make_unique<State>(otherwise)) {}
JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;

stream::Result<const JsonRecord*> JsonReader::read(std::string_view line) {
  State& s = *state_;
  auto values = std::move(s.record.values);
  auto fields = std::move(s.record.fields);
  auto members = std::move(s.record.members);
  values.clear(), fields.clear(), members.clear(), s.texts.clear();
  s.record = {};
  s.record.values = std::move(values), s.record.fields = std::move(fields), s.record.members = std::move(members);
  if (line.size() > longest_json_line)
    return Error{Errc::too_large,
                 "longer than " + std::to_string(longest_json_line >> 20) + " MiB: write shorter records"};

  dom::element document;
  const auto error = s.parser.parse(line.data(), line.size(), true).get(document);
  if (error == simdjson::UTF8_ERROR)
    return wrong("not UTF-8: escape the bytes, or replace them, where the line is written");
  if (error != simdjson::SUCCESS)
    return wrong(std::string{"no JSON ("} + simdjson::error_message(error) + "): write one object a line");
  dom::object object;
  if (document.get(object) != simdjson::SUCCESS) return wrong("no JSON object: write one object a line");
  if (auto problem = s.read(object)) return *problem;
  return &s.record;
}

}  // namespace tocsin::adapters::formats
