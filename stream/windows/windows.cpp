// Windows of raw rows.
#include "stream/windows/windows.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <type_traits>

#include "stream/graph/kernels.h"

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
  return present > 0 &&
         reduction.arrivals->usual_is(slot, row, [&](double every) { return rows * std::max(every, row) >= half; });
}

// What has to be folded for a reduction; nothing: it is read from the rows. The delta and the rate of a counter, whose
// rows are rates, follow from their mean.
template <class T>
std::optional<typename WindowFold<T>::Wants> folds(Op op, bool counter) {
  switch (op) {
    case Op::w_mean:
    case Op::w_sum:
    case Op::w_stddev: return {{true, false, false}};
    case Op::w_delta:
    case Op::w_rate: return {{counter, false, false}};
    case Op::w_min: return {{false, true, false}};
    case Op::w_max: return {{false, false, true}};
    case Op::w_count: return {{false, false, false}};
    default: return std::nullopt;
  }
}

// The first or last number of each of these members, with its row counted from `first`; absent if there is none.
using Edge = ReductionScratch::Edge;
template <class T>
void find_edges(const Rows<T>& rows, std::size_t first, std::size_t end, bool last, std::vector<Slot> missing,
                std::vector<Edge>& edges) {
  for (std::size_t i = 0; i < end - first && !missing.empty(); ++i) {
    const std::size_t r = last ? end - 1 - i : first + i;
    const std::span<const T> values = rows.closed()[r].values;
    std::erase_if(missing, [&](Slot slot) {
      if (slot >= values.size() || values[slot] != values[slot]) return false;
      edges[slot] = {static_cast<double>(values[slot]), r - first};
      return true;
    });
  }
}

// Replaces each mean by the standard deviation of the sample, over the rows; absent below two numbers.
template <class T>
void deviations(const Rows<T>& rows, std::size_t first, std::size_t end, std::span<const std::uint32_t> numbers,
                std::vector<double>& means, std::vector<double>& squares) {
  squares.assign(means.size(), 0.0);
  for (std::size_t r = first; r < end; ++r) {
    const std::span<const T> values = rows.closed()[r].values;
    for (std::size_t i = 0; i < std::min(values.size(), means.size()); ++i) {
      const double off = static_cast<double>(values[i]) - means[i];
      squares[i] += off == off ? off * off : 0.0;
    }
  }
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (numbers[i] < 2) means[i] = absent;
    else
      means[i] = std::isfinite(means[i]) ? std::sqrt(squares[i] / (static_cast<double>(numbers[i]) - 1)) : measured_nan;
  }
}

}  // namespace

template <class T>
RawView<T>::RawView(const WindowSpec& spec, const Demand& demand, bool declared, const SignalDefinition& signal)
    : spec_(&spec) {
  if (!declared) return;
  const auto most = static_cast<std::size_t>(spec.over / signal.row) + 1;
  constexpr std::size_t near = 64;
  for (const Reduction& reduction : demand.reductions) order_.add(reduction, most, near);
  bool folded = false;
  for (const Reduction& reduction : demand.reductions)
    if (const auto wants = folds<T>(reduction.op, signal.kind == SignalKind::counter)) {
      wants_ = {wants_.sums || wants->sums, wants_.least || wants->least, wants_.greatest || wants->greatest};
      folded = true;
    }
  if (folded) fold_.emplace(wants_, most);
}

template <class T>
void RawView<T>::advance(const Rows<T>& rows, TimeRange time_range) {
  if (order_.empty() && !fold_) return;
  const RowNumber from = rows.grid().through(time_range.from), through = rows.grid().through(time_range.to);
  if (built_ && from == from_ && through == through_) return;
  const auto& closed = rows.closed();
  const bool again =
      !built_ || through < through_ || from < from_ || from >= through_ || rows.dropped_through() > from_;
  if (again) {
    order_.clear();
    if (fold_) fold_->clear();
    from_ = through_ = from;
    built_ = true;
  }
  std::size_t leaving = rows.after(from_);
  const std::size_t leaving_end = again ? leaving : rows.after(std::min(from, through_));
  std::size_t entering = rows.after(std::max(through_, from));
  const std::size_t entering_end = rows.after(through);
  if (fold_) {
    for (std::size_t r = entering; r < entering_end; ++r) fold_->enter(closed.number(r), closed[r].values);
    for (std::size_t r = leaving; r < leaving_end; ++r) fold_->leave(closed[r].values);
    fold_->hold(from, through);
  }
  from_ = from;
  through_ = through;
  for (auto& near : order_) {
    for (std::size_t in = entering, out = leaving; in < entering_end || out < leaving_end; ++in, ++out) {
      if (out < leaving_end) near.leave(closed[out].values);
      if (in < entering_end) near.enter(closed[in].values);
    }
    const std::size_t first = rows.after(from);
    near.settle([&](Slot slot, std::vector<T>& values) {
      for (std::size_t r = first; r < entering_end; ++r)
        if (slot < closed[r].values.size()) values.push_back(closed[r].values[slot]);
    });
  }
}

