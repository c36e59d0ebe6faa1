// Windows of raw rows.
#include "stream/windows.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "stream/kernels.h"

namespace tocsin::stream {

ReductionArguments RowReduction::at(Slot slot) const noexcept {
  ReductionArguments at_slot = arguments;
  at_slot.goal = slot < goals.size() ? goals[slot] : goals.size() == 1 ? goals[0] : absent;
  return at_slot;
}

bool RowReduction::needs_cover() const noexcept {
  return op != Op::w_last && op != Op::w_first && op != Op::w_count && kind != SignalKind::state;
}

bool RowReduction::enough(std::size_t count) const noexcept {
  if ((op != Op::w_last && op != Op::w_first) || arguments.number <= 1) return count > 0;
  const auto n = static_cast<std::size_t>(arguments.number);
  return count >= (window->least != 0 ? std::min<std::size_t>(window->least, n) : n);
}

namespace {

// Whether so many rows with a value cover half of the window.
bool covered(std::size_t present, Slot slot, const RowReduction& reduction, double row) {
  const double half = seconds(reduction.window->over) / 2;
  const auto rows = static_cast<double>(present);
  if (rows * row >= half) return present > 0;
  return present > 0 && rows * std::max(reduction.arrivals->usual(slot, row), row) >= half;
}

// The rows of a window, a lane per member. Members that every row has go through the kernels; those that appeared within the
// window, and rows of doubles, through plain loops that give the same bits.
template <class T>
class Pass {
 public:
  Pass(const Rows<T>& rows, std::size_t first, std::size_t end, std::size_t members) : members_(members), common_(members) {
    for (std::size_t r = first; r < end; ++r) {
      const auto& values = rows.closed()[r].values;
      rows_.push_back(values);
      common_ = std::min(common_, values.size());
      if constexpr (std::is_same_v<T, float>) starts_.push_back(values.data());
    }
  }
  void count(std::vector<std::uint32_t>& present) const {
    present.assign(members_, 0);
    if constexpr (std::is_same_v<T, float>) kernels().count_rows(starts_.data(), starts_.size(), common_, present.data());
    each([&](Slot slot, T v) { present[slot] += is_absent(v) ? 0 : 1; });
  }
  [[nodiscard]] std::size_t count(Slot slot) const {
    std::size_t present = 0;
    for (const auto& row : rows_) present += slot < row.size() && !is_absent(row[slot]) ? 1 : 0;
    return present;
  }
  void sum(std::vector<double>& sums, std::vector<std::uint32_t>& numbers) const {
    sums.assign(members_, 0);
    numbers.assign(members_, 0);
    if constexpr (std::is_same_v<T, float>) kernels().sum_rows(starts_.data(), starts_.size(), common_, sums.data(), numbers.data());
    each([&](Slot slot, T v) {
      if (v == v) sums[slot] += static_cast<double>(v), ++numbers[slot];
    });
  }
  void squares(const std::vector<double>& means, std::vector<double>& squares) const {
    squares.assign(members_, 0);
    if constexpr (std::is_same_v<T, float>) kernels().squares_of_rows(starts_.data(), starts_.size(), common_, means.data(), squares.data());
    each([&](Slot slot, T v) {
      const double off = static_cast<double>(v) - means[slot];
      if (off == off) squares[slot] += off * off;
    });
  }
  void extremes(bool least, std::vector<double>& extremes, std::vector<std::uint32_t>& numbers) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    extremes.assign(members_, least ? infinity : -infinity);
    numbers.assign(members_, 0);
    if constexpr (std::is_same_v<T, float>) {
      static thread_local std::vector<float> narrow;
      narrow.resize(members_);
      (least ? kernels().least_of_rows : kernels().greatest_of_rows)(starts_.data(), starts_.size(), common_, narrow.data(), numbers.data());
      for (std::size_t i = 0; i < common_; ++i) extremes[i] = static_cast<double>(narrow[i]);
    }
    each([&](Slot slot, T v) {
      const auto wide = static_cast<double>(v);
      if (least ? wide < extremes[slot] : wide > extremes[slot]) extremes[slot] = wide;
      numbers[slot] += v == v ? 1 : 0;
    });
  }
  // The first and the last number of each member, and the rows they are in.
  struct Edge { double value = absent; std::size_t row = 0; };
  void edges(bool last, std::vector<Edge>& edges) const {
    edges.assign(members_, Edge{});
    std::vector<Slot>& missing = missing_;
    missing.clear();
    for (Slot slot = 0; slot < members_; ++slot) missing.push_back(slot);
    for (std::size_t i = 0; i < rows_.size() && !missing.empty(); ++i) {
      const std::size_t r = last ? rows_.size() - 1 - i : i;
      std::erase_if(missing, [&](Slot slot) {
        if (slot >= rows_[r].size() || rows_[r][slot] != rows_[r][slot]) return false;
        edges[slot] = {static_cast<double>(rows_[r][slot]), r};
        return true;
      });
    }
  }

