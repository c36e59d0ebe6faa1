#include <algorithm>
#include <cstring>
#include <deque>
#include <type_traits>

#include "schemas/codec.h"
#include "schemas/interned.h"
#include "schemas/layout.h"
#include "schemas/limits.h"
#include "schemas/message_template.h"
#include "schemas/verified_reader.h"
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

Bytes bytes_of(const flatbuffers::Vector<std::uint8_t>* bytes) { return bytes == nullptr ? Bytes{} : Bytes{bytes->data(), bytes->size()}; }
std::string_view characters(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
// The verifier checks the place of a vector, not the alignment of its elements.
template <class T>
bool aligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(T) == 0;
}
template <class T>
std::span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::span<const T>{} : std::span<const T>{reinterpret_cast<const T*>(vector->Data()), vector->size()};
}

Time sane(std::int64_t time) { return stream::at_nanoseconds(std::clamp(time, earliest_time, latest_time)); }

// A span of one of the decoder's arrays, which can move while it grows.
struct Range {
  std::size_t begin = 0, count = 0;
  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& array) const {
    return std::span{array}.subspan(begin, count);
  }
};

constexpr Verifier::Options verifier_options{.max_depth = 4, .max_tables = 4'096};
constexpr std::size_t most_layouts = 4'096, most_memberships = 16'384, few_members = 4, most_kept_members = 4u << 20;

// The envelope's own fields, and its lists of blocks: each block is verified separately.
struct Head {
  std::uint16_t format = 0;
  std::int64_t origin_arrival = 0;  // of a record that was re-keyed
  const Tables<fb::SampleBlock>* samples = nullptr;
  const Tables<fb::LineBlock>* lines = nullptr;
  const Tables<fb::Event>* events = nullptr;
  const Tables<fb::Coverage>* coverage = nullptr;
  const Tables<fb::Control>* controls = nullptr;
};

}  // namespace

struct Decoder::State {
  std::vector<std::uint64_t> buffer;  // of the message, aligned
  std::size_t size = 0;
  Entry entry;
  std::int64_t origin_arrival = 0;

  std::vector<stream::SampleBlock> samples;
  std::vector<stream::LineRecord> lines;
  std::vector<stream::EventRecord> events;
  std::vector<stream::CoverageRecord> coverage;
  std::vector<stream::ControlRecord> controls;
  std::vector<std::string_view> texts;
  std::vector<stream::EventRecord::Field> fields;
  std::vector<MemberKey> members, line_members;
  std::deque<std::vector<Time>> moved_times;
  struct BlockRanges {
    Range members, texts;
  };
  std::vector<BlockRanges> sample_ranges;  // one per record, as the next two; the spans are set at the end
  std::vector<Range> event_fields, covered_members;

  MessageTemplates templates;
  const MessageTemplates::MessageTemplate* constant = nullptr;  // the template whose head the entry has
  std::vector<SampleParts> found;                               // of this message
  Interned<Layout> layouts;
  Interned<std::vector<MemberKey>> memberships;
  std::size_t kept_members = 0;
  std::size_t unclaimed = 0;   // bytes of the message that no block has claimed yet: none is used twice
  std::size_t expandable = 0;  // members that can still be named without values

