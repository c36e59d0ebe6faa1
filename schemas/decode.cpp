#include <algorithm>
#include <cstring>
#include <deque>

#include "schemas/codec.h"
#include "schemas/interned.h"
#include "schemas/layout.h"
#include "schemas/limits.h"
#include "telemetry_generated.h"

namespace tocsin::schemas {
namespace {

using flatbuffers::Verifier;
using stream::Entry;
using stream::Errc;
using stream::Error;
using stream::MemberKey;
using stream::Time;

static_assert(sizeof(Time) == sizeof(std::int64_t), "times are read where they lie");

std::string_view view(const flatbuffers::String* text) { return text == nullptr ? std::string_view{} : text->string_view(); }
Bytes bytes_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
  return bytes == nullptr ? Bytes{} : Bytes{bytes->data(), bytes->size()};
}
std::string_view characters(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
template <class T>
std::size_t size_of(const flatbuffers::Vector<T>* vector) { return vector == nullptr ? 0 : vector->size(); }
// The verifier checks where a vector lies, not that its elements are aligned.
template <class T>
bool aligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(T) == 0;
}
template <class T>
std::span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::span<const T>{} : std::span<const T>{reinterpret_cast<const T*>(vector->Data()), vector->size()};
}
Time sane(std::int64_t time) { return stream::at_nanoseconds(std::clamp(time, earliest_time, latest_time)); }

// A span of one of the decoder's arrays, which may still move while it grows.
struct Range {
  std::size_t begin = 0, count = 0;
  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& array) const { return std::span{array}.subspan(begin, count); }
};

constexpr Verifier::Options verifier_options{.max_depth = 4, .max_tables = 4'096};
constexpr std::size_t most_layouts = 4'096, most_memberships = 16'384, few_members = 16, most_kept_members = 4u << 20;

}  // namespace

struct Decoder::State {
  std::vector<std::uint64_t> buffer;   // of the message, aligned
  std::size_t size = 0;
  Entry entry;

  std::vector<stream::SampleBlock> samples;
  std::vector<stream::LineRecord> lines;
  std::vector<stream::EventRecord> events;
  std::vector<stream::HeardRecord> heard;
  std::vector<stream::ControlRecord> controls;
  std::vector<std::string_view> texts;
  std::vector<stream::EventRecord::Field> fields;
  std::vector<MemberKey> members, line_members;
  std::deque<std::vector<Time>> moved_times;
  std::vector<Range> sample_members, sample_texts, event_fields, heard_members;   // one a record; set at the end

  Interned<Layout> layouts;
  Interned<std::vector<MemberKey>> memberships;
  std::size_t kept_members = 0;
  std::size_t unclaimed = 0;           // bytes of the message that no block has claimed yet: none may be used twice
  std::size_t expandable = 0;          // members that may still be named where no values stand behind them

  [[nodiscard]] std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(buffer.data()); }

  void begin(std::span<const std::byte> message) {
    size = message.size();
    if (buffer.size() * 8 < size) buffer.resize(size / 8 + 1);
    std::memcpy(buffer.data(), message.data(), size);
    samples.clear(), lines.clear(), events.clear(), heard.clear(), controls.clear();
    texts.clear(), fields.clear(), members.clear(), moved_times.clear();
    sample_members.clear(), sample_texts.clear(), event_fields.clear(), heard_members.clear();
    if (layouts.size() > most_layouts) layouts.forget();
    if (memberships.size() > most_memberships || kept_members > most_kept_members) memberships.forget(), kept_members = 0;
    entry = {};
    unclaimed = size;
    expandable = most_members;
  }

  bool claim(std::size_t wanted) {
    if (wanted > unclaimed) return false;
    unclaimed -= wanted;
    return true;
  }

  // Times as they lie in the message, or a copy within bounds. Never changed in place: what was verified must stay what it was.
  std::span<const Time> sane_times(std::span<const std::int64_t> times) {
    bool all_sane = true;
    for (const auto time : times) all_sane &= time >= earliest_time && time <= latest_time;
    if (all_sane) return {reinterpret_cast<const Time*>(times.data()), times.size()};
    auto& copy = moved_times.emplace_back();
    for (const auto time : times) copy.push_back(sane(time));
    return copy;
  }

  // Each of these reads one verified block; false: it is malformed, and left no trace.
  bool read(const fb::SampleBlock& from);
  bool read(const fb::LineBlock& from);
  bool read(const fb::Event& from);
  bool read(const fb::Heard& from);
  bool read(const fb::Control& from);

  template <class Table>
  void read_all(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables) {
    for (flatbuffers::uoffset_t i = 0, count = static_cast<flatbuffers::uoffset_t>(size_of(tables)); i < count; ++i) {
      const Table* table = tables->Get(i);
      Verifier verifier{bytes(), size, verifier_options};
      if (!table->Verify(verifier) || !read(*table)) ++entry.rejected_blocks;
    }
  }

  void settle();
};