template <class T>
bool RawView<T>::reduce(const Rows<T>& rows, TimeRange time_range, const RowReduction& reduction,
                        std::span<double> out) const {
  const RowNumber from = rows.grid().through(time_range.from), through = rows.grid().through(time_range.to);
  const std::size_t first = rows.after(from), end = rows.after(through);
  if (first >= end) return false;
  if ((reduction.op == Op::w_last || reduction.op == Op::w_first) && reduction.arguments.number <= 1)
    return edge(rows, first, end, reduction, out), true;
  const auto wants = folds<T>(reduction.op, reduction.kind == SignalKind::counter);
  if (!wants) return std::ranges::fill(out, absent), by_member(rows, first, end, reduction, out), true;
  const bool kept = fold_ && (wants_.sums || !wants->sums) && (wants_.least || !wants->least) &&
                    (wants_.greatest || !wants->greatest);
  if (kept) return by_fold(*fold_, rows, first, end, reduction, out), true;
  WindowFold<T> fold{*wants, end - first};  // for a scripted rule: the same fold, built from the rows
  for (std::size_t r = first; r < end; ++r) fold.enter(rows.closed().number(r), rows.closed()[r].values);
  fold.hold(from, through);
  by_fold(fold, rows, first, end, reduction, out);
  return true;
}

template <class T>
void RawView<T>::edge(const Rows<T>& rows, std::size_t first, std::size_t end, const RowReduction& reduction,
                      std::span<double> out) const {
  const bool last = reduction.op == Op::w_last;
  auto& missing = reduction.scratch->slots;
  missing.clear();
  const auto take = [&](std::span<const T> values, Slot slot) {
    if (slot >= values.size() || is_absent(values[slot])) return false;
    out[slot] = canonical(static_cast<double>(values[slot]));
    return true;
  };
  const std::span<const T> nearest = rows.closed()[last ? end - 1 : first].values;
  const std::size_t held = std::min(nearest.size(), out.size());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(held), out.end(), absent);
  std::size_t absences = out.size() - held;
  if constexpr (std::is_same_v<T, float>) {
    absences += kernels().copy_row(nearest.data(), out.data(), held);
  } else {
    for (std::size_t i = 0; i < held; ++i) {
      out[i] = canonical(nearest[i]);
      absences += is_absent(nearest[i]) ? 1 : 0;
    }
  }
  for (Slot slot = 0; absences > 0; ++slot) {
    if (slot < held && !is_absent(nearest[slot])) continue;
    --absences;
    if (rows.ever(slot)) missing.push_back(slot);
  }
  for (std::size_t i = 1; i < end - first && !missing.empty(); ++i) {
    const std::span<const T> values = rows.closed()[last ? end - 1 - i : first + i].values;
    std::erase_if(missing, [&](Slot slot) { return take(values, slot); });
  }
}

template <class T>
void RawView<T>::by_fold(const WindowFold<T>& fold, const Rows<T>& rows, std::size_t first, std::size_t end,
                         const RowReduction& reduction, std::span<double> out) const {
  const Op op = reduction.op;
  const std::size_t members = std::min(out.size(), fold.numbers().size());
  const auto numbers = fold.numbers().first(members);
  const bool edges = (op == Op::w_delta || op == Op::w_rate) && reduction.kind != SignalKind::counter;
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(edges ? 0 : members), out.end(), absent);
  if (op == Op::w_count) {
    kernels().counts_as_numbers(numbers.data(), out.data(), members);
    for (Slot slot = 0; slot < members && fold.any_nan(); ++slot)
      if (const std::uint32_t present = fold.present(slot); present != 0) out[slot] = static_cast<double>(present);
    return;
  }
  if (edges) return between_edges(fold, rows, first, end, reduction, out);
  auto& result = reduction.scratch->result;
  result.resize(members);
  if (op == Op::w_min || op == Op::w_max) fold.extremes(op == Op::w_min, rows, result);
  else fold.sums(rows, result);
  const auto divide = [&] {
    for (std::size_t i = 0; i < members; ++i)
      result[i] /= static_cast<double>(static_cast<std::int32_t>(std::max(numbers[i], 1u)));
  };
  if (op == Op::w_delta) {  // of a counter: the mean of its rates, times the elapsed time
    divide();
    for (double& x : result) x *= seconds(reduction.window->over);
  }
  if (op == Op::w_stddev) divide(), deviations(rows, first, end, numbers, result, reduction.scratch->squares);

  // Enough numbers decide it in most cases.
  const double row = seconds(rows.grid().length), half = seconds(reduction.window->over) / 2;
  const std::uint32_t least =
      reduction.needs_cover() ? static_cast<std::uint32_t>(std::max(std::ceil(half / row), 1.0)) : 1;
  std::size_t others = kernels().known_enough(result.data(), numbers.data(), least,
                                              op == Op::w_mean || op == Op::w_rate, out.data(), members);
  for (Slot slot = 0; others > 0; ++slot) {
    if (numbers[slot] >= least && is_number(result[slot])) continue;
    --others;
    // Below that, measured NaN count, too.
    if (numbers[slot] != 0 && (numbers[slot] >= least || covered(fold.present(slot), slot, reduction, row)))
      out[slot] = canonical(result[slot]);
  }
}

