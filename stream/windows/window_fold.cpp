#include "stream/windows/window_fold.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

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
void add_pane(std::span<double> sums, std::span<const double> pane) {  // whose sums can be NaN
  double* const to = sums.data();
  for (std::size_t i = 0; i < pane.size(); ++i) to[i] += pane[i];
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
WindowFold<T>::WindowFold(Wants wants, std::size_t rows) {
  const std::size_t most = rows / rows_a_pane + 2;
  if (wants.sums) sums_.reset(new Lane<double>{ClosedRows<double>{most, 0.0}, {}, {}});
  if (wants.least) least_.reset(new Lane<T>{ClosedRows<T>{most, infinity<T>}, {}, {}});
  if (wants.greatest) greatest_.reset(new Lane<T>{ClosedRows<T>{most, -infinity<T>}, {}, {}});
}

template <class T>
void WindowFold<T>::each_lane(auto&& see) {
  const auto add_row = [](std::span<double> to, std::span<const T> row) { add(to, row); };
  const auto lower_all = [](std::span<T> to, std::span<const T> row) { lower(to, row); };
  const auto raise_all = [](std::span<T> to, std::span<const T> row) { raise(to, row); };
  if (sums_) see(*sums_, 0.0, add_row, add_pane);
  if (least_) see(*least_, infinity<T>, lower_all, lower_all);
  if (greatest_) see(*greatest_, -infinity<T>, raise_all, raise_all);
}

template <class T>
void WindowFold<T>::clear() {
  numbers_.clear(), nans_.clear();
  each_lane([](auto& lane, auto&&...) { lane.panes.clear(), lane.middle.clear(); });
  tail_open_ = false;
  from_ = through_ = 0;
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
  const RowNumber pane = pane_of(number, rows_a_pane);
  if (tail_open_ && tail_pane_ != pane) close_tail();
  const bool begins = !std::exchange(tail_open_, true);
  tail_pane_ = pane;
  each_lane([&](auto& lane, auto nothing, auto&& take_row, auto&&) {
    if (begins) lane.tail.clear();
    if (lane.tail.size() < row.size()) lane.tail.resize(row.size(), nothing);
    take_row(lane.tail, row);
  });
}

template <class T>
void WindowFold<T>::leave(std::span<const T> row) {
  // A row that has closed since, and has not entered, can have made all rows wider: nobody has a value there.
  count(row.first(std::min(row.size(), numbers_.size())), ~std::uint32_t{0});  // subtracts the row
}

template <class T>
void WindowFold<T>::close_tail() {
  tail_open_ = false;
  each_lane([&](auto& lane, auto&&...) { lane.panes.push_back(tail_pane_, lane.tail), lane.stale = true; });
}

template <class T>
void WindowFold<T>::hold(RowNumber from, RowNumber through) {
  from_ = from;
  through_ = through;
  if (tail_open_ && tail_pane_ * rows_a_pane <= through) close_tail();
  each_lane([&](auto& lane, auto, auto&&, auto&& take_pane) {
    for (; !lane.panes.empty() && first_of(lane.panes.first_number()) < from; lane.stale = true) lane.panes.pop_front();
    if (!std::exchange(lane.stale, false)) return;
    lane.middle.clear();
    if (lane.panes.empty()) return;
    const auto first = lane.panes[0].values;
    lane.middle.assign(first.begin(), first.end());
    for (std::size_t i = 1; i < lane.panes.size(); ++i) take_pane(lane.middle, lane.panes[i].values);
  });
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
  std::array<std::span<const double>, 2> parts{sums_->middle};
  std::size_t in_head = 0, in_parts = sums_->middle.empty() ? 0 : 1;
  each_of_head(rows, [&](std::span<const T> row) { head[in_head++] = row.data(); });
  if (tail_counts()) parts[in_parts++] = sums_->tail;
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
  const Lane<T>& lane = *(least ? least_ : greatest_);
  see(lane.middle);
  if (tail_counts()) see(lane.tail);
}

template <class T>
std::size_t WindowFold<T>::retained_bytes() const noexcept {
  const auto of = []<class V>(const std::unique_ptr<Lane<V>>& lane) {
    return !lane ? 0
                 : sizeof *lane + lane->panes.retained_bytes() +
                       (lane->middle.capacity() + lane->tail.capacity()) * sizeof(V);
  };
  return (numbers_.capacity() + nans_.capacity()) * sizeof(std::uint32_t) + of(sums_) + of(least_) + of(greatest_);
}

template class WindowFold<float>;
template class WindowFold<double>;

}  // namespace tocsin::stream
