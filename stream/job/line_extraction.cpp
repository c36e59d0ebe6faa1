#include "stream/job/line_extraction.h"

#include <algorithm>

namespace tocsin::stream {

LineExtraction::Running LineExtraction::make(const PackChange& pack) const {
  auto extraction = packs_->extraction(pack);
  auto extractor = extraction ? extraction->make() : nullptr;
  return {pack, std::move(extraction), std::move(extractor)};
}

bool LineExtraction::goes_on(const Running& running, const PackChange& pack) const {
  const PackChange* next = timeline_->after(running.pack.key);
  for (; next && next->key < pack.key; next = timeline_->after(next->key))
    if (packs_->extraction(*next) != running.extraction) return false;
  return packs_->extraction(pack) == running.extraction;
}

void LineExtraction::begin(const PackChange& pack) {
  newer_.reset();
  current_ = make(pack);
}

void LineExtraction::line(const LineRecord& line, Time arrival, Extracted& out) {
  const PackChange& wanted = timeline_->in_force(arrival);
  Running* running = &current_;
  if (wanted.key > current_.pack.key && !goes_on(current_, wanted)) {
    if (newer_ && (newer_->pack.key > wanted.key || !goes_on(*newer_, wanted))) {
      if (newer_->extractor) newer_->extractor->finish(out);
      newer_.reset();
    }
    if (!newer_) newer_ = make(wanted);
    running = &*newer_;
  }
  if (running->extractor) running->extractor->line(line, arrival, out);
}

void LineExtraction::settle(Time clock, Extracted& out) {
  if (current_.extractor && current_.next_due() <= clock) current_.extractor->settle(clock, out);
  if (newer_ && newer_->extractor && newer_->next_due() <= clock) newer_->extractor->settle(clock, out);
}

void LineExtraction::change(const PackChange& pack, Extracted& out) {
  if (!goes_on(current_, pack)) {
    if (current_.extractor) current_.extractor->finish(out);
    const bool begun = newer_ && newer_->pack.key <= pack.key && goes_on(*newer_, pack);
    current_ = begun ? std::move(*newer_) : make(pack);
    if (begun) newer_.reset();
  }
  current_.pack = pack;
}

void LineExtraction::finish(Extracted& out) {
  if (current_.extractor) current_.extractor->finish(out);
  if (newer_ && newer_->extractor) newer_->extractor->finish(out);
}

void LineExtraction::save(Writer& out) const {
  const auto put = [&](Tag tag, const Running& running) {
    if (running.extractor) out.object(tag, [&](Writer& inside) { running.extractor->save(inside); });
  };
  put(1, current_);
  if (!newer_) return;
  out(2, newer_->pack);
  put(3, *newer_);
}

Result<void> LineExtraction::load(Reader& in, const PackChange& pack) {
  const auto get = [&](Tag tag, Running& running) {
    in.object(tag, [&](Reader& inside) {
      if (!running.extractor) return;
      if (auto loaded = running.extractor->load(inside); !loaded) inside.fail(loaded.error());
    });
  };
  begin(pack);
  get(1, current_);
  std::optional<PackChange> newer;
  in(2, newer);
  if (!newer) return in.status();
  newer_ = make(*newer);
  get(3, *newer_);
  return in.status();
}

}  // namespace tocsin::stream
