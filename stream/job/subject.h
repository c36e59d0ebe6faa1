#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/job/attempt.h"
#include "stream/values/digest.h"
#include "stream/windows/origins.h"

namespace tocsin::stream {

// A job under its lineage: its attempts, one after the other and for a while side by side, and what outlives them.
// Owned by its Shard.
class Subject {
 public:
  static constexpr Duration unseen = std::chrono::hours{24};     // an attempt without a record for so long has ended
  static constexpr Duration tombstone = std::chrono::hours{24};  // strays of an attempt that is over are swallowed and counted

  Subject(std::string name, Context around);

  void apply(const Entry& entry, const LoadedPack& pack);
  void gap(Time from, Time to);
  [[nodiscard]] Time next_due() const;
  void advance(Time clock);
  void pass(Time clock);  // the same where nothing is due
  void seal();            // every attempt ends, and is judged to its end
  void use(const LoadedPack& pack, Time from);
  // Its records came from other logs: it goes by their watermarks, which are looked at after each control record.
  [[nodiscard]] bool rekeyed() const noexcept { return !origins_.empty(); }
  void follow(Time log_clock, const Watermarks& watermarks);
  [[nodiscard]] Time clock(Time log_clock) const noexcept { return rekeyed() ? origins_.clock() : log_clock; }

  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_->value(); }
  [[nodiscard]] std::uint64_t rows_digest() const;
  [[nodiscard]] Duration longest_raw_window() const;
  [[nodiscard]] bool idle() const noexcept { return attempts_.empty(); }

  // A place in the log where a take-over may begin to fill rows: the origins are remembered as they stand there. Those of places
  // before `oldest` are forgotten.
  void mark(Position at);
  void forget_marks(Position oldest);
  void save(Writer& out) const;
  Result<void> load(Reader& in, const LoadedPack& pack);
  void begin_backfill(Position from);  // a place that was marked, or the log's beginning
  void follow_backfill(Time log_clock, const Watermarks& watermarks);
  void fill(const Entry& entry, Time log_clock);
  void filled();

 private:
  Attempt* attempt_of(const Entry& entry, const LoadedPack& pack);
  Attempt& begin(std::string name, Time at, Position position, const LoadedPack& pack);
  void bury();

  std::string name_;
  std::unique_ptr<Digest> digest_;
  Context context_;
  std::vector<std::unique_ptr<Attempt>> attempts_;  // by start; the last is current
  std::map<std::string, Time> tombstones_;          // until when
  Origins origins_;
  std::vector<std::pair<Position, Origins>> marks_;  // of a re-keyed subject
  Origins backfilling_;                              // as they stood at the entry that is filled
  std::uint32_t started_ = 0;
  Time clock_ = long_ago;
  Digest buried_rows_;
};

}  // namespace tocsin::stream
