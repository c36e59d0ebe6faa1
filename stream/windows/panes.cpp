#include "stream/windows/panes.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "stream/values/packed.h"
#include "stream/windows/series.h"

namespace tocsin::stream {

template <class T>
void Panes<T>::drop_through(RowNumber number) {
  const auto kept = std::ranges::find_if(panes_, [&](const auto& pane) { return pane->number > number; });
  if (kept == panes_.begin()) return;
  dropped_through_ = (*std::prev(kept))->number;
  panes_.erase(panes_.begin(), kept);
}

template <class T>
void Panes<T>::add(Time row_end, std::span<const T> values) {
  const RowNumber number = grid_.number(row_end);
  if (panes_.empty() || panes_.back()->number != number) {
    drop_through(number - (keep_ / grid_.length + 2));
    panes_.emplace_back(Pane{number, {}, {}, {}});
    if (wants_.more()) panes_.back().own().more.emplace();
  }
  Pane& pane = panes_.back().own();
  const bool fresh = pane.counts.empty();
  if (pane.counts.size() < values.size()) {
    pane.sums.resize(values.size(), 0);
    pane.counts.resize(values.size(), 0);
  }
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    const T value = values[slot];
    const bool number_here = value == value;
    pane.sums[slot] += number_here ? static_cast<double>(value) : 0.0;
    pane.counts[slot] = static_cast<std::uint8_t>(pane.counts[slot] + (number_here ? 1 : 0));
  }
  if (pane.more) add_more(*pane.more, values, fresh);
}

// What was not counted from the pane's first row on stays uncounted.
template <class T>
void Panes<T>::add_more(typename Pane::More& more, std::span<const T> values, bool fresh) {
  const auto grow = [&](auto& counted, auto initial) {
    if (counted.size() < values.size() && (fresh || !counted.empty())) counted.resize(values.size(), initial);
    return std::min(values.size(), counted.size());
  };
  const auto each_that = [&](std::vector<std::uint8_t>& counts, auto holds) {
    const std::size_t members = grow(counts, std::uint8_t{0});
    for (std::size_t slot = 0; slot < members; ++slot)
      if (holds(values[slot])) ++counts[slot];
  };
  if (wants_.extremes) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const std::size_t members = std::min(grow(more.least, infinity), grow(more.greatest, -infinity));
    for (std::size_t slot = 0; slot < members; ++slot) {
      more.least[slot] = values[slot] < more.least[slot] ? values[slot] : more.least[slot];
      more.greatest[slot] = values[slot] > more.greatest[slot] ? values[slot] : more.greatest[slot];
    }
  }
  if (wants_.nonfinite) {
    each_that(more.nans, [](T v) { return v != v && !is_absent(v); });
    each_that(more.infinities, [](T v) { return std::isinf(v); });
  }
  more.hits.resize(wants_.masks.size());
  for (std::size_t m = 0; m < wants_.masks.size(); ++m)
    each_that(more.hits[m], [mask = wants_.masks[m]](T v) { return has_bits(static_cast<double>(v), mask); });
}

template <class T>
std::size_t Panes<T>::after(RowNumber number) const noexcept {
  const auto place = std::upper_bound(panes_.begin(), panes_.end(), number,
                                      [](RowNumber n, const auto& pane) { return n < pane->number; });
  return static_cast<std::size_t>(place - panes_.begin());
}

template <class T>
void Panes<T>::adopt(Panes& old) {
  panes_ = std::move(old.panes_);
  const auto &masks = wants_.masks, &before = old.wants_.masks;
  for (auto& one : panes_) {
    Pane& pane = one.own();
    if (!wants_.more()) pane.more.reset();
    if (!pane.more) continue;
    if (!wants_.extremes) pane.more->least = {}, pane.more->greatest = {};
    if (!wants_.nonfinite) pane.more->nans = {}, pane.more->infinities = {};
    std::vector<std::vector<std::uint8_t>> hits(masks.size());  // empty: the other pack did not count these
    for (std::size_t m = 0; m < masks.size(); ++m) {
      const auto same = std::find(before.begin(), before.end(), masks[m]);
      if (same != before.end()) hits[m] = std::move(pane.more->hits[static_cast<std::size_t>(same - before.begin())]);
    }
    pane.more->hits = std::move(hits);
  }
  dropped_through_ = old.dropped_through_;
}

template <class T>
void Panes<T>::Pane::save(Writer& out) const {
  out(1, number), pack(out, 5, sums), pack(out, 6, counts);
  if (more) out(4, *more);
}

template <class T>
void Panes<T>::Pane::load(Reader& in) {
  in(1, number), in(2, sums), in(3, counts);  // the last two of format 3
  unpack(in, 5, sums), unpack(in, 6, counts);
  in.object(4, [&](Reader& of) { More::fields(more.emplace(), of); });
}

template <class T>
void Panes<T>::save(Writer& out) const {
  out(1, dropped_through_);
  std::vector<std::shared_ptr<const Pane>> lent;
  for (const auto& pane : panes_) lent.push_back(pane.lend());
  out.object(2, [&](Writer& list) {
    list.later([lent = std::move(lent)](Writer& of) {
      for (const auto& pane : lent) of(element_tag, *pane);
    });
  });
}

template <class T>
void Panes<T>::load(Reader& in) {
  in(1, dropped_through_);
  panes_.clear();
  in.list(2, [&](Reader& of) { panes_.emplace_back().own().load(of); });
  RowNumber before = std::numeric_limits<RowNumber>::min();
  for (auto& one : panes_) {
    Pane& pane = one.own();
    const std::size_t members = pane.counts.size();
    const auto fits = [members](const auto& counted) { return counted.empty() || counted.size() == members; };
    bool sound = pane.sums.size() == members && before < pane.number;
    if (pane.more) {
      typename Pane::More& more = *pane.more;
      more.hits.resize(wants_.masks.size());
      sound = sound && fits(more.least) && more.greatest.size() == more.least.size() && fits(more.nans) &&
              more.infinities.size() == more.nans.size() && std::all_of(more.hits.begin(), more.hits.end(), fits);
    }
    if (!sound) return panes_.clear(), in.fail("its panes do not hold together");
    before = pane.number;
  }
}

template <class T>
std::size_t Panes<T>::retained_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& one : panes_) {
    const Pane& pane = *one;
    bytes += sizeof(Pane) + pane.counts.capacity() * (sizeof(double) + 1);
    if (!pane.more) continue;
    const typename Pane::More& more = *pane.more;
    bytes += (more.least.capacity() + more.greatest.capacity()) * sizeof(T) + more.nans.capacity() +
             more.infinities.capacity() + more.hits.size() * pane.counts.capacity();
  }
  return bytes;
}

template class Panes<float>;
template class Panes<double>;

}  // namespace tocsin::stream