bool Decoder::State::read(const fb::SampleBlock& from) {
  const auto layout_string = bytes_of(from.layout()), member_string = bytes_of(from.members()), present = bytes_of(from.present());
  const auto times = span_of<std::int64_t>(from.times());
  const auto narrow = span_of<float>(from.narrow());
  const auto wide = span_of<double>(from.wide());
  if (!aligned(from.times()) || !aligned(from.wide()) || layout_string.empty()) return false;
  const std::size_t values = narrow.size() + wide.size();
  if (values == 0 || (!narrow.empty() && !wide.empty()) || times.empty() || times.size() > most_times || member_string.empty())
    return false;
  if (!present.empty() && present.size() != (values + 7) / 8) return false;
  if (!claim(layout_string.size() + member_string.size() + times.size_bytes() + narrow.size_bytes() + wide.size_bytes() +
             present.size() + 8 * size_of(from.texts())))
    return false;

  const auto* layout = layouts.find(layout_string, parse_layout);
  if (layout == nullptr) return false;
  const std::size_t per_member = times.size() * layout->parsed.signals.size();   // at most 2^32
  if (values % per_member != 0) return false;
  const std::size_t member_count = values / per_member;

  // A few members are parsed anew each time; many are worth remembering.
  const std::size_t first_member = members.size();
  std::span<const MemberKey> kept;
  if (member_string.size() <= few_members) {
    if (!parse_members(member_string, std::min(member_count, most_members), members) || members.size() - first_member != member_count) {
      members.resize(first_member);
      return false;
    }
  } else {
    const auto* item = memberships.find(member_string, [&](Bytes string, std::vector<MemberKey>& parsed) {
      if (!parse_members(string, std::min(member_count, most_members), parsed)) return false;
      kept_members += parsed.size() + 2;
      return true;
    });
    if (item == nullptr || item->parsed.size() != member_count) return false;
    kept = item->parsed;
  }

  const std::size_t first_text = texts.size();
  if (from.texts() != nullptr)
    for (const auto* text : *from.texts()) texts.push_back(view(text));
  stream::SampleBlock block;
  block.layout = layout->bytes;
  block.signals = layout->parsed.signals;
  block.members = kept;
  block.narrow = narrow;
  block.wide = wide;
  block.present = present;
  block.source = view(from.source());
  block.membership = characters(member_string);
  if (!layout->parsed.textual.empty()) {   // every value of theirs must be an index of a text
    const double count = static_cast<double>(texts.size() - first_text);
    for (std::size_t cell = 0; cell < values; cell += layout->parsed.signals.size())
      for (const auto signal : layout->parsed.textual) {
        if (!block.has(cell + signal)) continue;
        const double index = block.value(cell + signal);
        if (!(index >= 0 && index < count) || index != static_cast<double>(static_cast<std::uint32_t>(index))) {
          texts.resize(first_text);
          members.resize(first_member);
          return false;
        }
      }
  }
  block.times = sane_times(times);
  samples.push_back(block);
  sample_members.push_back({first_member, members.size() - first_member});
  sample_texts.push_back({first_text, texts.size() - first_text});
  return true;
}

