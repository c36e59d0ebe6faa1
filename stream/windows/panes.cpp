#include "stream/windows/panes.h"

#include <algorithm>
#include <cmath>

#include "stream/windows/series.h"

namespace tocsin::stream {

template <class T>
void Panes<T>::drop_through(RowNumber number) {
  while (!panes_.empty() && panes_.front().number <= number) {
    dropped_through_ = panes_.front().number;
    panes_.pop_front();
  }
}

template <class T>
void Panes<T>::add(Time row_end, std::span<const T> values) {
  const RowNumber number = grid_.number(row_end);
  bool fresh = false;
  if (panes_.empty() || panes_.back().number != number) {
    drop_through(number - (keep_ / grid_.length + 2));
    panes_.push_back(Pane{number, {}, {}, {}, {}, {}, {}, {}});
    fresh = true;
  }
  Pane& pane = panes_.back();
  pane.hits.resize(masks_.size());
  if (pane.counts.size() < values.size()) {
    pane.sums.resize(values.size(), 0);
    pane.least.resize(values.size(), std::numeric_limits<T>::infinity());
    pane.greatest.resize(values.size(), -std::numeric_limits<T>::infinity());
    pane.counts.resize(values.size(), 0);
    // A mask that was not counted from the pane's first row on stays uncounted.
    const auto grow = [&](std::vector<std::uint16_t>& counted) {
      if (fresh || !counted.empty()) counted.resize(values.size(), 0);
    };
    if (nonfinite_) grow(pane.nans), grow(pane.infinities);
    for (auto& hits : pane.hits) grow(hits);
  }
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    const T value = values[slot];
    const bool number_here = value == value;
    pane.sums[slot] += number_here ? static_cast<double>(value) : 0.0;
    pane.least[slot] = value < pane.least[slot] ? value : pane.least[slot];
    pane.greatest[slot] = value > pane.greatest[slot] ? value : pane.greatest[slot];
    pane.counts[slot] = static_cast<std::uint16_t>(pane.counts[slot] + (number_here ? 1 : 0));
  }
  const auto each_that = [&](std::vector<std::uint16_t>& counts, auto holds) {
    for (std::size_t slot = 0; slot < std::min(values.size(), counts.size()); ++slot)
      if (holds(values[slot])) ++counts[slot];
  };
  if (nonfinite_) {
    each_that(pane.nans, [](T v) { return v != v && !is_absent(v); });
    each_that(pane.infinities, [](T v) { return std::isinf(v); });
  }
  for (std::size_t m = 0; m < masks_.size(); ++m)
    each_that(pane.hits[m], [mask = masks_[m]](T v) { return has_bits(static_cast<double>(v), mask); });
}

template <class T>
std::size_t Panes<T>::after(RowNumber number) const noexcept {
  const auto place = std::upper_bound(panes_.begin(), panes_.end(), number,
                                      [](RowNumber n, const Pane& pane) { return n < pane.number; });
  return static_cast<std::size_t>(place - panes_.begin());
}

template <class T>
void Panes<T>::adopt(Panes& old) {
  panes_ = std::move(old.panes_);
  for (Pane& pane : panes_) {
    if (!nonfinite_) pane.nans.clear(), pane.infinities.clear();
    std::vector<std::vector<std::uint16_t>> hits(masks_.size());  // empty: the other pack did not count these
    for (std::size_t m = 0; m < masks_.size(); ++m) {
      const auto same = std::find(old.masks_.begin(), old.masks_.end(), masks_[m]);
      if (same != old.masks_.end()) hits[m] = std::move(pane.hits[static_cast<std::size_t>(same - old.masks_.begin())]);
    }
    pane.hits = std::move(hits);
  }
  dropped_through_ = old.dropped_through_;
}

template <class T>
void Panes<T>::save(Writer& out) const {
  out(1, dropped_through_), out(2, panes_);
}

template <class T>
void Panes<T>::load(Reader& in) {
  in(1, dropped_through_), in(2, panes_);
  RowNumber before = std::numeric_limits<RowNumber>::min();
  for (Pane& pane : panes_) {
    const std::size_t members = pane.counts.size();
    if (pane.sums.size() != members || pane.least.size() != members || pane.greatest.size() != members ||
        before >= pane.number)
      return panes_.clear(), in.fail("its panes do not hold together");
    before = pane.number;
    pane.nans.resize(std::min(pane.nans.size(), members));
    pane.infinities.resize(pane.nans.size());
    pane.hits.resize(masks_.size());
    for (auto& hits : pane.hits)
      if (!hits.empty()) hits.resize(members);
  }
}

template <class T>
std::size_t Panes<T>::retained_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Pane& pane : panes_)
    bytes += sizeof(Pane) + pane.counts.capacity() * (sizeof(double) + 2 * sizeof(T) + sizeof(std::uint16_t)) +
             (pane.nans.capacity() + pane.infinities.capacity() + pane.hits.size() * pane.counts.capacity()) *
                 sizeof(std::uint16_t);
  return bytes;
}

template class Panes<float>;
template class Panes<double>;

}  // namespace tocsin::stream
