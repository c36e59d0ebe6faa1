#include "stream/windows/panes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "stream/values/packed.h"
#include "stream/windows/series.h"

namespace tocsin::stream {

template <class T>
void Panes<T>::each_list(Block& block, auto&& see) const {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr std::uint8_t none = 0;
  see(block.sums, 0.0, true), see(block.counts, none, true);
  for (More& more : block.more) {
    see(more.least, infinity, wants_.extremes), see(more.greatest, -infinity, wants_.extremes);
    see(more.nans, none, wants_.nonfinite), see(more.infinities, none, wants_.nonfinite);
    for (auto& hits : more.hits) see(hits, none, true);
  }
}

template <class T>
typename Panes<T>::Place Panes<T>::after(RowNumber number) const noexcept {
  const auto block = std::ranges::upper_bound(blocks_, number, {}, [](const auto& b) { return b->numbers.back(); });
  if (block == blocks_.end()) return {blocks_.size(), 0};
  const auto& numbers = (*block)->numbers;
  const auto at = static_cast<std::size_t>(std::ranges::upper_bound(numbers, number) - numbers.begin());
  return std::max(Place{static_cast<std::size_t>(block - blocks_.begin()), at}, Place{0, dropped_});
}

template <class T>
void Panes<T>::drop_through(RowNumber number) {
  const Place kept = after(number);
  each({0, dropped_}, kept, [this](const Pane& pane) { dropped_through_ = pane.number(); });
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(kept.block));
  dropped_ = kept.at;
}

template <class T>
void Panes<T>::begin(RowNumber number, std::size_t members) {
  if (std::exchange(whole_, false) || blocks_.empty() || full(*blocks_.back()) || blocks_.back()->members != members) {
    Block& block = blocks_.emplace_back().own();
    block.members = members;
    if (wants_.more()) block.more.emplace_back().hits.resize(wants_.masks.size());
  }
  Block& block = blocks_.back().own();
  block.numbers.push_back(number);
  const std::size_t size = block.numbers.size() * members;
  each_list(block, [&](auto& list, auto initial, bool wanted) {
    if (!wanted) return;
    list.reserve(panes_of(members) * members);
    list.resize(size, initial);
  });
}

// The newest pane, alone in a block, has so many members.
template <class T>
void Panes<T>::widen(std::size_t members) {
  Block& from = blocks_.back().own();
  const std::size_t others = from.numbers.size() - 1, had = from.members;
  Block newest = from;
  newest.members = members;
  newest.numbers.erase(newest.numbers.begin(), newest.numbers.end() - 1);
  each_list(newest, [&](auto& list, auto initial, bool) {
    if (list.empty()) return;
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(others * had));
    list.resize(members, initial);
  });
  from.numbers.pop_back();
  each_list(from, [&](auto& list, auto, bool) { list.resize(std::min(list.size(), others * had)); });
  if (others == 0) blocks_.pop_back();
  blocks_.emplace_back(std::move(newest));
}

template <class T>
void Panes<T>::add(Time row_end, std::span<const T> values) {
  const RowNumber number = grid_.number(row_end);
  if (blocks_.empty() || blocks_.back()->numbers.back() != number) {
    drop_through(number - (keep_ / grid_.length + 2));
    begin(number, values.size());
  }
  if (blocks_.back()->members < values.size()) widen(values.size());
  Block& block = blocks_.back().own();
  const std::size_t first = (block.numbers.size() - 1) * block.members;
  double* const sums = block.sums.data() + first;
  std::uint8_t* const counts = block.counts.data() + first;
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    const T value = values[slot];
    const bool number_here = value == value;
    sums[slot] += number_here ? static_cast<double>(value) : 0.0;
    counts[slot] = static_cast<std::uint8_t>(counts[slot] + (number_here ? 1 : 0));
  }
  for (More& more : block.more) add_more(more, first, values);
}

// What was not counted from the pane's first row on stays uncounted.
template <class T>
void Panes<T>::add_more(More& more, std::size_t first, std::span<const T> values) const {
  const auto each_that = [&](std::vector<std::uint8_t>& counts, auto holds) {
    for (std::size_t slot = 0; slot < values.size() && !counts.empty(); ++slot)
      if (holds(values[slot])) ++counts[first + slot];
  };
  for (std::size_t slot = 0; slot < values.size() && !more.least.empty(); ++slot) {
    T &least = more.least[first + slot], &greatest = more.greatest[first + slot];
    least = values[slot] < least ? values[slot] : least;
    greatest = values[slot] > greatest ? values[slot] : greatest;
  }
  each_that(more.nans, [](T v) { return v != v && !is_absent(v); });
  each_that(more.infinities, [](T v) { return std::isinf(v); });
  for (std::size_t m = 0; m < more.hits.size(); ++m)
    each_that(more.hits[m], [mask = wants_.masks[m]](T v) { return has_bits(static_cast<double>(v), mask); });
}

