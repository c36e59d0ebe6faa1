#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "stream/graph/time_range.h"
#include "stream/windows/arrivals.h"
#include "stream/windows/incremental_aggregates.h"
#include "stream/windows/near_rank.h"
#include "stream/windows/order_statistics.h"
#include "stream/windows/panes.h"
#include "stream/windows/rows.h"
#include "stream/windows/scratch.h"
#include "stream/windows/series.h"
#include "stream/windows/window_fold.h"

namespace tocsin::stream {

// What a reduction of rows needs besides them.
struct RowReduction {
  Op op{};
  ReductionArguments arguments;
  Column goals;  // of time_to: one per slot, or one for all
  const WindowSpec* window = nullptr;
  const Arrivals* arrivals = nullptr;
  SignalKind kind{};
  ReductionScratch* scratch = nullptr;
  [[nodiscard]] ReductionArguments at(Slot slot) const noexcept;
  // last, first and count are known from one value on, and so are all words of a state.
  [[nodiscard]] bool needs_cover() const noexcept;
  // last(n) and first(n) need n values, or the window's `least`.
  [[nodiscard]] bool enough(std::size_t count) const noexcept;
};

// A window of raw rows: at most 5 min. Declared order statistics and folds are maintained incrementally; the rest is
// read from the rows.
template <class T>
class RawView {
 public:
  // `spec` outlives it.
  RawView(const WindowSpec& spec, const Demand& demand, bool declared, const SignalDefinition& signal);
  [[nodiscard]] const WindowSpec& spec() const noexcept { return *spec_; }

  void advance(const Rows<T>& rows, TimeRange time_range);
  void forget() { built_ = false; }
  // Continues the view of another pack's history over the same rows, if it maintained the same. Otherwise this one is
  // built from the rows.
  void adopt(RawView& old) {
    if (!order_.same_as(old.order_) || wants_ != old.wants_ || fold_.has_value() != old.fold_.has_value()) return;
    built_ = old.built_;
    from_ = old.from_, through_ = old.through_;
    order_ = std::move(old.order_);
    fold_ = std::move(old.fold_);
  }
  // False: the window holds no row, and nothing is written. A count of 0 is left absent: the caller decides whether it
  // means none.
  bool reduce(const Rows<T>& rows, TimeRange time_range, const RowReduction& reduction, std::span<double> out) const;
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return order_.retained_bytes() + (fold_ ? fold_->retained_bytes() : 0);
  }

 private:
  void by_fold(const WindowFold<T>& fold, const Rows<T>& rows, std::size_t first, std::size_t end,
               const RowReduction& reduction, std::span<double> out) const;
  void edge(const Rows<T>& rows, std::size_t first, std::size_t end, const RowReduction& reduction,
            std::span<double> out) const;
  void between_edges(const WindowFold<T>& fold, const Rows<T>& rows, std::size_t first, std::size_t end,
                     const RowReduction& reduction, std::span<double> out) const;
  void by_member(const Rows<T>& rows, std::size_t first, std::size_t end, const RowReduction& reduction,
                 std::span<double> out) const;

  const WindowSpec* spec_;
  bool built_ = false;
  RowNumber from_ = 0, through_ = 0;  // order_ and fold_ are of the rows (from_, through_]
  NearRanks<T> order_;                // what the declared reductions read
  std::optional<WindowFold<T>> fold_;
  typename WindowFold<T>::Wants wants_;
};

// The last value of each member in a window, whose rows may be dropped then. Advances with the ticks, never back.
template <class T>
class LastValues {
 public:
  // Takes the rows up to this one.
  void take(const Rows<T>& rows, RowNumber through);
  void begin_after(RowNumber row) noexcept { through_ = row; }
  // Those that came after `from`. False: there never was one, and nothing is written.
  bool reduce(Time from, std::span<double> out) const;
  // The time of the first of them; never: there is none.
  [[nodiscard]] Time first_after(Time from) const noexcept;
  void save(Writer& out) const { fields(*this, out); }
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return values_.capacity() * sizeof(double) + times_.capacity() * sizeof(Time);
  }

 private:
  static void fields(auto& self, auto& archive) {
    archive(1, self.through_), archive(2, self.values_), archive(3, self.times_);
  }
  RowNumber through_ = std::numeric_limits<RowNumber>::min();
  std::vector<double> values_;  // by slot
  std::vector<Time> times_;
};

// A window of raw rows of which nothing but `last` is asked: it keeps no rows.
template <class T>
struct LastView {
  const WindowSpec* window;
  LastValues<T> values;
  [[nodiscard]] const WindowSpec& spec() const noexcept { return *window; }
  void save(Writer& out) const { values.save(out); }
  void load(Reader& in) { values.load(in); }
};

// A window that reaches further back than raw rows: over panes. Reductions of values (median, quantile, mad, theil_sen
// …) use the panes' means; `last` is the last row's value.
template <class T>
class BaselineView {
 public:
  // `spec` outlives it.
  BaselineView(const WindowSpec& spec, const Demand& demand, Duration pane) : spec_(&spec), last_(demand.last) {
    constexpr std::size_t near = 12;
    for (const Reduction& reduction : demand.reductions) {
      order_.add(reduction, static_cast<std::size_t>(spec.over / pane) + 1, near);
      if (orders(reduction.op)) kept_.keep(reduction);
    }
  }
  [[nodiscard]] const WindowSpec& spec() const noexcept { return *spec_; }

  void take_last(const Rows<T>& rows, RowNumber through) {
    if (last_) last_values_.take(rows, through);
  }
  void advance(const Rows<T>& rows, const Panes<T>& panes, TimeRange time_range);
  bool reduce(const Panes<T>& panes, TimeRange time_range, const RowReduction& reduction, std::span<double> out) const;
  void begin_after(RowNumber row) noexcept { last_values_.begin_after(row); }
  void adopt(BaselineView& old) {
    last_values_ = std::move(old.last_values_);
    if (!order_.same_as(old.order_) || !kept_.adopt(old.kept_)) return;  // built again from the panes
    built_ = old.built_;
    from_ = old.from_, through_ = old.through_;
    order_ = std::move(old.order_);
    counts_ = std::move(old.counts_);
  }
  void save(Writer& out) const { last_values_.save(out); }
  void load(Reader& in) { last_values_.load(in), built_ = false; }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return order_.retained_bytes() + kept_.retained_bytes() + counts_.capacity() * sizeof(std::uint32_t) +
           last_values_.retained_bytes();
  }

 private:
  using PanePlace = typename Panes<T>::Place;
  static void count_nonfinite(const Panes<T>& panes, PanePlace first, PanePlace end, const RowReduction& reduction,
                              std::span<double> out);
  const WindowSpec* spec_;
  bool last_, built_ = false;
  RowNumber from_ = 0, through_ = 0;   // panes in order_
  NearRanks<double> order_;            // what the declared reductions read of the panes' means
  std::vector<std::uint32_t> counts_;  // of rows in these panes
  IncrementalAggregates kept_;         // over these panes
  LastValues<T> last_values_;
};

extern template class LastValues<float>;
extern template class LastValues<double>;
extern template class RawView<float>;
extern template class RawView<double>;
extern template class BaselineView<float>;
extern template class BaselineView<double>;

}  // namespace tocsin::stream