  [[nodiscard]] std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(buffer.data()); }

  void copy(std::span<const std::byte> message) {
    size = message.size();
    if (buffer.size() * 8 < size) {
      buffer.resize(size / 8 + 1);
      templates.forget();
    }
    std::memcpy(buffer.data(), message.data(), size);
    samples.clear(), sample_ranges.clear(), members.clear(), texts.clear();
    if (!moved_times.empty()) moved_times.clear();
    if (layouts.size() > most_layouts) layouts.forget();
    if (memberships.size() > most_memberships || kept_members > most_kept_members) memberships.forget(), kept_members = 0;
  }
  void begin(std::span<const std::byte> message) {
    copy(message);
    constant = nullptr;
    found.clear(), lines.clear(), events.clear(), coverage.clear(), controls.clear();
    fields.clear(), event_fields.clear(), covered_members.clear();
    entry = {};
    origin_arrival = 0;
    unclaimed = size;
    expandable = most_members;
  }

  bool claim(std::size_t wanted) {
    if (wanted > unclaimed) return false;
    unclaimed -= wanted;
    return true;
  }

  // Times in place in the message, or a copy within bounds. Never changed in place: what was verified stays as it was.
  std::span<const Time> sane_times(std::span<const std::int64_t> times) {
    bool all_sane = true;
    for (const auto time : times) all_sane &= time >= earliest_time && time <= latest_time;
    if (all_sane) return {reinterpret_cast<const Time*>(times.data()), times.size()};
    auto& copy = moved_times.emplace_back();
    for (const auto time : times) copy.push_back(sane(time));
    return copy;
  }

  // Each of these reads one block; false: it is torn or malformed, and changed nothing. All but the first are verified.
  bool find_samples(const flatbuffers::Table& from, SampleParts& parts);  // verified
  bool read_samples(const SampleParts& parts);
  bool read(const fb::LineBlock& from);
  bool read(const fb::Event& from);
  bool read(const fb::Coverage& from);
  bool read(const fb::Control& from);

  template <class Table>
  void read_all(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables) {
    for (flatbuffers::uoffset_t i = 0, count = static_cast<flatbuffers::uoffset_t>(size_of(tables)); i < count; ++i) {
      const Table* table = tables->Get(i);
      if constexpr (std::is_same_v<Table, fb::SampleBlock>) {
        SampleParts parts;
        if (!find_samples(*reinterpret_cast<const flatbuffers::Table*>(table), parts)) {
          ++entry.rejected_blocks;
          continue;
        }
        found.push_back(parts);
        if (!read_samples(parts)) ++entry.rejected_blocks;
      } else {
        Verifier verifier{bytes(), size, verifier_options};
        if (!table->Verify(verifier) || !read(*table)) ++entry.rejected_blocks;
      }
    }
  }

  void settle_samples();
  void settle();

  // A message with a known template: reads its numbers and texts.
  void read_constant(std::span<const std::byte> message, const MessageTemplates::MessageTemplate& message_template);
  void remember(const flatbuffers::Table& root, const Head& head);
};

bool Decoder::State::find_samples(const flatbuffers::Table& from, SampleParts& parts) {
  using B = fb::SampleBlock;
  Verifier verifier{bytes(), size, verifier_options};
  if (!from.VerifyTableStart(verifier)) return false;
  const VerifiedReader in{from, verifier};
  if (!in.values(B::VT_LAYOUT, parts.layout) || !in.values(B::VT_MEMBERS, parts.members) || !in.values(B::VT_TIMES, parts.times) ||
      !in.values(B::VT_NARROW, parts.narrow) || !in.values(B::VT_WIDE, parts.wide) || !in.values(B::VT_PRESENT, parts.present) ||
      !in.vector(B::VT_TEXTS, parts.texts) || !verifier.VerifyVectorOfStrings(parts.texts) || !in.text(B::VT_SOURCE, parts.source) ||
      parts.layout.empty())
    return false;
  const std::size_t values = parts.narrow.size() + parts.wide.size();
  if (values == 0 || (!parts.narrow.empty() && !parts.wide.empty()) || parts.times.empty() || parts.times.size() > most_times ||
      parts.members.empty())
    return false;
  if (!parts.present.empty() && parts.present.size() != (values + 7) / 8) return false;
  return claim(parts.layout.size() + parts.members.size() + parts.times.size_bytes() + parts.narrow.size_bytes() + parts.wide.size_bytes() +
               parts.present.size() + 8 * size_of(parts.texts));
}

bool Decoder::State::read_samples(const SampleParts& parts) {
  const std::size_t values = parts.narrow.size() + parts.wide.size();
  const auto* layout = layouts.find(parts.layout, parse_layout);
  if (layout == nullptr) return false;
  const std::size_t per_member = parts.times.size() * layout->parsed.signals.size();  // at most 2^32
  if (values % per_member != 0) return false;
  const std::size_t member_count = values / per_member;

  // A few members are parsed again each time; many are remembered.
  const std::size_t first_member = members.size();
  std::span<const MemberKey> kept;
  if (member_count <= few_members) {
    if (!parse_members(parts.members, std::min(member_count, most_members), members) || members.size() - first_member != member_count) {
      members.resize(first_member);
      return false;
    }
  } else {
    const auto* item = memberships.find(parts.members, [&](Bytes string, std::vector<MemberKey>& parsed) {
      if (!parse_members(string, std::min(member_count, most_members), parsed)) return false;
      kept_members += parsed.size() + 2;
      return true;
    });
    if (item == nullptr || item->parsed.size() != member_count) return false;
    kept = item->parsed;
  }

  const std::size_t first_text = texts.size();
  if (parts.texts != nullptr)
    for (const auto* text : *parts.texts) texts.push_back(view(text));
  stream::SampleBlock block;
  block.layout = layout->bytes;
  block.signals = layout->parsed.signals;
  block.members = kept;
  block.narrow = parts.narrow;
  block.wide = parts.wide;
  block.present = parts.present;
  block.source = parts.source;
  block.membership = characters(parts.members);
  if (!layout->parsed.textual.empty()) {  // every value must be an index of a text
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
  block.times = sane_times(parts.times);
  samples.push_back(block);
  sample_ranges.push_back({{first_member, members.size() - first_member}, {first_text, texts.size() - first_text}});
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
  if (!claim(member_string.size() + times.size_bytes() + whose.size_bytes() + ends.size_bytes() + streams.size() + text.size() +
             size_of(from.source())))
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
                     characters(text.subspan(previous, ends[i] - previous)), view(from.source())});
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