template <class T>
void RawView<T>::between_edges(const WindowFold<T>& fold, const Rows<T>& rows, std::size_t first, std::size_t end,
                               const RowReduction& reduction, std::span<double> out) const {
  const std::span<const T> earliest = rows.closed()[first].values;
  const std::span<const T> latest = rows.closed()[end - 1].values;
  const std::size_t members = std::min(out.size(), fold.numbers().size()),
                    both = std::min({members, earliest.size(), latest.size()});
  const double row = seconds(rows.grid().length), half = seconds(reduction.window->over) / 2;
  const auto least = static_cast<std::uint32_t>(std::max(std::ceil(half / row), 1.0));
  const auto elapsed = [&](std::size_t from, std::size_t to) {
    return static_cast<double>(rows.closed().number(first + to) - rows.closed().number(first + from)) * row;
  };
  const double whole = reduction.op == Op::w_delta ? 1.0 : elapsed(0, end - 1 - first);
  auto& others = reduction.scratch->slots;
  others.clear();
  // In most cases both edge rows have every member's number.
  for (Slot slot = 0; slot < members; ++slot) {
    const double change =
        slot < both ? static_cast<double>(latest[slot]) - static_cast<double>(earliest[slot]) : absent;
    if (change == change && fold.present(slot) >= least && end - first > 1) out[slot] = change / whole;
    else if (fold.present(slot) != 0) others.push_back(slot);
  }
  if (others.empty()) return;
  auto &firsts = reduction.scratch->firsts, &lasts = reduction.scratch->lasts;
  firsts.assign(members, Edge{});
  lasts.assign(members, Edge{});
  find_edges(rows, first, end, false, others, firsts);
  find_edges(rows, first, end, true, others, lasts);
  for (const Slot slot : others) {
    const Edge &a = firsts[slot], &b = lasts[slot];
    if (is_absent(a.value) || a.row == b.row ||
        (reduction.needs_cover() && !covered(fold.present(slot), slot, reduction, row)))
      continue;
    out[slot] =
        canonical(reduction.op == Op::w_delta ? b.value - a.value : (b.value - a.value) / elapsed(a.row, b.row));
  }
}

template <class T>
void RawView<T>::by_member(const Rows<T>& rows, std::size_t first, std::size_t end, const RowReduction& reduction,
                           std::span<double> out) const {
  constexpr std::size_t together = 16;  // members: a cache line of floats
  auto &times = reduction.scratch->times_of_rows, &block = reduction.scratch->block;
  auto &values = reduction.scratch->values, &times_of = reduction.scratch->times;
  const std::size_t count = end - first;
  const double row = seconds(rows.grid().length);
  const NearRank<T>* const order =
      built_ && orders(reduction.op) ? order_.of(reduction.op, reduction.arguments.number) : nullptr;
  const double half = seconds(reduction.window->over) / 2;
  times.assign(count, 0.0);
  for (std::size_t r = first; r < end && uses_times(reduction.op); ++r)
    times[r - first] = static_cast<double>(rows.closed().number(r) - rows.closed().number(first)) * row;
  for (std::size_t base = 0; base < out.size(); base += together) {
    const std::size_t width = std::min(together, out.size() - base);
    auto& slots = reduction.scratch->slots;  // those whose numbers have to be read
    slots.clear();
    for (std::size_t j = 0; j < width; ++j) {
      const auto slot = static_cast<Slot>(base + j);
      if (order != nullptr) {
        // Enough numbers decide it in most cases; below that, measured NaN count, too.
        const auto sorted = order->of(slot);
        if (!sorted.empty() && static_cast<double>(sorted.size()) * row >= half) {
          out[slot] = order_statistic(reduction.op, sorted, reduction.arguments.number);
          continue;
        }
      }
      if (rows.ever(slot) && (!reduction.needs_cover() || covered(count, slot, reduction, row))) slots.push_back(slot);
    }
    if (slots.empty()) continue;
    block.resize(together * count);
    for (std::size_t r = 0; r < count; ++r) {
      const std::span<const T> from = rows.closed()[first + r].values;
      for (std::size_t j = 0; j < slots.size(); ++j)
        block[j * count + r] = slots[j] < from.size() ? static_cast<double>(from[slots[j]]) : absent;
    }
    for (std::size_t j = 0; j < slots.size(); ++j) {
      values.resize(count);
      times_of.resize(count);
      std::size_t present = 0;
      for (std::size_t r = 0; r < count; ++r) {
        values[present] = block[j * count + r];
        times_of[present] = times[r];
        if (!is_absent(values[present])) ++present;  // an absent float widens to the absent double
      }
      values.resize(present);
      times_of.resize(present);
      if (!reduction.enough(values.size())) continue;
      if (reduction.needs_cover() && !covered(values.size(), slots[j], reduction, row)) continue;
      out[slots[j]] =
          reduce_series(reduction.op, {times_of, values}, reduction.at(slots[j]), reduction.scratch->series);
    }
  }
}

template class RawView<float>;
template class RawView<double>;

}  // namespace tocsin::stream
