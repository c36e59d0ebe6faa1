#include "stream/windows/window_fold.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "stream/graph/kernels.h"
#include "stream/values/value.h"

namespace tocsin::stream {
namespace {

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

RowNumber pane_of(RowNumber row, RowNumber rows_a_pane) noexcept {
  return row / rows_a_pane + (row % rows_a_pane > 0 ? 1 : 0);
}

void add(std::span<double> sums, std::span<const float> row) {
  kernels().add_numbers(row.data(), sums.data(), row.size());
}
void add(std::span<double> sums, std::span<const double> row) {
  double* to = sums.data();
  const double* from = row.data();
  for (std::size_t i = 0; i < row.size(); ++i) to[i] += from[i] == from[i] ? from[i] : 0.0;
}
template <class A, class T>
void lower(std::span<A> least, std::span<const T> row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    least[i] = static_cast<A>(row[i]) < least[i] ? static_cast<A>(row[i]) : least[i];
}
template <class A, class T>
void raise(std::span<A> greatest, std::span<const T> row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    greatest[i] = static_cast<A>(row[i]) > greatest[i] ? static_cast<A>(row[i]) : greatest[i];
}

}  // namespace

template <class T>
void WindowFold<T>::clear() {
  numbers_.clear(), nans_.clear();
  panes_.clear();
  middle_ = {};
  tail_open_ = stale_ = false;
  from_ = through_ = 0;
}

template <class T>
void WindowFold<T>::begin(Part& part, std::size_t members) const {
  if (wants_.sums) part.sums.assign(members, 0.0);
  if (wants_.least) part.least.assign(members, infinity<T>);
  if (wants_.greatest) part.greatest.assign(members, -infinity<T>);
}

template <class T>
void WindowFold<T>::take(Part& part, std::span<const T> row) const {
  if (wants_.sums) {
    if (part.sums.size() < row.size()) part.sums.resize(row.size(), 0.0);
    add(part.sums, row);
  }
  if (wants_.least) {
    if (part.least.size() < row.size()) part.least.resize(row.size(), infinity<T>);
    lower(std::span{part.least}, row);
  }
  if (wants_.greatest) {
    if (part.greatest.size() < row.size()) part.greatest.resize(row.size(), -infinity<T>);
    raise(std::span{part.greatest}, row);
  }
}

template <class T>
void WindowFold<T>::take(Part& part, const Part& other) const {
  if (wants_.sums) {
    if (part.sums.size() < other.sums.size()) part.sums.resize(other.sums.size(), 0.0);
    for (std::size_t i = 0; i < other.sums.size(); ++i) part.sums[i] += other.sums[i];
  }
  if (part.least.size() < other.least.size()) part.least.resize(other.least.size(), infinity<T>);
  lower(std::span{part.least}, std::span{other.least});
  if (part.greatest.size() < other.greatest.size()) part.greatest.resize(other.greatest.size(), -infinity<T>);
  raise(std::span{part.greatest}, std::span{other.greatest});
}

template <class T>
void WindowFold<T>::count(std::span<const T> row, std::uint32_t one) {
  std::size_t nans = 0;
  if constexpr (std::is_same_v<T, float>) {
    nans = kernels().count_numbers(row.data(), numbers_.data(), row.size(), one);
  } else {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = row[i] == row[i];
      numbers_[i] += number ? one : 0u;
      nans += number || is_absent(row[i]) ? 0 : 1;
    }
  }
  if (nans == 0) return;
  if (nans_.size() < row.size()) nans_.resize(row.size(), 0);
  for (std::size_t i = 0; i < row.size(); ++i) nans_[i] += row[i] != row[i] && !is_absent(row[i]) ? one : 0u;
}

template <class T>
void WindowFold<T>::enter(RowNumber number, std::span<const T> row) {
  if (numbers_.size() < row.size()) numbers_.resize(row.size(), 0);
  count(row, 1);
  if (!wants_.sums && !wants_.least && !wants_.greatest) return;
  const RowNumber pane = pane_of(number, rows_a_pane);
  if (tail_open_ && tail_pane_ != pane) close_tail();
  if (!tail_open_) {
    begin(tail_, row.size());
    tail_open_ = true;
    tail_pane_ = pane;
  }
  take(tail_, row);
}

