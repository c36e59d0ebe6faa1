#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/text/expressions.h"
#include "dsl/text/extraction.h"
#include "dsl/text/records.h"

namespace tocsin::dsl::text {

// What happened to lines since the extractor was made.
struct TextCounters {
  std::uint64_t lines = 0;
  std::uint64_t cut_lines = 0;        // longer than 64 KiB: matched only that far
  std::uint64_t pieces_dropped = 0;   // of a line with very many carriage returns
  std::uint64_t records_cut = 0;      // unfinished records that met a limit
  std::uint64_t records_refused = 0;  // not assembled: too many are open
  std::uint64_t unconfirmed = 0;      // the scan matched, the captures did not: counted once for each known shape
  std::uint64_t samples = 0, events = 0;
};

// Turns the lines of one attempt into events and samples. Cleans a line, parses its prefix, scans it once for all
// expressions, and takes captures for those that occur. Owned by its Attempt; shares the expressions, and the memory of
// searches with the other extractors of its shard.
class Lines final : public stream::Extractor {
 public:
  Lines(std::shared_ptr<const Expressions> expressions, std::shared_ptr<Expressions::Workspace> workspace)
      : expressions_(std::move(expressions)), workspace_(std::move(workspace)) {}

  void line(const stream::LineRecord& line, stream::Time arrival, stream::Extracted& out) override;
  [[nodiscard]] stream::Time next_due() const override { return open_.next_due(); }
  void settle(stream::Time clock, stream::Extracted& out) override;
  void finish(stream::Extracted& out) override;
  void save(stream::Writer& out) const override;
  stream::Result<void> load(stream::Reader& in) override;
  [[nodiscard]] const TextCounters& counters() const noexcept { return counters_; }
  // The definition whose samples or event go out, while they do.
  [[nodiscard]] const Rule* making() const noexcept { return making_; }
  // The definition that begins or continues a record with the last line; null: none.
  [[nodiscard]] const Rule* part_of() const noexcept { return part_of_; }

 private:
  // One piece of a line, after cleaning.
  struct Piece {
    std::string_view body;
    stream::MemberKey member;
    stream::MemberKey from;  // from the collector
    bool rank_known = false;
    bool error = false;
    std::string_view source;  // of the line; empty: its member's own log
    stream::Time time{}, arrival{};
  };
  void take(std::string_view text, const stream::LineRecord& line, stream::Time arrival, stream::Extracted& out);
  void take_plain(std::string_view text, const stream::LineRecord& line, stream::Time arrival, stream::Extracted& out);
  void take_clean(std::string_view text, const stream::LineRecord& line, stream::Time arrival, stream::Extracted& out);
  void apply(const Piece& piece, stream::Extracted& out);
  // Joins the piece to the open record that it continues, and closes the record if this is its last line. Null: it
  // continues none.
  const Rule* join(const Piece& piece, stream::Extracted& out);
  void begin(const Piece& piece, std::uint32_t rule, stream::Extracted& out);
  void close(const OpenRecord& record, stream::Extracted& out);
  void emit(const Rule& rule, std::string_view text, const Captures& captures, const stream::MemberKey& member,
            bool rank_known, std::string_view source, stream::Time time, stream::Extracted& out);
  [[nodiscard]] bool counts(const Rule& rule, const Captures& captures, const stream::MemberKey& member);

  std::shared_ptr<const Expressions> expressions_;
  std::shared_ptr<Expressions::Workspace> workspace_;
  OpenRecords open_;
  std::map<OwnedMember, double> totals_;  // the totals of progress bars
  TextCounters counters_;
  const Rule* making_ = nullptr;
  const Rule* part_of_ = nullptr;

  // Reused between calls, so that an ordinary line allocates nothing.
  std::vector<std::string_view> pieces_;
  std::vector<std::uint32_t> found_;
  std::string clean_, narrow_;
  std::vector<stream::EventRecord::Field> fields_;
  std::vector<std::string> texts_;
};

// What launchers, collectors and loggers put before a line: `[rank3]:`, `[default7]:`, `3: ` (srun -l), `(Worker
// pid=9)`,
// `[Rank 0]`, `[1,3]<stderr>:` (mpirun), times, levels, places in source files. Times are skipped: a line's time is its
// record's.
struct Prefix {
  std::size_t size = 0;               // of the whole prefix; the body begins here
  std::optional<std::uint32_t> rank;  // the innermost one in the prefix
  bool local = false;                 // from torchrun, as the role and the local rank
  std::string_view time;              // the first one, as it is written
};
[[nodiscard]] Prefix read_prefix(std::string_view line) noexcept;

}  // namespace tocsin::dsl::text
