#include "schemas/envelope_head.h"

namespace tocsin::schemas {

bool read_head(const flatbuffers::Table& table, flatbuffers::Verifier& verifier, EnvelopeHead& head,
               stream::Entry& entry) {
  using E = fb::Envelope;
  if (!table.VerifyTableStart(verifier)) return false;
  const VerifiedReader in{table, verifier};
  return in.number(E::VT_FORMAT, head.format) && in.text(E::VT_PRODUCER, entry.producer) &&
         in.number(E::VT_EPOCH, entry.epoch) && in.number(E::VT_SEQUENCE, entry.sequence) &&
         in.text(E::VT_ORIGIN_SOURCE, entry.origin_source) && in.number(E::VT_ORIGIN_OFFSET, entry.origin_offset) &&
         in.number(E::VT_ORIGIN_ARRIVAL, head.origin_arrival) && in.text(E::VT_SUBJECT, entry.subject) &&
         in.text(E::VT_ATTEMPT, entry.attempt) && in.text(E::VT_NODE, entry.node) &&
         in.tables(E::VT_SAMPLES, head.samples) && in.tables(E::VT_LINES, head.lines) &&
         in.tables(E::VT_EVENTS, head.events) && in.tables(E::VT_COVERAGE, head.coverage) &&
         in.tables(E::VT_CONTROLS, head.controls) && in.values(E::VT_ORDER, head.order);
}

std::vector<Bytes> structure_of(const flatbuffers::Table& root, const EnvelopeHead& head) {
  using E = fb::Envelope;
  std::vector<Bytes> structure;
  const auto part = [&](const void* begin, std::size_t length) {
    structure.emplace_back(static_cast<const std::uint8_t*>(begin), length);
  };
  const auto fields_of = [&](const flatbuffers::Table& table) {
    part(table.GetVTable(), flatbuffers::ReadScalar<flatbuffers::voffset_t>(table.GetVTable()));
    part(&table, sizeof(flatbuffers::soffset_t));
  };
  const auto offset = [&](const flatbuffers::Table& table, flatbuffers::voffset_t field,
                          std::size_t length = sizeof(flatbuffers::uoffset_t)) {
    if (const auto at = table.GetOptionalFieldOffset(field))
      part(reinterpret_cast<const std::uint8_t*>(&table) + at, length);
  };
  fields_of(root);
  offset(root, E::VT_FORMAT, sizeof head.format);
  for (const auto field : {E::VT_PRODUCER, E::VT_ORIGIN_SOURCE, E::VT_SUBJECT, E::VT_ATTEMPT, E::VT_NODE, E::VT_SAMPLES,
                           E::VT_LINES, E::VT_EVENTS, E::VT_COVERAGE, E::VT_CONTROLS})
    offset(root, field);
  part(head.samples, sizeof(flatbuffers::uoffset_t) * (head.samples->size() + 1));
  for (const void* none : {static_cast<const void*>(head.lines), static_cast<const void*>(head.events),
                           static_cast<const void*>(head.coverage), static_cast<const void*>(head.controls)})
    if (none != nullptr) part(none, sizeof(flatbuffers::uoffset_t));  // an empty list is one, too
  for (const auto* block : *head.samples) {
    using B = fb::SampleBlock;
    const auto& table = *reinterpret_cast<const flatbuffers::Table*>(block);
    fields_of(table);
    for (const auto field :
         {B::VT_LAYOUT, B::VT_MEMBERS, B::VT_TIMES, B::VT_NARROW, B::VT_WIDE, B::VT_PRESENT, B::VT_TEXTS, B::VT_SOURCE})
      offset(table, field);
  }
  return structure;
}

MessageTemplates::Numbers places_of_numbers(const flatbuffers::Table& root, const std::uint8_t* message) {
  using E = fb::Envelope;
  const auto place = [&](flatbuffers::voffset_t field) -> std::size_t {
    const auto at = root.GetOptionalFieldOffset(field);
    return at == 0 ? 0 : static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(&root) + at - message);
  };
  return {place(E::VT_EPOCH), place(E::VT_SEQUENCE), place(E::VT_ORIGIN_OFFSET), place(E::VT_ORIGIN_ARRIVAL)};
}

}  // namespace tocsin::schemas
