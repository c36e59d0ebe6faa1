#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/text/expressions.h"
#include "stream/values/archive.h"
#include "stream/values/record.h"

namespace tocsin::dsl::text {

// A member with its own strings; ordered, so that iteration has the same order everywhere.
struct OwnedMember {
  stream::Level level = stream::Level::job;
  std::uint32_t rank = 0;
  std::string node, gpu;

  OwnedMember() = default;
  explicit OwnedMember(const stream::MemberKey& key) : level(key.level), rank(key.rank), node(key.node), gpu(key.gpu) {}
  [[nodiscard]] stream::MemberKey key() const { return {level, rank, node, gpu}; }
  friend auto operator<=>(const OwnedMember&, const OwnedMember&) = default;

  static void fields(auto& self, auto& archive) {
    archive(1, self.level), archive(2, self.rank), archive(3, self.node), archive(4, self.gpu);
  }
};

// One of the two outputs of a member, or another log of it.
struct Stream {
  OwnedMember member;
  bool error = false;
  std::string source;  // of its lines; empty: the member's own log
  static void fields(auto& self, auto& archive) {
    archive(1, self.member), archive(2, self.error), archive(3, self.source);
  }
  friend auto operator<=>(const Stream&, const Stream&) = default;
};

// A record that has begun and that the stream's next lines may continue.
struct OpenRecord {
  std::uint32_t rule = 0;
  OwnedMember of;           // the member that it is about
  OwnedMember from;         // the member whose line began it, from the collector
  std::string source;       // of its lines; empty: the member's own log
  bool rank_known = false;  // of the line that began it
  std::string text;
  std::uint32_t lines = 0;  // of the stream since then, joined or not
  stream::Time time{};      // of the last line that was joined
  stream::Time due{};       // when it ends if no line continues it

  // Without its rule, whose number differs between packs.
  static void fields(auto& self, auto& archive) {
    archive(1, self.of), archive(2, self.from), archive(3, self.rank_known), archive(4, self.text);
    archive(5, self.lines), archive(6, self.time), archive(7, self.due), archive(8, self.source);
  }
};

// The unfinished records of one attempt, at most one per stream. Bounded in number, bytes, lines and time.
// Owned by its extractor.
class OpenRecords {
 public:
  static constexpr std::size_t most_records = 4096;
  static constexpr std::size_t most_bytes = 64 * 1024;  // of one record
  static constexpr stream::Duration patience = std::chrono::seconds{2};

  [[nodiscard]] bool none() const noexcept { return open_.empty(); }
  [[nodiscard]] bool full() const noexcept { return open_.size() >= most_records; }
  using Place = std::map<Stream, OpenRecord>::iterator;
  [[nodiscard]] std::optional<Place> find(const stream::MemberKey& member, bool error, std::string_view source);
  // A terminal wraps a line without a prefix on the rest: finds the newest record of a wrapped rule that began with
  // this collector's lines.
  [[nodiscard]] std::optional<Place> find_wrapped(const stream::MemberKey& from, bool error, std::string_view source,
                                                  const Expressions& expressions);
  void open(const stream::MemberKey& member, bool error, OpenRecord record);  // among the lines of its source
  OpenRecord take(Place place);
  // The one that ends first, if that is not after `clock`; of equal ones the first in the order of streams.
  [[nodiscard]] std::optional<OpenRecord> take_due(stream::Time clock);
  [[nodiscard]] stream::Time next_due() const;

  void save(stream::Writer& out, const Expressions& expressions) const;
  stream::Result<void> load(stream::Reader& in, const Expressions& expressions);

 private:
  std::map<Stream, OpenRecord> open_;
};

}  // namespace tocsin::dsl::text
