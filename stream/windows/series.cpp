#include "stream/windows/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stream/windows/order_statistics.h"

namespace tocsin::stream {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t most_fitted = 300;

// The numbers of a series, with their times.
void take_numbers(Series series, SeriesScratch& to) {
  to.seconds.clear();
  to.values.clear();
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (!is_number(series.values[i])) continue;
    to.seconds.push_back(series.seconds[i]);
    to.values.push_back(series.values[i]);
  }
}

// Means of neighbours, if there are too many numbers for a fit of pairs.
void thin(SeriesScratch& of) {
  auto& [seconds, values, part, ordered, slopes] = of;
  const std::size_t together = (values.size() + most_fitted - 1) / most_fitted;
  if (together <= 1) return;
  std::size_t to = 0;
  for (std::size_t from = 0; from < values.size(); from += together, ++to) {
    const std::size_t end = std::min(from + together, values.size());
    double t = 0, v = 0;
    for (std::size_t i = from; i < end; ++i) {
      t += seconds[i];
      v += values[i];
    }
    seconds[to] = t / static_cast<double>(end - from);
    values[to] = v / static_cast<double>(end - from);
  }
  seconds.resize(to);
  values.resize(to);
}

// Brings the number of this rank, and the one before it, to where sorting would bring them.
void select(std::vector<double>& numbers, std::size_t rank) {
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(numbers.begin(), at, numbers.end());
  if (rank > 0) std::iter_swap(std::max_element(numbers.begin(), at), at - 1);
}

// The same bits as order_statistic() of the sorted numbers.
double selected_statistic(Op op, std::span<const double> numbers, double q, std::vector<double>& selected) {
  if (numbers.empty()) return absent;
  selected.assign(numbers.begin(), numbers.end());
  for (double& x : selected) x += 0.0;
  const std::span<const double> all{selected};
  if (op == Op::w_quantile) {
    if (!(q >= 0 && q <= 1)) return absent;
    const auto below = static_cast<std::size_t>(static_cast<double>(all.size() - 1) * q);
    select(selected, std::min(below + 1, all.size() - 1));
    return quantile_of_sorted(all, q);
  }
  const std::size_t middle = all.size() / 2;
  select(selected, middle);
  const double median = median_of_sorted(all);
  if (op == Op::w_median) return median;
  if (!std::isfinite(median)) return absent;
  for (double& x : selected) x = std::fabs(x - median);
  select(selected, middle);
  return median_of_sorted(all);
}

double standard_deviation(std::span<const double> x) {
  if (x.size() < 2) return absent;
  const auto n = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (const double v : x) sum += v;
  const double mean = sum / n;
  for (const double v : x) {
    const double off = v - mean;
    squares += off == off ? off * off : 0.0;  // as in the kernel that goes over rows
  }
  return std::isfinite(mean) ? canonical(std::sqrt(squares / (n - 1))) : measured_nan;
}

double least_squares(std::span<const double> t, std::span<const double> v) {
  double n = 0, mean_t = 0, mean_v = 0, tt = 0, tv = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    n += 1;
    const double dt = t[i] - mean_t;
    mean_t += dt / n;
    mean_v += (v[i] - mean_v) / n;
    tt += dt * (t[i] - mean_t);
    tv += dt * (v[i] - mean_v);
  }
  return tt > 0 ? canonical(tv / tt) : absent;
}

double cusum(std::span<const double> x, std::vector<double>& selected) {
  const double middle = selected_statistic(Op::w_median, x, 0, selected);
  const double scale = 1.4826 * selected_statistic(Op::w_mad, x, 0, selected);
  if (!is_number(scale)) return absent;
  double sum = 0;
  for (const double v : x) {
    const double d = v - middle;
    const double z = d == 0 ? 0 : scale > 0 ? d / scale : d > 0 ? infinity : -infinity;
    sum = std::max(0.0, sum + std::clamp(z, -4.0, 4.0) - 1);
  }
  return sum;
}

double theil_sen(SeriesScratch& x) {
  auto& slopes = x.slopes;
  slopes.clear();
  for (std::size_t j = 1; j < x.values.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const double dt = x.seconds[j] - x.seconds[i];
      const double slope = (x.values[j] - x.values[i]) / dt;
      if (dt > 0 && is_number(slope)) slopes.push_back(slope);
    }
  if (slopes.empty()) return absent;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  const double upper = *middle + 0.0;
  if (slopes.size() % 2 == 1) return upper;
  const double lower = *std::max_element(slopes.begin(), middle) + 0.0;
  return lower == upper ? upper : canonical((lower + upper) / 2);
}

// Sums over runs of equal values that the variance of Kendall's S subtracts.
struct Ties {
  double a = 0, b = 0, c = 0;
};
Ties ties(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  Ties sums;
  for (std::size_t i = 0; i < x.size();) {
    std::size_t j = i;
    while (j < x.size() && x[j] == x[i]) ++j;
    const auto t = static_cast<double>(j - i);
    sums.a += t * (t - 1) * (2 * t + 5);
    sums.b += t * (t - 1) * (t - 2);
    sums.c += t * (t - 1);
    i = j;
  }
  return sums;
}

