// Windows of raw rows.
#include "stream/windows.h"

#include <algorithm>
#include <cmath>

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

// Row by row, a lane per member: the compiler makes vectors of these.
template <class T>
void add_row(const T* __restrict values, std::size_t n, std::uint32_t* __restrict present, std::uint32_t* __restrict numbers,
             double* __restrict sum) {
  for (std::size_t i = 0; i < n; ++i) {
    const T v = values[i];
    present[i] += is_absent(v) ? 0u : 1u;
    numbers[i] += v == v ? 1u : 0u;
    sum[i] += v == v ? static_cast<double>(v) : 0.0;
  }
}
template <class T>
void least_of_row(const T* __restrict values, std::size_t n, std::uint32_t* __restrict present, std::uint32_t* __restrict numbers,
                  double* __restrict least) {
  for (std::size_t i = 0; i < n; ++i) {
    const T v = values[i];
    present[i] += is_absent(v) ? 0u : 1u;
    numbers[i] += v == v ? 1u : 0u;
    least[i] = static_cast<double>(v) < least[i] ? static_cast<double>(v) : least[i];
  }
}
template <class T>
void greatest_of_row(const T* __restrict values, std::size_t n, std::uint32_t* __restrict present, std::uint32_t* __restrict numbers,
                     double* __restrict greatest) {
  for (std::size_t i = 0; i < n; ++i) {
    const T v = values[i];
    present[i] += is_absent(v) ? 0u : 1u;
    numbers[i] += v == v ? 1u : 0u;
    greatest[i] = static_cast<double>(v) > greatest[i] ? static_cast<double>(v) : greatest[i];
  }
}
template <class T>
void count_row(const T* __restrict values, std::size_t n, std::uint32_t* __restrict present) {
  for (std::size_t i = 0; i < n; ++i) present[i] += is_absent(values[i]) ? 0u : 1u;
}

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
    case Op::w_mean: case Op::w_sum: case Op::w_min: case Op::w_max: case Op::w_count:
      return in_one_pass(rows, first, end, reduction, out);
    case Op::w_rate: case Op::w_delta:
      return reduction.kind == SignalKind::counter ? in_one_pass(rows, first, end, reduction, out) : by_member(rows, first, end, reduction, out);
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
  static thread_local std::vector<std::uint32_t> present, numbers;
  static thread_local std::vector<double> result;
  const std::size_t members = out.size();
  present.assign(members, 0);
  numbers.assign(members, 0);
  const double empty = reduction.op == Op::w_min ? std::numeric_limits<double>::infinity()
                       : reduction.op == Op::w_max ? -std::numeric_limits<double>::infinity() : 0.0;
  result.assign(members, empty);
  for (std::size_t r = first; r < end; ++r) {
    const auto& values = rows.closed()[r].values;
    const std::size_t n = std::min(values.size(), members);
    switch (reduction.op) {
      case Op::w_min: least_of_row(values.data(), n, present.data(), numbers.data(), result.data()); break;
      case Op::w_max: greatest_of_row(values.data(), n, present.data(), numbers.data(), result.data()); break;
      case Op::w_count: count_row(values.data(), n, present.data()); break;
      default: add_row(values.data(), n, present.data(), numbers.data(), result.data()); break;
    }
  }
  const double row = seconds(rows.grid().length);
  for (Slot slot = 0; slot < members; ++slot) {
    if (reduction.op == Op::w_count) {
      if (present[slot] != 0) out[slot] = static_cast<double>(present[slot]);
      continue;
    }
    if (numbers[slot] == 0 || (reduction.needs_cover() && !covered(present[slot], slot, reduction, row))) continue;
    const auto n = static_cast<double>(numbers[slot]);
    switch (reduction.op) {
      case Op::w_mean: case Op::w_rate: out[slot] = canonical(result[slot] / n); break;   // of a counter: the mean of its rates
      case Op::w_delta: out[slot] = canonical(result[slot] / n * seconds(reduction.window->over)); break;
      case Op::w_sum: out[slot] = canonical(result[slot]); break;
      default: out[slot] = result[slot]; break;
    }
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
