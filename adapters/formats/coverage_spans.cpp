#include "adapters/formats/coverage_spans.h"

#include <utility>

namespace tocsin::adapters::formats {

void CoverageSpans::add(CoverageKey key, stream::Time arrival) {
  const auto [span, added] = spans_.try_emplace(std::move(key), Span{arrival, arrival});
  if (added) by_first_.push_back(&*span);
  else span->second.last = arrival;
}

bool CoverageSpans::begin(const CoverageKey& key) {
  const auto span = spans_.find(key);
  return span != spans_.end() && !std::exchange(span->second.begun, true);
}

const std::set<const CoverageSpans::Item*, CoverageSpans::ByKey>& CoverageSpans::over(stream::Time at) {
  for (; entered_ < by_first_.size() && by_first_[entered_]->second.first < at; ++entered_)
    active_.insert(by_first_[entered_]);
  std::erase_if(active_, [at](const Item* item) { return item->second.last < at; });
  return active_;
}

}  // namespace tocsin::adapters::formats
