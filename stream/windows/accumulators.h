#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "stream/graph/time_range.h"
#include "stream/values/archive.h"
#include "stream/windows/member_columns.h"
#include "stream/windows/order_statistics.h"
#include "stream/windows/series.h"

namespace tocsin::stream {

// A member's values of an attempt, or of several, in constant memory.
struct Accumulated {
  std::uint64_t count = 0, numbers = 0, nonfinite = 0;
  double first = absent, last = absent;  // measured NaN among them
  double first_number = absent, last_number = absent;
  Time first_at{}, last_at{};  // of the numbers
  double sum = 0, least = 0, greatest = 0;
  double mean = 0, squares = 0;                   // of the numbers: Welford
  double mean_time = 0, times = 0, products = 0;  // for least squares, in seconds from first_at
};

// The windows "attempt" and "earlier": accumulators per member instead of values. Median, quantile and mad come from a
// histogram with bins of less than 1 %; theil_sen, kendall, time_to and cusum from at most 256 means of equally many
// neighbours. Owned by a view. Each value comes once, in time order.
class Accumulators {
 public:
  Accumulators(Demand demand, bool counter);

  void add(Slot slot, Time at, double value);
  // The same for all members of a row; absent: none came.
  void add(Time at, std::span<const float> values) { add_row(at, values); }
  void add(Time at, std::span<const double> values) { add_row(at, values); }
  [[nodiscard]] std::size_t members() const noexcept { return whole_.members(); }
  [[nodiscard]] std::uint64_t count(Slot slot) const noexcept {
    return slot < members() ? static_cast<std::uint64_t>(whole_.at(counts, slot)) : 0;
  }
  // Nullopt: no value of the member came.
  [[nodiscard]] std::optional<Accumulated> of(Slot slot) const;
  // A reduction of all members, if a column or two hold it; others than those with at least so many values, at least 1,
  // keep what is in `out`. False: reduce() gives it, for each.
  bool reduce_all(Op op, double number, std::uint64_t least, std::span<double> out) const;
  // Absent for members without values, and for ewma, fraction, first(n) and last(n) that were not declared.
  [[nodiscard]] double reduce(Op op, Slot slot, const ReductionArguments& arguments, SeriesScratch& scratch) const;

  // What a member of others has is later than what this one has; without what only a series of times can say.
  // `number`: a text's number here; empty: the values are no texts.
  void append(Slot slot, const Accumulators& later, Slot from, const std::function<double(double)>& number = {});
  [[nodiscard]] const Demand& demand() const noexcept { return demand_; }
  // Continues the accumulators of another pack if it kept the same. False: these start empty.
  bool adopt(Accumulators& old);
  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  struct Thinned {  // means of `together` neighbours each
    std::uint64_t together = 1;
    struct Bucket {
      double seconds, sum;
      std::uint64_t count;
    };
    std::vector<Bucket> buckets;
    static void fields(auto& self, auto& archive) {
      archive(1, self.together);
      archive.columns(2, self.buckets, &Bucket::seconds, &Bucket::sum, &Bucket::count);
    }
    void add(double seconds, double value);
  };
  enum Whole : std::size_t { counts, first_times, last_times, all_whole };
  enum Real : std::size_t { first, last, sum, least, greatest, mean, squares, mean_time, times, products, all_real };
  static constexpr std::size_t no_moments = mean;
  struct Uncommon {  // of a member, once any value of any member was not finite
    std::uint64_t nans = 0, nonfinite = 0;
    double first_number = absent, last_number = absent;
  };
  static void lists(auto& self, auto& archive);
  template <class T>
  void add_row(Time at, std::span<const T> values);
  [[nodiscard]] double fitted(Op op, Slot slot, const ReductionArguments& arguments, SeriesScratch& scratch) const;
  [[nodiscard]] double accumulated(Op op, Slot slot, double number) const;  // for reductions that need no series
  [[nodiscard]] std::uint64_t numbers(Slot slot) const noexcept {
    return count(slot) - (uncommon_.empty() ? 0 : uncommon_[slot].nans);
  }
  [[nodiscard]] double real(std::size_t column, Slot slot) const noexcept { return real_.at(column, slot); }
  [[nodiscard]] Time time(Whole column, Slot slot) const noexcept { return at_nanoseconds(whole_.at(column, slot)); }
  void put(Slot slot, const Accumulated& all);
  void widen(std::size_t members);
  void expect_uncommon();

  Demand demand_;
  bool counter_;  // of rates: a delta is the mean rate times the elapsed time
  bool rows_;     // nothing is kept of a value but what the columns hold
  MemberColumns<std::int64_t> whole_{all_whole};
  MemberColumns<double> real_;
  std::vector<Uncommon> uncommon_;
  std::vector<std::vector<double>> smooth_;       // of each span, per member
  std::vector<std::vector<std::uint64_t>> hits_;  // of each mask, per member
  std::vector<Histogram> histograms_;
  std::vector<Thinned> thinned_;
  std::vector<std::vector<double>> firsts_, lasts_;  // used if more than one is asked for
};

}  // namespace tocsin::stream
