#include "adapters/formats/json_lines.h"
#include "adapters/formats/json_text.h"

namespace tocsin::adapters::formats {
namespace {

using stream::Entry;
using stream::Level;
using stream::MemberKey;
using stream::Time;

// A number where its size says that it counts nanoseconds, else a text.
void put_time(std::string& out, std::string_view key, Time time) {
  put_key(out, key);
  const std::int64_t ns = stream::nanoseconds(time);
  if (ns >= 100'000'000'000'000'000) return put_whole(out, ns);
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  const auto padded = [](std::int64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
  };
  put_text(out, padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) + "-" +
                    padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(clock.hours().count(), 2) + ":" +
                    padded(clock.minutes().count(), 2) + ":" + padded(clock.seconds().count(), 2) + "." +
                    padded(clock.subseconds().count(), 9) + "Z");
}

void put(std::string& out, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  put_key(out, key);
  put_text(out, text);
}

// Begins a line on its own: `out` is filled line by line.
std::string begin(const Entry& entry, Time time, const MemberKey& member) {
  std::string line = "{";
  put_time(line, "t", time);
  put(line, "job", entry.subject);
  put(line, "attempt", entry.attempt);
  if (member.level == Level::rank) {
    put_key(line, "rank");
    put_whole(line, member.rank);
  }
  put(line, "node", member.node);
  put(line, "gpu", member.gpu);
  return line;
}

void put_samples(std::string& out, const Entry& entry, const stream::SampleBlock& block) {
  std::size_t i = 0;
  for (const Time time : block.times)
    for (const MemberKey& member : block.members) {
      std::string line = begin(entry, time, member);
      put(line, "source", block.source);
      put_key(line, "values");
      line += '{';
      for (const auto& signal : block.signals) {
        put_key(line, signal.name);
        if (!block.has(i)) line += "null";
        else if (signal.unit == "text") put_text(line, block.texts[static_cast<std::size_t>(block.value(i))]);
        else put_number(line, block.value(i));
        ++i;
      }
      out += line + "}}\n";
    }
}

void put_coverage(std::string& out, const Entry& entry, const stream::CoverageRecord& coverage) {
  std::string line = begin(entry, entry.arrival, {});
  put(line, "coverage", coverage.source);
  const auto list = [&](std::string_view key, auto belongs, auto element) {
    bool first = true;
    for (const MemberKey& member : coverage.members) {
      if (!belongs(member)) continue;
      if (first) put_key(line, key), line += '[';
      else line += ',';
      element(member);
      first = false;
    }
    if (!first) line += ']';
  };
  list(
      "ranks", [](const MemberKey& m) { return m.level == Level::rank; },
      [&](const MemberKey& m) { put_whole(line, m.rank); });
  list(
      "nodes", [](const MemberKey& m) { return m.level == Level::node || m.level == Level::gpu; },
      [&](const MemberKey& m) { put_text(line, m.node); });
  out += line + "}\n";
}

void put_control(std::string& out, const Entry& entry, const stream::ControlRecord& control) {
  using Kind = stream::ControlRecord::Kind;
  std::string line = "{";
  put_time(line, "t", entry.arrival);
  switch (control.kind) {
    case Kind::beat: put(line, "control", "beat"); break;
    case Kind::seal: put(line, "control", "seal"); break;
    case Kind::watermark:
      put(line, "control", "watermark");
      put(line, "source", control.source);
      put_time(line, "read_up_to", control.read_up_to);
      if (control.gap_from != stream::Time{}) put_time(line, "gap_from", control.gap_from);
      break;
    case Kind::pack:
      put(line, "control", "pack");
      put(line, "hash", control.pack_hash);
      put_time(line, "from", control.pack_from);
      put(line, "text", control.pack_text);
      break;
  }
  out += line + "}\n";
}

}  // namespace

std::string to_json(const Entry& entry) {
  std::string out;
  for (const auto& coverage : entry.coverage) put_coverage(out, entry, coverage);
  for (const auto& block : entry.samples) put_samples(out, entry, block);
  for (const auto& record : entry.lines) {
    std::string line = begin(entry, record.time, record.member);
    put_key(line, "line");
    put_text(line, record.text);
    if (record.error_stream) put(line, "stream", "stderr");
    put(line, "source", record.source);
    out += line + "}\n";
  }
  for (const auto& event : entry.events) {
    std::string line = begin(entry, event.time, event.member);
    put(line, "source", event.source);
    put(line, "event", event.name);
    for (const auto& field : event.fields) {
      put_key(line, field.name);
      if (const auto* text = std::get_if<std::string_view>(&field.value)) put_text(line, *text);
      else put_number(line, std::get<double>(field.value));
    }
    out += line + "}\n";
  }
  for (const auto& control : entry.controls) put_control(out, entry, control);
  return out;
}

}  // namespace tocsin::adapters::formats
