#pragma once

#include <functional>
#include <span>
#include <vector>

#include "stream/graph/time_range.h"
#include "stream/values/archive.h"
#include "stream/windows/incremental_aggregates.h"
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
  [[nodiscard]] std::uint64_t count(Slot slot) const noexcept {
    return slot < members_.size() ? members_[slot].count : 0;
  }
  // Null: no value of the member came.
  [[nodiscard]] const Accumulated* of(Slot slot) const noexcept {
    return slot < members_.size() && members_[slot].count > 0 ? &members_[slot] : nullptr;
  }
  // Brings what kept() gives up to the values that were added.
  void refresh();
  // The number of values of each member, up to 2^32 - 1: compared with `least`.
  [[nodiscard]] std::span<const std::uint32_t> counts() const noexcept { return counts_; }
  // Null: the reduction was not declared, or is not one that is maintained incrementally.
  [[nodiscard]] const std::vector<double>* kept(Op op, double number) const noexcept { return kept_.find(op, number); }
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
  static void fields(auto& self, auto& archive);
  [[nodiscard]] double fitted(Op op, Slot slot, const ReductionArguments& arguments, SeriesScratch& scratch) const;
  [[nodiscard]] double accumulated(Op op, Slot slot, double number) const;  // for reductions that need no series
  void widen(std::size_t members);
  void accumulate(Slot slot, Time at, double value);
  void changed(Slot slot);
  void rebuild();

  Demand demand_;
  bool counter_;  // of rates: a delta is the mean rate times the elapsed time
  std::vector<Accumulated> members_;
  std::vector<std::uint32_t> counts_;
  IncrementalAggregates kept_;
  std::vector<std::vector<double>> smooth_;       // of each span, per member
  std::vector<std::vector<std::uint64_t>> hits_;  // of each mask, per member
  std::vector<Histogram> histograms_;
  std::vector<Thinned> thinned_;
  std::vector<std::vector<double>> firsts_, lasts_;  // used if more than one is asked for
};

}  // namespace tocsin::stream