bool Decoder::State::read(const fb::Coverage& from) {
  const auto member_string = bytes_of(from.members());
  if (size_of(from.source()) == 0 || !claim(member_string.size() + from.source()->size())) return false;
  const std::size_t first = members.size();
  if (!parse_members(member_string, expandable, members)) {
    members.resize(first);
    return false;
  }
  expandable -= members.size() - first;
  coverage.push_back({view(from.source()), {}});
  covered_members.push_back({first, members.size() - first});
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

void Decoder::State::settle_samples() {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (sample_ranges[i].members.count != 0) samples[i].members = sample_ranges[i].members.of(members);
    samples[i].texts = sample_ranges[i].texts.of(texts);
  }
  entry.samples = samples;
}

void Decoder::State::settle() {
  settle_samples();
  for (std::size_t i = 0; i < events.size(); ++i) events[i].fields = event_fields[i].of(fields);
  for (std::size_t i = 0; i < coverage.size(); ++i) coverage[i].members = covered_members[i].of(members);
  entry.lines = lines;
  entry.events = events;
  entry.coverage = coverage;
  entry.controls = controls;
}

void Decoder::State::read_constant(std::span<const std::byte> message, const MessageTemplates::MessageTemplate& message_template) {
  copy(message);
  if (constant != &message_template) entry = message_template.head;
  constant = &message_template;
  entry.rejected_blocks = 0;
  const auto read = [&](std::size_t at, auto& number) {
    if (at != 0) std::memcpy(&number, bytes() + at, sizeof number);
  };
  read(message_template.numbers.epoch, entry.epoch);
  read(message_template.numbers.sequence, entry.sequence);
  read(message_template.numbers.origin_offset, entry.origin_offset);
  read(message_template.numbers.origin_arrival, origin_arrival);
  for (const SampleParts& parts : message_template.samples)
    if (!read_samples(parts)) ++entry.rejected_blocks;
  settle_samples();
}

void Decoder::State::remember(const flatbuffers::Table& root, const Head& head) {
  using E = fb::Envelope;
  const bool only_samples = size_of(head.samples) == found.size() && !found.empty() &&
                            size_of(head.lines) + size_of(head.events) + size_of(head.coverage) + size_of(head.controls) == 0;
  const bool with_texts = std::any_of(found.begin(), found.end(), [](const SampleParts& parts) { return parts.texts != nullptr; });
  if (!only_samples || with_texts) return;
  const auto place = [&](flatbuffers::voffset_t field) -> std::size_t {
    const auto at = root.GetOptionalFieldOffset(field);
    return at == 0 ? 0 : static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(&root) + at - bytes());
  };
  std::vector<Bytes> structure;
  const auto part = [&](const void* begin, std::size_t length) { structure.emplace_back(static_cast<const std::uint8_t*>(begin), length); };
  const auto fields_of = [&](const flatbuffers::Table& table) {
    part(table.GetVTable(), flatbuffers::ReadScalar<flatbuffers::voffset_t>(table.GetVTable()));
    part(&table, sizeof(flatbuffers::soffset_t));
  };
  const auto offset = [&](const flatbuffers::Table& table, flatbuffers::voffset_t field,
                          std::size_t length = sizeof(flatbuffers::uoffset_t)) {
    if (const auto at = table.GetOptionalFieldOffset(field)) part(reinterpret_cast<const std::uint8_t*>(&table) + at, length);
  };
  fields_of(root);
  offset(root, E::VT_FORMAT, sizeof head.format);
  for (const auto field : {E::VT_PRODUCER, E::VT_ORIGIN_SOURCE, E::VT_SUBJECT, E::VT_ATTEMPT, E::VT_NODE, E::VT_SAMPLES, E::VT_LINES,
                           E::VT_EVENTS, E::VT_COVERAGE, E::VT_CONTROLS})
    offset(root, field);
  part(head.samples, sizeof(flatbuffers::uoffset_t) * (head.samples->size() + 1));
  for (const void* none : {static_cast<const void*>(head.lines), static_cast<const void*>(head.events),
                           static_cast<const void*>(head.coverage), static_cast<const void*>(head.controls)})
    if (none != nullptr) part(none, sizeof(flatbuffers::uoffset_t));  // an empty list is one, too
  for (const auto* block : *head.samples) {
    using B = fb::SampleBlock;
    const auto& table = *reinterpret_cast<const flatbuffers::Table*>(block);
    fields_of(table);
    for (const auto field : {B::VT_LAYOUT, B::VT_MEMBERS, B::VT_TIMES, B::VT_NARROW, B::VT_WIDE, B::VT_PRESENT, B::VT_TEXTS, B::VT_SOURCE})
      offset(table, field);
  }
  Entry envelope = entry;
  envelope.samples = {};
  envelope.rejected_blocks = 0;
  templates.remember({bytes(), size}, envelope,
                     {place(E::VT_EPOCH), place(E::VT_SEQUENCE), place(E::VT_ORIGIN_OFFSET), place(E::VT_ORIGIN_ARRIVAL)}, found,
                     structure);
}

