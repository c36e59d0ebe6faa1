#include "dsl/text/records.h"

#include <algorithm>

namespace tocsin::dsl::text {

using stream::Time;

std::optional<OpenRecords::Place> OpenRecords::find(const stream::MemberKey& member, bool error,
                                                    std::string_view source) {
  if (open_.empty()) return std::nullopt;
  const auto place = open_.find(Stream{OwnedMember{member}, error, std::string{source}});
  if (place == open_.end()) return std::nullopt;
  return place;
}

std::optional<OpenRecords::Place> OpenRecords::find_wrapped(const stream::MemberKey& from, bool error,
                                                            std::string_view source, const Expressions& expressions) {
  const OwnedMember owner{from};
  std::optional<Place> youngest;
  for (auto place = open_.begin(); place != open_.end(); ++place)
    if (expressions.rule(place->second.rule).wrapped && place->first.error == error && place->first.source == source &&
        place->second.from == owner && (!youngest || place->second.due > (*youngest)->second.due))
      youngest = place;
  return youngest;
}

void OpenRecords::open(const stream::MemberKey& member, bool error, OpenRecord record) {
  Stream stream{OwnedMember{member}, error, record.source};
  open_.insert_or_assign(std::move(stream), std::move(record));
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
  out.list(1, open_, [&](stream::Writer& of, const auto& entry) {
    const auto& [stream, record] = entry;
    const Rule& rule = expressions.rule(record.rule);
    of(1, stream), of(2, record), of(3, rule.kind), of(4, rule.name);
  });
}

stream::Result<void> OpenRecords::load(stream::Reader& in, const Expressions& expressions) {
  open_.clear();
  in.list(1, [&](stream::Reader& of) {
    auto stream = of.get<Stream>(1);
    auto record = of.get<OpenRecord>(2);
    // The pack no longer has the record's rule: it ends here without a result.
    const auto rule = expressions.find(of.get<std::string>(4), of.get<Definition::Kind>(3));
    if (!rule || !expressions.rule(*rule).assembles()) return;
    record.rule = *rule;
    open_.insert_or_assign(std::move(stream), std::move(record));
  });
  return in.status();
}

}  // namespace tocsin::dsl::text
