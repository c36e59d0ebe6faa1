#include "stream/panes.h"

#include <algorithm>

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
  if (panes_.empty() || panes_.back().number != number) {
    drop_through(number - (keep_ / grid_.length + 2));
    panes_.push_back(Pane{number, {}, {}, {}, {}});
  }
  Pane& pane = panes_.back();
  if (pane.counts.size() < values.size()) {
    pane.sums.resize(values.size(), 0);
    pane.least.resize(values.size(), std::numeric_limits<T>::infinity());
    pane.greatest.resize(values.size(), -std::numeric_limits<T>::infinity());
    pane.counts.resize(values.size(), 0);
  }
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    const T value = values[slot];
    const bool number_here = value == value;
    pane.sums[slot] += number_here ? static_cast<double>(value) : 0.0;
    pane.least[slot] = value < pane.least[slot] ? value : pane.least[slot];
    pane.greatest[slot] = value > pane.greatest[slot] ? value : pane.greatest[slot];
    pane.counts[slot] = static_cast<std::uint16_t>(pane.counts[slot] + (number_here ? 1 : 0));
  }
}

template <class T>
std::size_t Panes<T>::after(RowNumber number) const noexcept {
  const auto place = std::upper_bound(panes_.begin(), panes_.end(), number, [](RowNumber n, const Pane& pane) { return n < pane.number; });
  return static_cast<std::size_t>(place - panes_.begin());
}

template <class T>
void Panes<T>::take_over(Panes& old) {
  panes_ = std::move(old.panes_);
  dropped_through_ = old.dropped_through_;
}

template <class T>
void Panes<T>::save(Writer& out) const {
  out.put(dropped_through_);
  out.put(static_cast<std::uint64_t>(panes_.size()));
  for (const Pane& pane : panes_) {
    out.put(pane.number);
    out.put_all(pane.sums);
    out.put_all(pane.least);
    out.put_all(pane.greatest);
    out.put_all(pane.counts);
  }
}

template <class T>
void Panes<T>::load(Reader& in) {
  panes_.clear();
  dropped_through_ = in.get<RowNumber>();
  const std::size_t count = in.get_count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    Pane pane{in.get<RowNumber>(), in.get_all<double>(), in.get_all<T>(), in.get_all<T>(), in.get_all<std::uint16_t>()};
    const std::size_t members = pane.counts.size();
    if (pane.sums.size() != members || pane.least.size() != members || pane.greatest.size() != members) return panes_.clear();
    if (!panes_.empty() && panes_.back().number >= pane.number) return panes_.clear();
    panes_.push_back(std::move(pane));
  }
}

template <class T>
std::size_t Panes<T>::retained_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Pane& pane : panes_) bytes += sizeof(Pane) + pane.counts.capacity() * (sizeof(double) + 2 * sizeof(T) + sizeof(std::uint16_t));
  return bytes;
}

template class Panes<float>;
template class Panes<double>;

}  // namespace tocsin::stream
