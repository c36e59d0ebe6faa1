#include "dsl/text/records.h"

#include <algorithm>

namespace tocsin::dsl::text {

using stream::Time;

void OwnedMember::save(stream::Writer& out) const {
  out.put(level);
  out.put(rank);
  out.put(node);
  out.put(gpu);
}

void OwnedMember::load(stream::Reader& in) {
  level = in.get<stream::Level>();
  if (static_cast<std::size_t>(level) >= stream::level_count) level = stream::Level::job;
  rank = in.get<std::uint32_t>();
  node = in.get_text();
  gpu = in.get_text();
}

std::optional<OpenRecords::Place> OpenRecords::find(const stream::MemberKey& member, bool error) {
  if (open_.empty()) return std::nullopt;
  const auto place = open_.find(Stream{OwnedMember{member}, error});
  if (place == open_.end()) return std::nullopt;
  return place;
}

std::optional<OpenRecords::Place> OpenRecords::find_wrapped(const stream::MemberKey& from, bool error, const Expressions& expressions) {
  const OwnedMember owner{from};
  std::optional<Place> youngest;
  for (auto place = open_.begin(); place != open_.end(); ++place)
    if (expressions.rule(place->second.rule).wrapped && place->first.error == error && place->second.from == owner &&
        (!youngest || place->second.due > (*youngest)->second.due))
      youngest = place;
  return youngest;
}

void OpenRecords::open(const stream::MemberKey& member, bool error, OpenRecord record) {
  open_.insert_or_assign(Stream{OwnedMember{member}, error}, std::move(record));
}

OpenRecord OpenRecords::take(Place place) {
  OpenRecord record = std::move(place->second);
  open_.erase(place);
  return record;
}

std::optional<OpenRecord> OpenRecords::take_due(Time clock) {
  auto first = open_.end();
  for (auto place = open_.begin(); place != open_.end(); ++place)
    if (place->second.due <= clock && (first == open_.end() || place->second.due < first->second.due)) first = place;
  if (first == open_.end()) return std::nullopt;
  OpenRecord record = std::move(first->second);
  open_.erase(first);
  return record;
}

Time OpenRecords::next_due() const {
  Time due = stream::never;
  for (const auto& [key, record] : open_) due = std::min(due, record.due);
  return due;
}

void OpenRecords::save(stream::Writer& out, const Expressions& expressions) const {
  out.put(static_cast<std::uint64_t>(open_.size()));
  for (const auto& [key, record] : open_) {
    const Rule& rule = expressions.rule(record.rule);
    key.member.save(out);
    out.put(static_cast<std::uint8_t>(key.error));
    out.put(static_cast<std::uint8_t>(rule.kind));
    out.put(rule.name);
    record.of.save(out);
    record.from.save(out);
    out.put(static_cast<std::uint8_t>(record.rank_known));
    out.put(record.text);
    out.put(record.lines);
    out.put(record.time);
    out.put(record.due);
  }
}

stream::Result<void> OpenRecords::load(stream::Reader& in, const Expressions& expressions) {
  open_.clear();
  const std::size_t count = in.get_count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    Stream key;
    key.member.load(in);
    key.error = in.get<std::uint8_t>() != 0;
    const auto kind = in.get<std::uint8_t>() == 0 ? Definition::Kind::pattern : Definition::Kind::parser;
    const std::string name = in.get_text();
    OpenRecord record;
    record.of.load(in);
    record.from.load(in);
    record.rank_known = in.get<std::uint8_t>() != 0;
    record.text = in.get_text();
    record.lines = in.get<std::uint32_t>();
    record.time = in.get_time();
    record.due = in.get_time();
    // A record of a rule that the pack no longer has ends here: nothing could be made of it.
    const auto rule = expressions.find(name, kind);
    if (!rule || !expressions.rule(*rule).assembles()) continue;
    record.rule = *rule;
    open_.insert_or_assign(std::move(key), std::move(record));
  }
  return in.status();
}

}  // namespace tocsin::dsl::text
