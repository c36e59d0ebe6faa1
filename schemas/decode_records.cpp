// Lines, events, coverage and control records of a message.
#include "schemas/decoder_state.h"

namespace tocsin::schemas {

using flatbuffers::Verifier;
using stream::Entry;
using stream::Errc;
using stream::Error;
using stream::MemberKey;
using stream::Time;

bool Decoder::State::read(const fb::LineBlock& from) {
  const auto member_string = bytes_of(from.members()), streams = bytes_of(from.streams()), text = bytes_of(from.text());
  const auto times = span_of<std::int64_t>(from.times());
  const auto whose = span_of<std::uint32_t>(from.whose()), ends = span_of<std::uint32_t>(from.ends());
  const std::size_t count = times.size();
  if (!aligned(from.times())) return false;
  if (count == 0 || ends.size() != count || (!whose.empty() && whose.size() != count) ||
      (!streams.empty() && streams.size() != count))
    return false;
  if (!claim(member_string.size() + times.size_bytes() + whose.size_bytes() + ends.size_bytes() + streams.size() +
             text.size() + size_of(from.source())))
    return false;
  line_members.clear();
  if (!parse_members(member_string, std::min(expandable, most_members), line_members) || line_members.empty())
    return false;
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
  if (size_of(from.name()) == 0 || count > most_fields ||
      !claim(member_string.size() + from.name()->size() + 8 * count))
    return false;
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
  control.gap_from = sane(from.gap_from());
  controls.push_back(control);
  return true;
}

}  // namespace tocsin::schemas