bool Decoder::State::read(const fb::LineBlock& from) {
  const auto member_string = bytes_of(from.members()), streams = bytes_of(from.streams()), text = bytes_of(from.text());
  const auto times = span_of<std::int64_t>(from.times());
  const auto whose = span_of<std::uint32_t>(from.whose()), ends = span_of<std::uint32_t>(from.ends());
  const std::size_t count = times.size();
  if (!aligned(from.times())) return false;
  if (count == 0 || ends.size() != count || (!whose.empty() && whose.size() != count) || (!streams.empty() && streams.size() != count))
    return false;
  if (!claim(member_string.size() + times.size_bytes() + whose.size_bytes() + ends.size_bytes() + streams.size() + text.size()))
    return false;
  line_members.clear();
  if (!parse_members(member_string, std::min(expandable, most_members), line_members) || line_members.empty()) return false;
  expandable -= line_members.size();

  std::uint32_t previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (ends[i] < previous || ends[i] > text.size()) return false;
    if (!whose.empty() && whose[i] >= line_members.size()) return false;
    previous = ends[i];
  }
  if (previous != text.size()) return false;
  previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    lines.push_back({sane(times[i]), line_members[whose.empty() ? 0 : whose[i]], !streams.empty() && streams[i] != 0,
                     characters(text.subspan(previous, ends[i] - previous))});
    previous = ends[i];
  }
  return true;
}

bool Decoder::State::read(const fb::Event& from) {
  const auto member_string = bytes_of(from.member());
  const std::size_t count = size_of(from.fields());
  if (size_of(from.name()) == 0 || count > most_fields || !claim(member_string.size() + from.name()->size() + 8 * count)) return false;
  const std::size_t first_member = members.size();
  if (!parse_members(member_string, 1, members) || members.size() != first_member + 1) {
    members.resize(first_member);
    return false;
  }
  const MemberKey member = members.back();
  members.pop_back();
  const std::size_t first_field = fields.size();
  for (std::size_t i = 0; i < count; ++i) {
    const fb::Field& field = *from.fields()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (size_of(field.name()) == 0 || !claim(size_of(field.name()) + size_of(field.text()))) {
      fields.resize(first_field);
      return false;
    }
    if (field.text() != nullptr) fields.push_back({view(field.name()), view(field.text())});
    else fields.push_back({view(field.name()), field.number()});
  }
  events.push_back({sane(from.time()), member, view(from.name()), view(from.source()), {}});
  event_fields.push_back({first_field, count});
  return true;
}

bool Decoder::State::read(const fb::Heard& from) {
  const auto member_string = bytes_of(from.members());
  if (size_of(from.source()) == 0 || !claim(member_string.size() + from.source()->size())) return false;
  const std::size_t first = members.size();
  if (!parse_members(member_string, expandable, members)) {
    members.resize(first);
    return false;
  }
  expandable -= members.size() - first;
  heard.push_back({view(from.source()), {}});
  heard_members.push_back({first, members.size() - first});
  return true;
}

bool Decoder::State::read(const fb::Control& from) {
  if (from.kind() > fb::ControlKind::MAX) return false;
  const auto text = bytes_of(from.pack_text());
  if (!claim(text.size() + size_of(from.source()) + size_of(from.pack_hash()))) return false;
  stream::ControlRecord control;
  control.kind = static_cast<stream::ControlRecord::Kind>(from.kind());
  control.source = view(from.source());
  control.read_up_to = sane(from.read_up_to());
  control.pack_hash = view(from.pack_hash());
  control.pack_from = sane(from.pack_from());
  control.pack_text = characters(text);
  controls.push_back(control);
  return true;
}

void Decoder::State::settle() {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (sample_members[i].count != 0) samples[i].members = sample_members[i].of(members);
    samples[i].texts = sample_texts[i].of(texts);
  }
  for (std::size_t i = 0; i < events.size(); ++i) events[i].fields = event_fields[i].of(fields);
  for (std::size_t i = 0; i < heard.size(); ++i) heard[i].members = heard_members[i].of(members);
  entry.samples = samples;
  entry.lines = lines;
  entry.events = events;
  entry.heard = heard;
  entry.controls = controls;
}

