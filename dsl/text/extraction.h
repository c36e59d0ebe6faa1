#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/text/database_store.h"
#include "dsl/text/definitions.h"
#include "stream/extractor.h"

namespace tocsin::dsl::text {

struct TextProblem {
  std::string file;
  int line = 0;
  std::string message;  // names the pattern and the remedy
};

// What happened to lines since the extractor was made.
struct TextCounters {
  std::uint64_t lines = 0;
  std::uint64_t cut_lines = 0;        // longer than 64 KiB: matched only that far
  std::uint64_t pieces_dropped = 0;   // of a line with very many carriage returns
  std::uint64_t records_cut = 0;      // unfinished records that met a limit
  std::uint64_t records_refused = 0;  // not assembled: too many are open
  std::uint64_t unconfirmed = 0;      // the scan matched, the captures did not
  std::uint64_t samples = 0, events = 0;
};

// An Extractor with public counters.
class LineExtractor : public stream::Extractor {
 public:
  [[nodiscard]] virtual const TextCounters& counters() const noexcept = 0;
};

// Makes LineExtractors that share one immutable set of compiled expressions: for a shard through an Extraction, or
// standalone.
class LineExtractorSource : public stream::ExtractorSource {
 public:
  [[nodiscard]] virtual std::unique_ptr<LineExtractor> make_lines() const = 0;
};

// Compiles patterns and parsers into one Vectorscan database with RE2 captures. Their order is that of the files, and
// decides which parser applies. Null if there is a problem. `store`: where compiled databases are kept, if there is
// such a place.
struct Compiled {
  std::shared_ptr<const LineExtractorSource> source;
  std::vector<TextProblem> problems;
};
[[nodiscard]] Compiled compile(std::span<const Definition> definitions, DatabaseStore* store = nullptr);

// Replaces secrets (tokens, keys, passwords) in a text that appears in an alert or on a page.
[[nodiscard]] std::string mask_secrets(std::string_view text);

}  // namespace tocsin::dsl::text