double kendall(const SeriesScratch& x) {
  const std::size_t count = x.values.size();
  if (count < 3) return absent;
  double s = 0;
  for (std::size_t j = 1; j < count; ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const int later = (x.seconds[j] > x.seconds[i]) - (x.seconds[j] < x.seconds[i]);
      const int higher = (x.values[j] > x.values[i]) - (x.values[j] < x.values[i]);
      s += later * higher;
    }
  const auto n = static_cast<double>(count);
  const Ties t = ties(x.seconds), v = ties(x.values);
  const double variance = (n * (n - 1) * (2 * n + 5) - t.a - v.a) / 18 + t.b * v.b / (9 * n * (n - 1) * (n - 2)) +
                          t.c * v.c / (2 * n * (n - 1));
  if (!(variance > 0) || s == 0) return 0;
  return (s > 0 ? s - 1 : s + 1) / std::sqrt(variance);
}

double time_to(SeriesScratch& x, double last, double goal) {
  if (!is_number(goal) || !is_number(last)) return absent;
  const double slope = theil_sen(x);
  if (!is_number(slope)) return absent;
  const double way = goal - last;
  if (way == 0) return 0;
  const double time = way / slope;
  return time > 0 ? time : infinity;  // the line is level, or moves away from it
}

// The median of the first or last n, without NaN.
double edge(std::span<const double> values, bool last, double n, SeriesScratch& scratch) {
  const auto want = static_cast<std::size_t>(std::max(n, 1.0));
  if (values.empty()) return absent;
  if (want == 1) return last ? values.back() : values.front();
  const std::size_t count = std::min(want, values.size());
  const auto part = last ? values.last(count) : values.first(count);
  if (std::array<double, 16> sorted; count <= sorted.size()) {
    std::size_t numbers = 0;
    for (double v : part) {
      if (!is_number(v)) continue;
      v += 0.0;
      std::size_t at = numbers++;
      for (; at > 0 && v < sorted[at - 1]; --at) sorted[at] = sorted[at - 1];
      sorted[at] = v;
    }
    return median_of_sorted(std::span<const double>{sorted}.first(numbers));
  }
  scratch.part.clear();
  for (const double v : part)
    if (is_number(v)) scratch.part.push_back(v);
  return selected_statistic(Op::w_median, scratch.part, 0, scratch.ordered);
}

}  // namespace

double ewma_weight(double span) noexcept { return 2 / ((span >= 1 ? span : 16) + 1); }

bool has_bits(double value, double mask) noexcept {
  constexpr double limit = 9007199254740992.0;  // 2^53: beyond it a double does not hold such bits
  if (!(value >= 0 && value < limit) || !(mask >= 0 && mask < limit)) return false;
  return (static_cast<std::uint64_t>(value) & static_cast<std::uint64_t>(mask)) != 0;
}

double reduce_series(Op op, Series series, const ReductionArguments& arguments, SeriesScratch& scratch) {
  const auto all = series.values;
  switch (op) {
    case Op::w_last: return edge(all, true, arguments.number, scratch);
    case Op::w_first: return edge(all, false, arguments.number, scratch);
    case Op::w_count: return static_cast<double>(all.size());
    case Op::w_nonfinite:
      return static_cast<double>(std::count_if(all.begin(), all.end(), [](double v) { return !std::isfinite(v); }));
    default: break;
  }
  take_numbers(series, scratch);
  const std::span<const double> x{scratch.values}, t{scratch.seconds};
  if (x.empty()) return absent;
  const auto sum = [&] {
    LaneSum s;
    s.add(x);
    return s.value();
  };
  switch (op) {
    case Op::w_mean: return canonical(sum() / static_cast<double>(x.size()));
    case Op::w_sum: return canonical(sum());
    case Op::w_min: return *std::min_element(x.begin(), x.end()) + 0.0;  // one zero
    case Op::w_max: return *std::max_element(x.begin(), x.end()) + 0.0;
    case Op::w_median:
    case Op::w_mad:
    case Op::w_quantile: return selected_statistic(op, x, arguments.number, scratch.ordered);
    case Op::w_stddev: return standard_deviation(x);
    case Op::w_ewma: {
      const double weight = ewma_weight(arguments.number);
      double smooth = x[0];
      for (const double v : x.subspan(1)) smooth += weight * (v - smooth);
      return canonical(smooth);
    }
    case Op::w_fraction:
      return static_cast<double>(
                 std::count_if(x.begin(), x.end(), [&](double v) { return has_bits(v, arguments.number); })) /
             static_cast<double>(x.size());
    case Op::w_slope: return least_squares(t, x);
    case Op::w_delta: return x.size() < 2 ? absent : canonical(x.back() - x.front());
    case Op::w_rate: return t.back() > t.front() ? canonical((x.back() - x.front()) / (t.back() - t.front())) : absent;
    case Op::w_cusum: return cusum(x, scratch.ordered);
    case Op::w_theil_sen: thin(scratch); return theil_sen(scratch);
    case Op::w_kendall: thin(scratch); return kendall(scratch);
    case Op::w_time_to: {
      const double last = x.back();
      thin(scratch);
      return time_to(scratch, last, arguments.goal);
    }
    default: return absent;
  }
}

}  // namespace tocsin::stream