 private:
  // What the kernels leave, row by row.
  template <class Take>
  void each(Take take) const {
    const std::size_t from = std::is_same_v<T, float> ? common_ : 0;
    for (const auto& row : rows_)
      for (auto slot = static_cast<Slot>(from); slot < std::min(row.size(), members_); ++slot) take(slot, row[slot]);
  }
  std::size_t members_, common_;
  std::vector<std::span<const T>> rows_;
  std::vector<const float*> starts_;
  mutable std::vector<Slot> missing_;
};

}  // namespace

template <class T>
void RawView<T>::advance(const Rows<T>& rows, Extent extent) {
  if (!order_) return;
  const RowNumber from = rows.grid().through(extent.from), through = rows.grid().through(extent.to);
  if (built_ && from == from_ && through == through_) return;
  const auto& closed = rows.closed();
  const bool again = !built_ || through < through_ || from < from_ || from >= through_ || rows.dropped_through() > from_;
  if (again) {
    sorted_.clear();
    from_ = through_ = from;
    built_ = true;
  }
  std::size_t leaving = rows.after(from_);
  const std::size_t leaving_end = again ? leaving : rows.after(std::min(from, through_));
  std::size_t entering = rows.after(std::max(through_, from));
  const std::size_t entering_end = rows.after(through);
  for (; entering < entering_end; ++entering) {
    const auto& in = closed[entering].values;
    if (leaving < leaving_end) {
      const auto& out = closed[leaving++].values;
      const std::size_t both = std::min(in.size(), out.size());
      for (Slot slot = 0; slot < both; ++slot) sorted_.replace(slot, out[slot], in[slot]);
      for (auto slot = static_cast<Slot>(both); slot < in.size(); ++slot) sorted_.insert(slot, in[slot]);
      for (auto slot = static_cast<Slot>(both); slot < out.size(); ++slot) sorted_.remove(slot, out[slot]);
    } else {
      for (Slot slot = 0; slot < in.size(); ++slot) sorted_.insert(slot, in[slot]);
    }
  }
  for (; leaving < leaving_end; ++leaving) {
    const auto& out = closed[leaving].values;
    for (Slot slot = 0; slot < out.size(); ++slot) sorted_.remove(slot, out[slot]);
  }
  from_ = from;
  through_ = through;
}

template <class T>
void RawView<T>::reduce(const Rows<T>& rows, Extent extent, const RowReduction& reduction, std::span<double> out) const {
  const std::size_t first = rows.after(rows.grid().through(extent.from)), end = rows.after(rows.grid().through(extent.to));
  if (first >= end) return;
  switch (reduction.op) {
    case Op::w_mean: case Op::w_sum: case Op::w_min: case Op::w_max: case Op::w_count: case Op::w_stddev: case Op::w_rate: case Op::w_delta:
      return in_one_pass(rows, first, end, reduction, out);
    case Op::w_last: case Op::w_first: {
      if (reduction.arguments.number > 1) return by_member(rows, first, end, reduction, out);
      const bool last = reduction.op == Op::w_last;
      static thread_local std::vector<Slot> missing;
      missing.clear();
      const auto take = [&](const std::vector<T>& values, Slot slot) {
        if (slot >= values.size() || is_absent(values[slot])) return false;
        out[slot] = canonical(static_cast<double>(values[slot]));
        return true;
      };
      const auto& edge = rows.closed()[last ? end - 1 : first].values;
      for (Slot slot = 0; slot < out.size(); ++slot)
        if (!take(edge, slot)) missing.push_back(slot);
      for (std::size_t i = 1; i < end - first && !missing.empty(); ++i) {
        const auto& values = rows.closed()[last ? end - 1 - i : first + i].values;
        std::erase_if(missing, [&](Slot slot) { return take(values, slot); });
      }
      return;
    }
    default: return by_member(rows, first, end, reduction, out);
  }
}

