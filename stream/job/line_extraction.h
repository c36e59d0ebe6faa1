#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "stream/extractor.h"
#include "stream/job/pack_runtime.h"

namespace tocsin::stream {

// The extractors of an attempt. A line belongs to the newest pack with `from` <= its arrival; the pack that judges
// changes only when the subject's clock has reached `from`, so for a while two extractors run side by side. Over a
// reload that leaves patterns and parsers as they are, one extractor goes on. Owned by an Attempt.
class LineExtraction {
 public:
  LineExtraction(const PackTimeline& timeline, PacksInUse& packs) : timeline_(&timeline), packs_(&packs) {}

  // Begins empty, under the pack of this key.
  void begin(const PackChange& pack);
  void line(const LineRecord& line, Time arrival, Extracted& out);
  [[nodiscard]] Time next_due() const {
    return newer_ ? std::min(current_.next_due(), newer_->next_due()) : current_.next_due();
  }
  // What is due at `clock`; next_due() is.
  void settle(Time clock, Extracted& out);
  // The pack that judges is this one now: records that are half assembled under an older one end.
  void change(const PackChange& pack, Extracted& out);
  void finish(Extracted& out);

  void save(Writer& out) const;
  Result<void> load(Reader& in, const PackChange& pack);

 private:
  struct Running {
    PackChange pack;
    std::shared_ptr<Extraction> extraction;
    std::unique_ptr<Extractor> extractor;  // null: the pack extracts nothing
    [[nodiscard]] Time next_due() const { return extractor ? extractor->next_due() : never; }
  };
  [[nodiscard]] Running make(const PackChange& pack) const;
  // Whether it extracts from its pack to this one: each in between knows the same of lines, or cannot be had.
  [[nodiscard]] bool goes_on(const Running& running, const PackChange& pack) const;

  const PackTimeline* timeline_;
  PacksInUse* packs_;
  Running current_;
  std::optional<Running> newer_;
};

}  // namespace tocsin::stream
