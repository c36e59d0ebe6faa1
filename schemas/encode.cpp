#include <algorithm>
#include <map>

#include "schemas/codec.h"
#include "schemas/layout.h"
#include "schemas/limits.h"
#include "telemetry_generated.h"

namespace tocsin::schemas {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using stream::Entry;

using Text = Offset<flatbuffers::String>;
using ByteVector = Offset<flatbuffers::Vector<std::uint8_t>>;

Text text_or_none(FlatBufferBuilder& out, std::string_view text) {
  return text.empty() ? Text{} : out.CreateString(text.data(), text.size());
}
ByteVector bytes_or_none(FlatBufferBuilder& out, std::string_view bytes) {
  return bytes.empty() ? ByteVector{}
                       : out.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}
template <class T>
Offset<flatbuffers::Vector<T>> vector_or_none(FlatBufferBuilder& out, std::span<const T> values) {
  return values.empty() ? Offset<flatbuffers::Vector<T>>{} : out.CreateVector(values.data(), values.size());
}
template <class T>
auto tables_or_none(FlatBufferBuilder& out, const std::vector<Offset<T>>& tables) {
  return tables.empty() ? Offset<flatbuffers::Vector<Offset<T>>>{} : out.CreateVector(tables);
}

Offset<fb::SampleBlock> encode_samples(FlatBufferBuilder& out, const stream::SampleBlock& block) {
  std::vector<std::int64_t> times;
  for (const auto time : block.times) times.push_back(stream::nanoseconds(time));
  Offset<flatbuffers::Vector<Text>> texts;
  if (!block.texts.empty()) {
    std::vector<Text> strings;
    for (const auto text : block.texts) strings.push_back(out.CreateString(text.data(), text.size()));
    texts = out.CreateVector(strings);
  }
  const auto layout =
      bytes_or_none(out, block.layout.empty() ? layout_bytes(block.signals) : std::string{block.layout});
  const auto members =
      bytes_or_none(out, block.membership.empty() ? member_bytes(block.members) : std::string{block.membership});
  const auto time_vector = out.CreateVector(times);
  const auto narrow = vector_or_none(out, block.narrow);
  const auto wide = vector_or_none(out, block.wide);
  const auto present = vector_or_none(out, block.present);
  const auto source = text_or_none(out, block.source);
  return fb::CreateSampleBlock(out, layout, members, time_vector, narrow, wide, present, texts, source);
}

// Lines of one source.
Offset<fb::LineBlock> encode_lines(FlatBufferBuilder& out, std::span<const stream::LineRecord> lines) {
  std::vector<stream::MemberKey> members;
  std::map<std::string, std::uint32_t> index;  // by the member's bytes
  std::vector<std::uint32_t> whose, ends;
  std::vector<std::int64_t> times;
  std::vector<std::uint8_t> streams;
  std::string text;
  for (const auto& line : lines) {
    if (members.empty() || members[whose.back()] != line.member) {
      const auto [found, added] =
          index.emplace(member_bytes({&line.member, 1}), static_cast<std::uint32_t>(members.size()));
      if (added) members.push_back(line.member);
      whose.push_back(found->second);
    } else {
      whose.push_back(whose.back());
    }
    times.push_back(stream::nanoseconds(line.time));
    streams.push_back(line.error_stream ? 1 : 0);
    text += line.text;
    ends.push_back(static_cast<std::uint32_t>(text.size()));
  }
  const bool one_member = members.size() == 1;
  const bool all_out = std::find(streams.begin(), streams.end(), std::uint8_t{1}) == streams.end();
  const auto member_vector = bytes_or_none(out, member_bytes(members));
  const auto time_vector = out.CreateVector(times);
  const auto whose_vector = one_member ? Offset<flatbuffers::Vector<std::uint32_t>>{} : out.CreateVector(whose);
  const auto stream_vector = all_out ? ByteVector{} : out.CreateVector(streams);
  const auto end_vector = out.CreateVector(ends);
  const auto text_vector = bytes_or_none(out, text);
  const auto source = text_or_none(out, lines.front().source);
  return fb::CreateLineBlock(out, member_vector, time_vector, whose_vector, stream_vector, end_vector, text_vector,
                             source);
}

Offset<fb::Event> encode_event(FlatBufferBuilder& out, const stream::EventRecord& event) {
  std::vector<Offset<fb::Field>> fields;
  for (const auto& field : event.fields) {
    const auto name = text_or_none(out, field.name);
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      const auto value =
          out.CreateString(text->data(), text->size());  // an empty text, too: it marks the value as a text
      fields.push_back(fb::CreateField(out, name, 0, value));
    } else {
      fields.push_back(fb::CreateField(out, name, std::get<double>(field.value)));
    }
  }
  const auto member = bytes_or_none(out, member_bytes({&event.member, 1}));
  const auto name = text_or_none(out, event.name);
  const auto source = text_or_none(out, event.source);
  const auto field_vector = tables_or_none(out, fields);
  return fb::CreateEvent(out, stream::nanoseconds(event.time), member, name, source, field_vector);
}

