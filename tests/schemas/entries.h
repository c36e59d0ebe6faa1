#pragma once

#include <array>
#include <sstream>
#include <string>

#include "schemas/codec.h"
#include "stream/values/value.h"

namespace tocsin::tests {

inline stream::Time at(std::int64_t second) { return stream::at_nanoseconds(second * 1'000'000'000); }

// Every kind of record and member, with the values that are easily lost.
inline void fill_with_everything(schemas::EntryBuilder& builder) {
  using Builder = schemas::EntryBuilder;
  using Value = Builder::Value;
  using Field = Builder::Field;
  const Builder::Member node{stream::Level::node, 0, "n1", {}}, gpu{stream::Level::gpu, 0, "n1", "0000:17:00.0"};
  Builder::Member placed = Builder::rank(7);
  placed.node = "n2";
  placed.gpu = "3";
  builder.about("llama-70b", "2", "n1");
  builder.produced_by("recorder/n1", 3, 4711);
  const std::array training{Value{"loss", 2.25, {}, false}, Value{"step", 16'777'217, {}, false}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) builder.sample(at(1000), Builder::rank(rank), training, "log");
  const std::array odd{Value{"a", stream::measured_nan, {}, false}, Value{"b", stream::absent, {}, false},
                       Value{"c", -std::numeric_limits<double>::infinity(), {}, false}};
  builder.sample(at(1001), gpu, odd);
  builder.sample(at(1002), gpu, odd);
  const std::array states{Value{"process_state", 0, "D", true}, Value{"phase", 0, "", true}};
  builder.sample(at(1001), placed, states, "sampler");
  builder.line(at(1000), Builder::rank(0), "step 1 loss 2.25");
  builder.line(at(1001), Builder::rank(0), std::string_view{"a\0b\xff\xfe", 5}, true);
  builder.line(at(1002), Builder::job(), "");
  builder.line(at(1003), node, "kernel: NVRM: Xid");
  const std::array fields{Field{"code", 79, {}, false}, Field{"text", 0, "fell off the bus", true},
                          Field{"empty", 0, "", true}};
  builder.event(at(1003), gpu, "xid", fields, "kernel_log");
  builder.event(at(1004), Builder::job(), "end", {});
  std::vector<Builder::Member> ranks;
  for (std::uint32_t rank = 8; rank < 24; ++rank) ranks.push_back(Builder::rank(rank));
  ranks.push_back(node);
  builder.coverage("log", ranks);
  builder.coverage("scheduler", {});
  builder.beat();
  builder.watermark("raw/0", at(999));
  builder.pack("00ff", at(1010), "rules = {}");
  builder.seal();
}

inline std::string in_words(const stream::MemberKey& key) {
  std::ostringstream out;
  out << name(key.level) << ' ' << key.rank << " '" << key.node << "' '" << key.gpu << "'";
  return out.str();
}

// All that an entry says, for comparison; not where and when it was read.
inline std::string in_words(const stream::Entry& entry) {
  std::ostringstream out;
  out.precision(17);
  out << entry.producer << ' ' << entry.epoch << ' ' << entry.sequence << ' ' << entry.origin_source << ' '
      << entry.origin_offset << ' ' << entry.subject << '#' << entry.attempt << '@' << entry.node << '\n';
  for (const auto& block : entry.samples) {
    out << "samples of '" << block.source << "'\n";
    std::size_t i = 0;
    for (const auto time : block.times)
      for (const auto& member : block.members)
        for (const auto& signal : block.signals) {
          out << "  " << stream::nanoseconds(time) << ' ' << in_words(member) << ' ' << signal.name << '['
              << signal.unit << ' ' << name(signal.kind) << "] ";
          if (!block.has(i)) out << "absent\n";
          else if (signal.unit == "text") out << '"' << block.texts[static_cast<std::size_t>(block.value(i))] << "\"\n";
          else out << block.value(i) << '\n';
          ++i;
        }
  }
  for (const auto& line : entry.lines)
    out << "line " << stream::nanoseconds(line.time) << ' ' << in_words(line.member) << ' ' << line.error_stream << " '"
        << line.text << "' of '" << line.source << "'\n";
  for (const auto& event : entry.events) {
    out << "event " << stream::nanoseconds(event.time) << ' ' << in_words(event.member) << ' ' << event.name << " of '"
        << event.source << "'";
    for (const auto& field : event.fields) {
      out << ' ' << field.name << '=';
      if (const auto* text = std::get_if<std::string_view>(&field.value)) out << '"' << *text << '"';
      else out << std::get<double>(field.value);
    }
    out << '\n';
  }
  for (const auto& coverage : entry.coverage) {
    out << "covered " << coverage.source;
    for (const auto& member : coverage.members) out << " (" << in_words(member) << ")";
    out << '\n';
  }
  for (const auto& control : entry.controls)
    out << "control " << static_cast<int>(control.kind) << ' ' << control.source << ' '
        << stream::nanoseconds(control.read_up_to) << ' ' << stream::nanoseconds(control.gap_from) << ' '
        << control.pack_hash << ' ' << stream::nanoseconds(control.pack_from) << ' ' << control.pack_text << '\n';
  return out.str();
}

}  // namespace tocsin::tests