template <class T>
void RawView<T>::in_one_pass(const Rows<T>& rows, std::size_t first, std::size_t end, const RowReduction& reduction, std::span<double> out) const {
  static thread_local std::vector<std::uint32_t> numbers;
  static thread_local std::vector<double> result, squares;
  const Pass<T> pass{rows, first, end, out.size()};
  const double row = seconds(rows.grid().length);
  const double half = seconds(reduction.window->over) / 2;
  const Op op = reduction.op;
  const bool counter = reduction.kind == SignalKind::counter;
  if (op == Op::w_count) {
    pass.count(numbers);
    for (Slot slot = 0; slot < out.size(); ++slot)
      if (numbers[slot] != 0) out[slot] = static_cast<double>(numbers[slot]);
    return;
  }
  // Enough numbers settle it; only where there are few, measured NaN have to be counted, too.
  const auto known = [&](Slot slot) {
    return static_cast<double>(numbers[slot]) * row >= half ||
           (numbers[slot] != 0 && (!reduction.needs_cover() || covered(pass.count(slot), slot, reduction, row)));
  };
  if (op == Op::w_min || op == Op::w_max) {
    pass.extremes(op == Op::w_min, result, numbers);
    for (Slot slot = 0; slot < out.size(); ++slot)
      if (known(slot)) out[slot] = result[slot];
    return;
  }
  if ((op == Op::w_delta || op == Op::w_rate) && !counter) return between_edges(pass, rows, first, reduction, out);
  pass.sum(result, numbers);
  if (op == Op::w_stddev) {
    for (Slot slot = 0; slot < out.size(); ++slot) result[slot] /= static_cast<double>(std::max(numbers[slot], 1u));
    pass.squares(result, squares);
    for (Slot slot = 0; slot < out.size(); ++slot)
      if (known(slot) && numbers[slot] >= 2)
        out[slot] = std::isfinite(result[slot]) ? canonical(std::sqrt(squares[slot] / (static_cast<double>(numbers[slot]) - 1))) : measured_nan;
    return;
  }
  for (Slot slot = 0; slot < out.size(); ++slot) {
    if (!known(slot)) continue;
    const auto n = static_cast<double>(numbers[slot]);
    switch (op) {
      case Op::w_mean: case Op::w_rate: out[slot] = canonical(result[slot] / n); break;   // of a counter: the mean of its rates
      case Op::w_delta: out[slot] = canonical(result[slot] / n * seconds(reduction.window->over)); break;
      default: out[slot] = canonical(result[slot]); break;
    }
  }
}

template <class T>
template <class P>
void RawView<T>::between_edges(const P& pass, const Rows<T>& rows, std::size_t first, const RowReduction& reduction, std::span<double> out) const {
  static thread_local std::vector<typename P::Edge> firsts, lasts;
  static thread_local std::vector<std::uint32_t> present;
  pass.edges(false, firsts);
  pass.edges(true, lasts);
  pass.count(present);
  const double row = seconds(rows.grid().length);
  for (Slot slot = 0; slot < out.size(); ++slot) {
    if (is_absent(firsts[slot].value) || firsts[slot].row == lasts[slot].row || (reduction.needs_cover() && !covered(present[slot], slot, reduction, row))) continue;
    const double change = lasts[slot].value - firsts[slot].value;
    const auto elapsed = static_cast<double>(rows.closed()[first + lasts[slot].row].number - rows.closed()[first + firsts[slot].row].number) * row;
    if (reduction.op == Op::w_delta) out[slot] = canonical(change);
    else if (elapsed > 0) out[slot] = canonical(change / elapsed);
  }
}

template <class T>
void RawView<T>::by_member(const Rows<T>& rows, std::size_t first, std::size_t end, const RowReduction& reduction, std::span<double> out) const {
  constexpr std::size_t together = 16;   // members: a cache line of floats
  static thread_local std::vector<double> block, values, times, times_of;
  const std::size_t count = end - first;
  const double row = seconds(rows.grid().length);
  const bool kept_up = order_ && built_ && (reduction.op == Op::w_median || reduction.op == Op::w_quantile || reduction.op == Op::w_mad);
  times.clear();
  for (std::size_t r = first; r < end; ++r)
    times.push_back(static_cast<double>(rows.closed()[r].number - rows.closed()[first].number) * row);
  block.resize(together * count);
  for (std::size_t base = 0; base < out.size(); base += together) {
    const std::size_t width = std::min(together, out.size() - base);
    if (kept_up) {
      // Enough numbers settle it; only where there are few, measured NaN have to be counted, too.
      bool all = true;
      for (std::size_t j = 0; j < width && all; ++j) {
        const auto sorted = sorted_.of(static_cast<Slot>(base + j));
        all = !sorted.empty() && static_cast<double>(sorted.size()) * row >= seconds(reduction.window->over) / 2;
      }
      if (all) {
        for (std::size_t j = 0; j < width; ++j) {
          const auto sorted = sorted_.of(static_cast<Slot>(base + j));
          out[base + j] = reduction.op == Op::w_median ? median_of_sorted(sorted)
                          : reduction.op == Op::w_mad ? mad_of_sorted(sorted) : quantile_of_sorted(sorted, reduction.arguments.number);
        }
        continue;
      }
    }
    for (std::size_t r = 0; r < count; ++r) {
      const auto& from = rows.closed()[first + r].values;
      for (std::size_t j = 0; j < width; ++j)
        block[j * count + r] = base + j < from.size() ? static_cast<double>(from[base + j]) : absent;
    }
    for (std::size_t j = 0; j < width; ++j) {
      const auto slot = static_cast<Slot>(base + j);
      values.clear();
      times_of.clear();
      for (std::size_t r = 0; r < count; ++r) {
        const double v = block[j * count + r];
        // An absent float widens to the absent double.
        if (is_absent(v)) continue;
        values.push_back(v);
        times_of.push_back(times[r]);
      }
      if (!reduction.enough(values.size())) continue;
      if (reduction.needs_cover() && !covered(values.size(), slot, reduction, row)) continue;
      out[slot] = reduce_series(reduction.op, {times_of, values}, reduction.at(slot));
    }
  }
}

template class RawView<float>;
template class RawView<double>;

}  // namespace tocsin::stream