Offset<fb::Control> encode_control(FlatBufferBuilder& out, const stream::ControlRecord& control) {
  const auto source = text_or_none(out, control.source);
  const auto hash = text_or_none(out, control.pack_hash);
  const auto text = bytes_or_none(out, control.pack_text);
  return fb::CreateControl(out, static_cast<fb::ControlKind>(control.kind), source,
                           stream::nanoseconds(control.read_up_to), hash, stream::nanoseconds(control.pack_from), text,
                           stream::nanoseconds(control.gap_from));
}

}  // namespace

struct Encoder::State {
  FlatBufferBuilder out{1024};
};

Encoder::Encoder() : state_(std::make_unique<State>()) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;

std::vector<std::byte> encode(const Entry& entry) { return Encoder{}.encode(entry); }

std::vector<std::byte> Encoder::encode(const Entry& entry) {
  FlatBufferBuilder& out = state_->out;
  out.Clear();

  std::vector<Offset<fb::SampleBlock>> samples;
  for (const auto& block : entry.samples) samples.push_back(encode_samples(out, block));
  std::vector<Offset<fb::LineBlock>> lines;
  for (auto rest = entry.lines; !rest.empty();) {  // a block for each run of one source, so that their order stays
    const auto other =
        std::find_if(rest.begin(), rest.end(), [&](const auto& line) { return line.source != rest.front().source; });
    const auto run = static_cast<std::size_t>(other - rest.begin());
    lines.push_back(encode_lines(out, rest.first(run)));
    rest = rest.subspan(run);
  }
  std::vector<Offset<fb::Event>> events;
  for (const auto& event : entry.events) events.push_back(encode_event(out, event));
  std::vector<Offset<fb::Coverage>> coverage;
  for (const auto& record : entry.coverage) {
    const auto source = text_or_none(out, record.source);
    const auto members = bytes_or_none(out, member_bytes(record.members));
    coverage.push_back(fb::CreateCoverage(out, source, members));
  }
  std::vector<Offset<fb::Control>> controls;
  for (const auto& control : entry.controls) controls.push_back(encode_control(out, control));
  const std::span order{reinterpret_cast<const std::uint8_t*>(entry.order.data()), entry.order.size()};

  const auto sample_vector = tables_or_none(out, samples);
  const auto line_vector = tables_or_none(out, lines);
  const auto event_vector = tables_or_none(out, events);
  const auto coverage_vector = tables_or_none(out, coverage);
  const auto control_vector = tables_or_none(out, controls);
  const auto order_vector = vector_or_none(out, order);
  const auto producer = text_or_none(out, entry.producer);
  const auto origin = text_or_none(out, entry.origin_source);
  const auto subject = text_or_none(out, entry.subject);
  const auto attempt = text_or_none(out, entry.attempt);
  const auto node = text_or_none(out, entry.node);
  const std::int64_t origin_arrival = entry.origin_source.empty() ? 0 : stream::nanoseconds(entry.arrival);
  out.Finish(fb::CreateEnvelope(out, envelope_format, producer, entry.epoch, entry.sequence, origin,
                                entry.origin_offset, origin_arrival, subject, attempt, node, sample_vector, line_vector,
                                event_vector, coverage_vector, control_vector, order_vector),
             fb::EnvelopeIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  return {bytes, bytes + out.GetSize()};
}

}  // namespace tocsin::schemas
