#include <array>

#include "schemas/decoder_state.h"

namespace tocsin::schemas {

using flatbuffers::Verifier;
using stream::Entry;
using stream::Errc;
using stream::Error;
using stream::MemberKey;
using stream::Time;

bool Decoder::State::find_samples(const flatbuffers::Table& from, SampleParts& parts) {
  using B = fb::SampleBlock;
  Verifier verifier{bytes(), size, verifier_options};
  if (!from.VerifyTableStart(verifier)) return false;
  const VerifiedReader in{from, verifier};
  if (!in.values(B::VT_LAYOUT, parts.layout) || !in.values(B::VT_MEMBERS, parts.members) ||
      !in.values(B::VT_TIMES, parts.times) || !in.values(B::VT_NARROW, parts.narrow) ||
      !in.values(B::VT_WIDE, parts.wide) || !in.values(B::VT_PRESENT, parts.present) ||
      !in.vector(B::VT_TEXTS, parts.texts) || !verifier.VerifyVectorOfStrings(parts.texts) ||
      !in.text(B::VT_SOURCE, parts.source) || parts.layout.empty())
    return false;
  const std::size_t values = parts.narrow.size() + parts.wide.size();
  if (values == 0 || (!parts.narrow.empty() && !parts.wide.empty()) || parts.times.empty() ||
      parts.times.size() > most_times || parts.members.empty())
    return false;
  if (!parts.present.empty() && parts.present.size() != (values + 7) / 8) return false;
  return claim(parts.layout.size() + parts.members.size() + parts.times.size_bytes() + parts.narrow.size_bytes() +
               parts.wide.size_bytes() + parts.present.size() + 8 * size_of(parts.texts));
}

bool Decoder::State::read_samples(const SampleParts& parts) {
  const std::size_t values = parts.narrow.size() + parts.wide.size();
  const auto* layout = names->layouts.find(parts.layout, parse_layout);
  if (layout == nullptr) return false;
  const std::size_t per_member = parts.times.size() * layout->parsed.signals.size();  // at most 2^32
  if (values % per_member != 0) return false;
  const std::size_t member_count = values / per_member;

  // A few members, and lists that have not come before, are parsed each time; many that come again are remembered.
  const std::size_t first_member = members.size(), most = std::min(member_count, most_members);
  std::span<const MemberKey> kept;
  std::string_view membership;
  const bool few = member_count <= few_members;
  if (!few) {
    const auto* item = names->memberships.find(
        parts.members, [&](std::uint64_t hash) { return comes_again(hash); },
        [&](Bytes string, std::vector<MemberKey>& parsed) {
          if (!parse_members(string, most, parsed)) return false;
          names->kept_members += parsed.size() + 2;
          return true;
        });
    if (item != nullptr) kept = item->parsed, membership = item->bytes;
    if (item != nullptr && kept.size() != member_count) return false;
  }
  if (kept.empty() && (!parse_members(parts.members, most, members) || members.size() - first_member != member_count)) {
    members.resize(first_member);
    return false;
  }

  const std::size_t first_text = texts.size();
  if (parts.texts != nullptr)
    for (const auto* text : *parts.texts) texts.push_back(view(text));
  stream::SampleBlock& block = samples.emplace_back();
  block.layout = layout->bytes;
  block.signals = layout->parsed.signals;
  block.members = kept;
  block.narrow = parts.narrow;
  block.wide = parts.wide;
  block.present = parts.present;
  block.source = parts.source;
  block.remembered = !kept.empty();
  block.membership = few ? characters(parts.members) : membership;
  if (!layout->parsed.textual.empty()) {  // every value must be an index of a text
    const double count = static_cast<double>(texts.size() - first_text);
    for (std::size_t cell = 0; cell < values; cell += layout->parsed.signals.size())
      for (const auto signal : layout->parsed.textual) {
        if (!block.has(cell + signal)) continue;
        const double index = block.value(cell + signal);
        if (!(index >= 0 && index < count) || index != static_cast<double>(static_cast<std::uint32_t>(index))) {
          texts.resize(first_text);
          members.resize(first_member);
          samples.pop_back();
          return false;
        }
      }
  }
  block.times = sane_times(parts.times);
  sample_ranges.push_back({{first_member, members.size() - first_member}, {first_text, texts.size() - first_text}});
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

// Counts when it names all that was read, each once: a block that was rejected leaves the order unknown.
void Decoder::State::read_order(std::span<const std::uint8_t> order) {
  std::array<std::size_t, 4> counts{};
  for (const std::uint8_t kind : order) {
    if (kind >= counts.size()) return;
    ++counts[kind];
  }
  if (counts == std::array{samples.size(), lines.size(), events.size(), coverage.size()})
    entry.order = {reinterpret_cast<const stream::RecordKind*>(order.data()), order.size()};
}

void Decoder::State::read_constant(std::span<const std::byte> message,
                                   const MessageTemplates::MessageTemplate& message_template) {
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

void Decoder::State::remember(const flatbuffers::Table& root, const EnvelopeHead& head) {
  if (size > MessageTemplates::longest) return;
  const bool only_samples =
      size_of(head.samples) == found.size() && !found.empty() &&
      size_of(head.lines) + size_of(head.events) + size_of(head.coverage) + size_of(head.controls) == 0;
  const bool with_texts =
      std::any_of(found.begin(), found.end(), [](const SampleParts& parts) { return parts.texts != nullptr; });
  if (!only_samples || with_texts || !head.order.empty()) return;
  Entry envelope = entry;
  envelope.samples = {};
  envelope.rejected_blocks = 0;
  templates.remember({bytes(), size}, envelope, places_of_numbers(root, bytes()), found, structure_of(root, head));
}

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

stream::Result<const Entry*> Decoder::decode(std::span<const std::byte> message, stream::Position position,
                                             stream::Position next, Time arrival) {
  if (message.size() < 16)
    return Error{Errc::torn, "a message of " + std::to_string(message.size()) + " bytes holds no envelope"};
  if (message.size() > most_message_bytes)
    return Error{Errc::too_large, "a message of " + std::to_string(message.size()) + " bytes: at most " +
                                      std::to_string(most_message_bytes) + " are read, so write smaller batches"};
  State& s = *state_;
  Entry& entry = s.entry;
  const auto place = [&] {
    entry.position = position;
    entry.names = &s.shown_names;
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
    return Error{Errc::malformed,
                 "the message is not an envelope (it does not begin with TOCE): send other formats through ingest"};
  Verifier verifier{s.bytes(), s.size, verifier_options};
  const auto root = verifier.VerifyOffset(0);
  EnvelopeHead head;
  if (root == 0 || !read_head(*reinterpret_cast<const flatbuffers::Table*>(s.bytes() + root), verifier, head, entry))
    return Error{Errc::torn, "the envelope is torn: its offsets lead outside of it"};
  if (head.format > envelope_format)
    return Error{Errc::unknown_version, "the envelope has format " + std::to_string(head.format) +
                                            ", this engine reads up to " + std::to_string(envelope_format) +
                                            ": update it before its producers"};

  s.origin_arrival = head.origin_arrival;
  s.read_all(head.samples);
  s.read_all(head.lines);
  s.read_all(head.events);
  s.read_all(head.coverage);
  s.read_all(head.controls);
  s.settle();
  s.read_order(head.order);
  s.remember(*reinterpret_cast<const flatbuffers::Table*>(s.bytes() + root), head);
  return place();
}

}  // namespace tocsin::schemas