namespace {

// The envelope's own fields, and the extents of its vectors of blocks: each block is verified for itself.
bool verify_envelope(const flatbuffers::Table& table, Verifier& verifier) {
  using E = fb::Envelope;
  const auto text = [&](flatbuffers::voffset_t field) {
    return table.VerifyOffset(verifier, field) && verifier.VerifyString(table.GetPointer<const flatbuffers::String*>(field));
  };
  const auto number = [&]<class T>(flatbuffers::voffset_t field) { return table.VerifyField<T>(verifier, field, sizeof(T)); };
  const auto tables = [&](flatbuffers::voffset_t field) {
    using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
    const auto* vector = table.VerifyOffset(verifier, field) ? table.GetPointer<const Tables*>(field) : nullptr;
    return table.VerifyOffset(verifier, field) && verifier.VerifyVector(vector) && size_of(vector) <= most_blocks;
  };
  return table.VerifyTableStart(verifier) && number.operator()<std::uint16_t>(E::VT_FORMAT) && text(E::VT_PRODUCER) &&
         number.operator()<std::uint32_t>(E::VT_EPOCH) && number.operator()<std::uint64_t>(E::VT_SEQUENCE) &&
         text(E::VT_ORIGIN_SOURCE) && number.operator()<std::uint64_t>(E::VT_ORIGIN_OFFSET) &&
         number.operator()<std::int64_t>(E::VT_ORIGIN_ARRIVAL) && text(E::VT_SUBJECT) && text(E::VT_ATTEMPT) &&
         text(E::VT_NODE) && tables(E::VT_SAMPLES) && tables(E::VT_LINES) && tables(E::VT_EVENTS) && tables(E::VT_HEARD) &&
         tables(E::VT_CONTROLS);
}

}  // namespace

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

stream::Result<const Entry*> Decoder::decode(std::span<const std::byte> message, stream::Position position, stream::Position next,
                                             Time arrival) {
  if (message.size() < 16) return Error{Errc::torn, "a message of " + std::to_string(message.size()) + " bytes holds no envelope"};
  if (message.size() > most_message_bytes)
    return Error{Errc::too_large, "a message of " + std::to_string(message.size()) + " bytes: at most " +
                                      std::to_string(most_message_bytes) + " are read, so write smaller batches"};
  State& s = *state_;
  s.begin(message);
  if (!flatbuffers::BufferHasIdentifier(s.bytes(), fb::EnvelopeIdentifier()))
    return Error{Errc::malformed, "the message is no envelope of ours (no TOCE): other formats go through ingest"};
  Verifier verifier{s.bytes(), s.size, verifier_options};
  const auto root = verifier.VerifyOffset(0);
  if (root == 0 || !verify_envelope(*reinterpret_cast<const flatbuffers::Table*>(s.bytes() + root), verifier))
    return Error{Errc::torn, "the envelope is torn: its offsets lead outside of it"};
  const auto& envelope = *flatbuffers::GetRoot<fb::Envelope>(s.bytes());
  if (envelope.format() > envelope_format)
    return Error{Errc::unknown_version, "the envelope has format " + std::to_string(envelope.format()) + ", this engine reads up to " +
                                            std::to_string(envelope_format) + ": update it before its producers"};

  Entry& entry = s.entry;
  entry.position = position;
  entry.next = next;
  entry.producer = view(envelope.producer());
  entry.epoch = envelope.epoch();
  entry.sequence = envelope.sequence();
  entry.origin_source = view(envelope.origin_source());
  entry.origin_offset = envelope.origin_offset();
  entry.arrival = sane(entry.origin_source.empty() ? stream::nanoseconds(arrival) : envelope.origin_arrival());
  entry.subject = view(envelope.subject());
  entry.attempt = view(envelope.attempt());
  entry.node = view(envelope.node());
  s.read_all(envelope.samples());
  s.read_all(envelope.lines());
  s.read_all(envelope.events());
  s.read_all(envelope.heard());
  s.read_all(envelope.controls());
  s.settle();
  return &entry;
}

}  // namespace tocsin::schemas
