// Windows over panes.
#include <algorithm>

#include "stream/windows/windows.h"

namespace tocsin::stream {
namespace {

// A pane counts if it lies completely in the window: it begins at or after `from`.
RowNumber first_before(const RowGrid& panes, Time from) {
  const RowNumber at = panes.through(from);
  return panes.end(at) < from ? at + 1 : at;
}

}  // namespace

template <class T>
void LastValues<T>::take(const Rows<T>& rows, RowNumber through) {
  if (through <= through_) return;
  const auto& closed = rows.closed();
  for (std::size_t r = rows.after(through_); r < closed.size() && closed.number(r) <= through; ++r) {
    const std::span<const T> row = closed[r].values;
    if (values_.size() < row.size()) {
      values_.resize(row.size(), absent);
      times_.resize(row.size(), long_ago);
    }
    for (Slot slot = 0; slot < row.size(); ++slot) {
      if (is_absent(row[slot])) continue;
      values_[slot] = canonical(static_cast<double>(row[slot]));
      times_[slot] = rows.grid().end(closed.number(r));
    }
  }
  through_ = through;
}

template <class T>
bool LastValues<T>::reduce(Time from, std::span<double> out) const {
  if (values_.empty()) return false;
  std::fill(out.begin(), out.end(), absent);
  for (Slot slot = 0; slot < std::min(out.size(), values_.size()); ++slot)
    if (times_[slot] > from) out[slot] = values_[slot];
  return true;
}

template <class T>
Time LastValues<T>::first_after(Time from) const noexcept {
  Time first = never;
  for (const Time time : times_)
    if (time > from) first = std::min(first, time);
  return first;
}

template <class T>
void LastValues<T>::load(Reader& in) {
  fields(*this, in);
  if (times_.size() != values_.size()) values_.clear(), times_.clear();
}

template <class T>
void BaselineView<T>::advance(const Rows<T>& rows, const Panes<T>& panes, TimeRange time_range) {
  take_last(rows, rows.grid().through(time_range.to));
  if (order_.empty()) return;
  const RowNumber from = first_before(panes.grid(), time_range.from), through = panes.grid().through(time_range.to);
  if (built_ && from == from_ && through == through_) return;
  const bool again =
      !built_ || through < through_ || from < from_ || from >= through_ || panes.dropped_through() > from_;
  if (again) {
    order_.clear();
    counts_.assign(counts_.size(), 0);
    from_ = through_ = from;
    built_ = true;
  }
  std::vector<double> means;
  const auto each = [&](PanePlace first, PanePlace end, std::uint32_t one, auto&& take) {
    panes.each(first, end, [&](const auto& pane) {
      const std::size_t members = pane.members();
      if (counts_.size() < members) counts_.resize(members, 0);
      means.resize(members);
      for (Slot slot = 0; slot < members; ++slot)
        means[slot] = pane.mean(slot), counts_[slot] += one * pane.counts()[slot];
      for (NearRank<double>& near : order_) take(near);
    });
  };
  if (!again)
    each(panes.after(from_), panes.after(std::min(from, through_)), ~std::uint32_t{0},
         [&](NearRank<double>& near) { near.leave(means); });
  each(panes.after(std::max(through_, from)), panes.after(through), 1,
       [&](NearRank<double>& near) { near.enter(means); });
  from_ = from;
  through_ = through;
  for (NearRank<double>& near : order_)
    near.settle([&](Slot slot, std::vector<double>& values) {
      panes.each(panes.after(from), panes.after(through), [&](const auto& pane) { values.push_back(pane.mean(slot)); });
    });
  kept_.widen(counts_.size());
  for (Slot slot = 0; slot < counts_.size(); ++slot) kept_.changed(slot);
  kept_.refresh([&](Slot slot, Op op, double number) {
    return counts_[slot] == 0 ? absent : order_statistic(op, order_.of(op, number)->of(slot), number);
  });
}

template <class T>
void BaselineView<T>::count_nonfinite(const Panes<T>& panes, PanePlace first, PanePlace end,
                                      const RowReduction& reduction, std::span<double> out) {
  for (Slot slot = 0; slot < out.size(); ++slot) {
    std::size_t present = 0, nonfinite = 0;
    panes.each(first, end, [&](const auto& pane) {
      if (slot >= pane.nans().size()) return;
      present += std::size_t{pane.counts()[slot]} + pane.nans()[slot];
      nonfinite += std::size_t{pane.nans()[slot]} + pane.infinities()[slot];
    });
    if (present != 0 && present >= least_of(*reduction.window)) out[slot] = static_cast<double>(nonfinite);
  }
}

template <class T>
bool BaselineView<T>::reduce(const Panes<T>& panes, TimeRange time_range, const RowReduction& reduction,
                             std::span<double> out) const {
  const PanePlace first = panes.after(first_before(panes.grid(), time_range.from)),
                  end = panes.after(panes.grid().through(time_range.to));
  if (reduction.op == Op::w_last && last_ && reduction.arguments.number <= 1)
    return last_values_.reduce(time_range.from, out);
  if (first >= end) return false;
  std::fill(out.begin(), out.end(), absent);
  if (const auto* column = kept_.find(reduction.op, reduction.arguments.number);
      column != nullptr && built_ && from_ == first_before(panes.grid(), time_range.from) &&
      through_ == panes.grid().through(time_range.to)) {
    take_known(*column, counts_, static_cast<std::uint32_t>(std::max<std::size_t>(least_of(*reduction.window), 1)),
               out);
    return true;
  }

  auto& counts = reduction.scratch->counts;
  auto& result = reduction.scratch->result;
  const std::size_t members = out.size();
  counts.assign(members, 0);
  const Op op = reduction.op;
  const bool counter = reduction.kind == SignalKind::counter && (op == Op::w_rate || op == Op::w_delta);
  const double empty = op == Op::w_min   ? std::numeric_limits<double>::infinity()
                       : op == Op::w_max ? -std::numeric_limits<double>::infinity()
                                         : 0.0;
  result.assign(members, empty);
  if (op == Op::w_nonfinite) return count_nonfinite(panes, first, end, reduction, out), true;
  const auto mask = std::find(panes.masks().begin(), panes.masks().end(), reduction.arguments.number);
  if (op == Op::w_fraction && mask == panes.masks().end())
    return false;  // asked by a scripted rule: panes do not have it
  const auto mask_at = static_cast<std::size_t>(mask - panes.masks().begin());
  panes.each(first, end, [&](const auto& pane) {
    const std::size_t n = std::min(pane.members(), members);
    const auto hits = op == Op::w_fraction ? pane.hits(mask_at) : std::span<const std::uint8_t>{};
    if (op == Op::w_fraction && hits.empty()) return;
    if ((op == Op::w_min || op == Op::w_max) && pane.least().empty()) return;
    const auto counts_here = pane.counts();
    const auto sums = pane.sums();
    for (std::size_t i = 0; i < n; ++i) counts[i] += counts_here[i];
    for (std::size_t i = 0; i < n; ++i) {
      if (op == Op::w_fraction) result[i] += static_cast<double>(hits[i]);
      else if (op == Op::w_min) result[i] = std::min(result[i], static_cast<double>(pane.least()[i]));
      else if (op == Op::w_max) result[i] = std::max(result[i], static_cast<double>(pane.greatest()[i]));
      else if (op == Op::w_mean || op == Op::w_sum || counter) result[i] += sums[i];
    }
  });
  const std::size_t least = least_of(*reduction.window);
  const NearRank<double>* const near = built_ && orders(op) ? order_.of(op, reduction.arguments.number) : nullptr;
  auto &times = reduction.scratch->times, &means = reduction.scratch->values;
  for (Slot slot = 0; slot < members; ++slot) {
    if (counts[slot] == 0 || (reduction.needs_cover() && counts[slot] < least)) continue;
    const auto n = static_cast<double>(counts[slot]);
    if (op == Op::w_count) out[slot] = n;
    else if (op == Op::w_min || op == Op::w_max) out[slot] = result[slot];
    else if (op == Op::w_sum) out[slot] = canonical(result[slot]);
    else if (op == Op::w_mean || (counter && op == Op::w_rate)) out[slot] = canonical(result[slot] / n);
    else if (counter) out[slot] = canonical(result[slot] / n * seconds(reduction.window->over));
    else if (op == Op::w_fraction) out[slot] = result[slot] / n;
    else if (near != nullptr) out[slot] = order_statistic(op, near->of(slot), reduction.arguments.number);
    else {
      times.clear();
      means.clear();
      const RowNumber from = panes[first].number();
      panes.each(first, end, [&](const auto& pane) {
        const double mean = pane.mean(slot);
        if (is_absent(mean)) return;
        means.push_back(mean);
        times.push_back(seconds(panes.grid().length) * static_cast<double>(pane.number() - from));
      });
      if (reduction.enough(means.size()))
        out[slot] = reduce_series(op, {times, means}, reduction.at(slot), reduction.scratch->series);
    }
  }
  return true;
}

template class LastValues<float>;
template class LastValues<double>;
template class BaselineView<float>;
template class BaselineView<double>;

}  // namespace tocsin::stream