namespace {

bool read_head(const flatbuffers::Table& table, Verifier& verifier, Head& head, Entry& entry) {
  using E = fb::Envelope;
  if (!table.VerifyTableStart(verifier)) return false;
  const VerifiedReader in{table, verifier};
  return in.number(E::VT_FORMAT, head.format) && in.text(E::VT_PRODUCER, entry.producer) && in.number(E::VT_EPOCH, entry.epoch) &&
         in.number(E::VT_SEQUENCE, entry.sequence) && in.text(E::VT_ORIGIN_SOURCE, entry.origin_source) &&
         in.number(E::VT_ORIGIN_OFFSET, entry.origin_offset) && in.number(E::VT_ORIGIN_ARRIVAL, head.origin_arrival) &&
         in.text(E::VT_SUBJECT, entry.subject) && in.text(E::VT_ATTEMPT, entry.attempt) && in.text(E::VT_NODE, entry.node) &&
         in.tables(E::VT_SAMPLES, head.samples) && in.tables(E::VT_LINES, head.lines) && in.tables(E::VT_EVENTS, head.events) &&
         in.tables(E::VT_COVERAGE, head.coverage) && in.tables(E::VT_CONTROLS, head.controls);
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
  Entry& entry = s.entry;
  const auto place = [&] {
    entry.position = position;
    entry.next = next;
    entry.appended = sane(stream::nanoseconds(arrival));
    entry.arrival = sane(entry.origin_source.empty() ? stream::nanoseconds(arrival) : s.origin_arrival);
    return &entry;
  };
  if (const auto* message_template = s.templates.find(message)) {
    s.read_constant(message, *message_template);
    return place();
  }
  s.begin(message);
  if (std::memcmp(s.bytes() + sizeof(flatbuffers::uoffset_t), fb::EnvelopeIdentifier(), 4) != 0)
    return Error{Errc::malformed, "the message is no envelope of ours (no TOCE): other formats go through ingest"};
  Verifier verifier{s.bytes(), s.size, verifier_options};
  const auto root = verifier.VerifyOffset(0);
  Head head;
  if (root == 0 || !read_head(*reinterpret_cast<const flatbuffers::Table*>(s.bytes() + root), verifier, head, entry))
    return Error{Errc::torn, "the envelope is torn: its offsets lead outside of it"};
  if (head.format > envelope_format)
    return Error{Errc::unknown_version, "the envelope has format " + std::to_string(head.format) + ", this engine reads up to " +
                                            std::to_string(envelope_format) + ": update it before its producers"};

  s.origin_arrival = head.origin_arrival;
  s.read_all(head.samples);
  s.read_all(head.lines);
  s.read_all(head.events);
  s.read_all(head.coverage);
  s.read_all(head.controls);
  s.settle();
  s.remember(*reinterpret_cast<const flatbuffers::Table*>(s.bytes() + root), head);
  return place();
}

}  // namespace tocsin::schemas
