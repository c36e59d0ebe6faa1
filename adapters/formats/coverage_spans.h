#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stream/values/record.h"
#include "stream/values/time.h"

namespace tocsin::adapters::formats {

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
