#include "adapters/formats/json.h"
#include "adapters/formats/json_lines.h"
#include "adapters/formats/parse_time.h"

namespace tocsin::adapters::formats {
namespace {

using stream::Entry;
using stream::Level;
using stream::MemberKey;
using stream::Time;

// A number where its size says that it counts nanoseconds, else a text.
Json json_of(Time time) {
  const std::int64_t ns = stream::nanoseconds(time);
  if (ns >= 100'000'000'000'000'000) return ns;
  return rfc3339(time, 9);
}

Json begin(const Entry& entry, Time time, const MemberKey& member) {
  Json line{{"t", json_of(time)}};
  put(line, "job", entry.subject);
  put(line, "attempt", entry.attempt);
  if (member.level == Level::rank) line["rank"] = member.rank;
  put(line, "node", member.node);
  put(line, "gpu", member.gpu);
  return line;
}

void add(std::string& out, const Json& line) { out += dump(line) += '\n'; }

// The members of an object, as text: a name may stand twice, and both are read.
void put_member(std::string& members, std::string_view name, const Json& value) {
  if (!members.empty()) members += ',';
  members += dump(name) + ':' + dump(value);
}

void put_record(std::string& out, const Entry& entry, const stream::SampleBlock& block) {
  std::size_t i = 0;
  for (const Time time : block.times)
    for (const MemberKey& member : block.members) {
      Json line = begin(entry, time, member);
      put(line, "source", block.source);
      std::string values;
      for (const auto& signal : block.signals) {
        Json value;
        if (block.has(i)) {
          if (signal.unit == "text") value = block.texts[static_cast<std::size_t>(block.value(i))];
          else value = json_number(block.value(i));
        }
        put_member(values, signal.name, value);
        ++i;
      }
      std::string text = dump(line);
      text.back() = ',';
      out += text + "\"values\":{" + values + "}}\n";
    }
}

void put_record(std::string& out, const Entry& entry, const stream::CoverageRecord& coverage) {
  const auto begun = [&](const MemberKey& member) {
    Json line = begin(entry, entry.arrival, member);
    put(line, "coverage", coverage.source);
    return line;
  };
  Json line = begun({});
  std::size_t alone = 0;  // members with more than a number or a name have a line each
  for (const MemberKey& member : coverage.members)
    if (member.level == Level::gpu || (member.level == Level::rank && !member.node.empty())) {
      add(out, begun(member));
      ++alone;
    } else if (member.level == Level::rank) {
      line["ranks"].push_back(member.rank);
    } else if (member.level == Level::node) {
      line["nodes"].push_back(member.node);
    }
  if (alone == 0 || alone < coverage.members.size()) add(out, line);
}

void put_control(std::string& out, const Entry& entry, const stream::ControlRecord& control) {
  using Kind = stream::ControlRecord::Kind;
  Json line{{"t", json_of(entry.arrival)}};
  switch (control.kind) {
    case Kind::beat: line["control"] = "beat"; break;
    case Kind::seal: line["control"] = "seal"; break;
    case Kind::watermark:
      line["control"] = "watermark";
      put(line, "source", control.source);
      line["read_up_to"] = json_of(control.read_up_to);
      if (control.gap_from != stream::Time{}) line["gap_from"] = json_of(control.gap_from);
      break;
    case Kind::pack:
      line["control"] = "pack";
      put(line, "hash", control.pack_hash);
      line["from"] = json_of(control.pack_from);
      put(line, "text", control.pack_text);
      break;
  }
  add(out, line);
}

void put_record(std::string& out, const Entry& entry, const stream::LineRecord& record) {
  Json line = begin(entry, record.time, record.member);
  line["line"] = record.text;
  if (record.error_stream) line["stream"] = "stderr";
  put(line, "source", record.source);
  add(out, line);
}

void put_record(std::string& out, const Entry& entry, const stream::EventRecord& event) {
  Json line = begin(entry, event.time, event.member);
  put(line, "source", event.source);
  put(line, "event", event.name);
  std::string text = dump(line), fields;
  for (const auto& [name, value] : event.fields) {
    const auto* number = std::get_if<double>(&value);
    put_member(fields, name, number != nullptr ? json_number(*number) : Json(std::get<std::string_view>(value)));
  }
  // A field may have the name of a key: behind "event", all keys are fields.
  if (!fields.empty()) text.back() = ',', text += fields + '}';
  out += text + '\n';
}

}  // namespace

std::string to_json(const Entry& entry) {
  std::string out;
  in_order(entry, [&](const auto& record) { put_record(out, entry, record); });
  for (const auto& control : entry.controls) put_control(out, entry, control);
  return out;
}

}  // namespace tocsin::adapters::formats