template <class T>
void Panes<T>::adopt(Panes& old) {
  blocks_ = std::move(old.blocks_);
  dropped_ = old.dropped_, dropped_through_ = old.dropped_through_;
  whole_ = true;
  const auto &masks = wants_.masks, &before = old.wants_.masks;
  for (auto& one : blocks_) {
    if (one->more.empty()) continue;
    Block& block = one.own();
    if (!wants_.more()) block.more.clear();
    for (More& more : block.more) {
      if (!wants_.extremes) more.least = {}, more.greatest = {};
      if (!wants_.nonfinite) more.nans = {}, more.infinities = {};
      std::vector<std::vector<std::uint8_t>> hits(masks.size());  // empty: the other pack did not count these
      for (std::size_t m = 0; m < masks.size(); ++m) {
        const auto same = std::ranges::find(before, masks[m]);
        if (same != before.end()) hits[m] = std::move(more.hits[static_cast<std::size_t>(same - before.begin())]);
      }
      more.hits = std::move(hits);
    }
  }
}

template <class T>
void Panes<T>::Pane::save(Writer& out) const {
  out(1, number()), pack(out, 5, sums()), pack(out, 6, counts());
  if (block_->more.empty()) return;
  const auto copy = [](auto list) { return std::vector(list.begin(), list.end()); };
  More more{copy(least()), copy(greatest()), copy(nans()), copy(infinities()), {}};
  for (std::size_t m = 0; m < block_->more.front().hits.size(); ++m) more.hits.push_back(copy(hits(m)));
  out(4, more);
}

template <class T>
void Panes<T>::save(Writer& out) const {
  out(1, dropped_through_);
  std::vector<std::shared_ptr<const Block>> lent;
  for (const auto& block : blocks_) lent.push_back(block.lend());
  out.object(2, [&](Writer& list) {
    list.later([lent = std::move(lent), dropped = dropped_](Writer& of) {
      std::size_t at = dropped;
      for (const auto& block : lent)
        for (; at < block->numbers.size() || (at = 0); ++at) of(element_tag, Pane{*block, at});
    });
  });
}

template <class T>
void Panes<T>::load(Reader& in) {
  in(1, dropped_through_);
  blocks_.clear();
  dropped_ = 0, whole_ = true;
  bool sound = true;
  in.list(2, [&](Reader& of) {
    RowNumber number{};
    Block one;
    of(1, number), of(2, one.sums), of(3, one.counts);  // the last two of format 3
    unpack(of, 5, one.sums), unpack(of, 6, one.counts);
    of.object(4, [&](Reader& list) { More::fields(one.more.emplace_back(), list); });
    one.members = one.counts.size();
    one.numbers = {number};
    const auto fits = [&](const auto& list) { return list.empty() || list.size() == one.members; };
    sound = sound && one.sums.size() == one.members && (blocks_.empty() || blocks_.back()->numbers.back() < number);
    for (More& more : one.more) {
      more.hits.resize(wants_.masks.size());
      sound = sound && fits(more.least) && more.greatest.size() == more.least.size() && fits(more.nans) &&
              more.infinities.size() == more.nans.size() && std::ranges::all_of(more.hits, fits);
    }
    Block* const last = blocks_.empty() ? nullptr : &blocks_.back().own();
    if (last != nullptr && last->members == one.members && !full(*last) && last->more.empty() && one.more.empty()) {
      last->numbers.push_back(number);
      last->sums.insert(last->sums.end(), one.sums.begin(), one.sums.end());
      last->counts.insert(last->counts.end(), one.counts.begin(), one.counts.end());
    } else {
      blocks_.emplace_back(std::move(one));
    }
  });
  if (!sound) blocks_.clear(), in.fail("its panes do not hold together");
}

template <class T>
std::size_t Panes<T>::retained_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& one : blocks_) {
    const Block& block = *one;
    const auto count = [&bytes](const auto& list) { bytes += list.capacity() * sizeof list.front(); };
    bytes += sizeof block;
    count(block.numbers), count(block.sums), count(block.counts), count(block.more);
    for (const More& more : block.more) {
      count(more.least), count(more.greatest), count(more.nans), count(more.infinities);
      for (const auto& hits : more.hits) count(hits);
    }
  }
  return bytes;
}

template class Panes<float>;
template class Panes<double>;

}  // namespace tocsin::stream
