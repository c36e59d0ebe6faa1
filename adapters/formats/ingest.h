#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stream/values/record.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

// Foreign recordings to a journal: arrival is the running maximum of event time, with a beat each second, coverage
// records for each source and member from its first to its last record, and a seal. The same files give the same
// journal, byte for byte.
namespace tocsin::adapters::formats {

struct IngestSettings {
  std::string job;  // the subject of records without a job; empty: they are errors
  // Called for each line that is left out: "file:line: what, and what to write instead".
  std::function<void(const std::string&)> complain = [](const std::string&) {};
  // 0 to 1, every few thousand lines.
  std::function<void(double)> progress = [](double) {};
};

struct IngestSummary {
  std::uint64_t lines = 0, bad_lines = 0;  // of the files
  std::uint64_t samples = 0, log_lines = 0, events = 0, coverage = 0, controls = 0;
  std::uint64_t made_beats = 0, made_coverage = 0;
  std::uint64_t clocks_off = 0;      // more than a year from the median: they do not move the clock
  std::uint64_t skipped_pauses = 0;  // over 26 hours: no beats in the rest of it
  std::uint64_t entries = 0;
  stream::Time first{}, last{};  // arrivals
};

// Merges several files by time. The directory must not hold a journal yet.
stream::Result<IngestSummary> ingest(const std::vector<std::filesystem::path>& files, const std::filesystem::path& to,
                                     const IngestSettings& settings);

// The owner of a source's coverage: a rank, a node, or the whole job, as the records name it.
struct CoverageKey {
  std::string job, attempt;
  std::uint32_t ends =
      0;  // of the job that came before, where the attempt has no name: what is over is covered no more
  std::string source;
  stream::Level level = stream::Level::job;
  std::uint32_t rank = 0;
  std::string node;
  auto operator<=>(const CoverageKey&) const = default;
};

// From when to when each owner's records came, and whose span holds an instant that moves on: a span is looked at when
// it begins, when it ends, and at the instants between. Owned by one ingest.
class CoverageSpans {
 public:
  struct Span {
    stream::Time first, last;
    bool begun = false;  // a record of it was written
  };
  using Item = std::pair<const CoverageKey, Span>;
  struct ByKey {
    bool operator()(const Item* a, const Item* b) const { return a->first < b->first; }
  };

  // A record of this owner; the arrivals do not fall.
  void add(CoverageKey key, stream::Time arrival);
  // True for the first record that is written of this owner.
  bool begin(const CoverageKey& key);
  // Those that began before and last until then, in the order of keys. After the last add(); `at` does not fall.
  const std::set<const Item*, ByKey>& over(stream::Time at);

 private:
  std::map<CoverageKey, Span> spans_;
  std::vector<const Item*> by_first_;  // in the order in which they were added
  std::size_t entered_ = 0;
  std::set<const Item*, ByKey> active_;
};

}  // namespace tocsin::adapters::formats