template <class T>
void WindowFold<T>::leave(std::span<const T> row) {
  // A row that has closed since, and has not entered, can have made all rows wider: nobody has a value there.
  count(row.first(std::min(row.size(), numbers_.size())), ~std::uint32_t{0});  // subtracts the row
}

template <class T>
void WindowFold<T>::close_tail() {
  panes_.push_back({tail_pane_, std::move(tail_)});
  tail_ = {};
  tail_open_ = false;
  stale_ = true;
}

template <class T>
void WindowFold<T>::hold(RowNumber from, RowNumber through) {
  from_ = from;
  through_ = through;
  if (tail_open_ && tail_pane_ * rows_a_pane <= through) close_tail();
  const auto kept = std::ranges::find_if(panes_, [&](const Pane& pane) { return first_of(pane.number) >= from; });
  if (kept != panes_.begin()) {
    panes_.erase(panes_.begin(), kept);
    stale_ = true;
  }
  if (!stale_) return;
  stale_ = false;
  begin(middle_, 0);
  for (const Pane& pane : panes_) take(middle_, pane.part);
}

template <class T>
template <class See>
void WindowFold<T>::each_of_head(const Rows<T>& rows, See&& see) const {
  const RowNumber end = std::min(pane_of(from_, rows_a_pane) * rows_a_pane, through_);
  for (std::size_t r = rows.after(from_); r < rows.closed().size() && rows.closed().number(r) <= end; ++r)
    see(rows.closed()[r].values);
}

template <class T>
void WindowFold<T>::sums(const Rows<T>& rows, std::span<double> out) const {
  std::array<const T*, rows_a_pane> head{};
  std::array<std::span<const double>, 2> parts{middle_.sums};
  std::size_t in_head = 0, in_parts = middle_.sums.empty() ? 0 : 1;
  each_of_head(rows, [&](std::span<const T> row) { head[in_head++] = row.data(); });
  if (tail_counts()) parts[in_parts++] = tail_.sums;
  const std::size_t held = std::min(out.size(), rows.closed().members());
  std::size_t slot = 0;
  if constexpr (std::is_same_v<T, float>) {  // those that all have
    slot = held;
    std::array<const double*, 2> more{};
    for (std::size_t i = 0; i < in_parts; ++i) slot = std::min(slot, parts[i].size()), more[i] = parts[i].data();
    kernels().sum_rows({std::span{head}.first(in_head), std::span{more}.first(in_parts)}, out.data(), slot);
  }
  for (; slot < out.size(); ++slot) {
    double sum = 0;
    for (std::size_t i = 0; i < in_head && slot < held; ++i)
      if (is_number(head[i][slot])) sum += static_cast<double>(head[i][slot]);
    for (std::size_t i = 0; i < in_parts; ++i)
      if (slot < parts[i].size()) sum += parts[i][slot];
    out[slot] = sum;
  }
}

template <class T>
void WindowFold<T>::extremes(bool least, const Rows<T>& rows, std::span<double> out) const {
  std::fill(out.begin(), out.end(), least ? infinity<double> : -infinity<double>);
  const auto see = [&](std::span<const T> values) {
    const auto fitting = values.first(std::min(values.size(), out.size()));
    if (least) lower(out, fitting);
    else raise(out, fitting);
  };
  each_of_head(rows, see);
  see(least ? middle_.least : middle_.greatest);
  if (tail_counts()) see(least ? tail_.least : tail_.greatest);
}

template <class T>
std::size_t WindowFold<T>::retained_bytes() const noexcept {
  const auto of = [](const Part& part) {
    return part.sums.capacity() * sizeof(double) + (part.least.capacity() + part.greatest.capacity()) * sizeof(T);
  };
  std::size_t bytes = (numbers_.capacity() + nans_.capacity()) * sizeof(std::uint32_t) + of(middle_) + of(tail_);
  for (const Pane& pane : panes_) bytes += sizeof(Pane) + of(pane.part);
  return bytes;
}

template class WindowFold<float>;
template class WindowFold<double>;

}  // namespace tocsin::stream
