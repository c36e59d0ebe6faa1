#include "tests/oracle/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tocsin::oracle {
namespace {

using stream::Op;

Number median(std::vector<double> x) {
  if (x.empty()) return std::nullopt;
  std::sort(x.begin(), x.end());
  const std::size_t n = x.size();
  if (n % 2 == 1) return x[n / 2];
  return x[n / 2] == x[n / 2 - 1] ? x[n / 2] : (x[n / 2] + x[n / 2 - 1]) / 2;
}

double quantile(std::vector<double> x, double q) {
  std::sort(x.begin(), x.end());
  const double place = q * static_cast<double>(x.size() - 1);
  const double low = x[static_cast<std::size_t>(std::floor(place))],
               high = x[static_cast<std::size_t>(std::ceil(place))];
  return low == high ? low : low + (place - std::floor(place)) * (high - low);
}

Number mad(std::vector<double> x) {
  const Number middle = median(x);
  if (!middle || !std::isfinite(*middle)) return std::nullopt;
  for (double& v : x) v = std::fabs(v - *middle);
  return median(x);
}

// The numbers of a window, and their seconds since its first value.
struct Series {
  std::vector<double> x, t;
  explicit Series(const std::vector<WindowOracle::Value>& all) {
    for (const auto& v : all) {
      if (std::isnan(v.value)) continue;
      x.push_back(v.value);
      t.push_back(stream::seconds(v.at - all.front().at));
    }
  }
  [[nodiscard]] double count() const { return static_cast<double>(x.size()); }
  [[nodiscard]] double sum() const {
    double sum = 0;
    for (const double v : x) sum += v;
    return sum;
  }
};

Number stddev(const Series& s) {
  double squares = 0;
  const double mean = s.sum() / s.count();
  for (const double v : s.x) squares += (v - mean) * (v - mean);
  return s.x.size() < 2 ? Number{} : Number{std::sqrt(squares / (s.count() - 1))};
}

Number slope(const Series& s) {
  double time_sum = 0, tt = 0, tv = 0;
  for (const double v : s.t) time_sum += v;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const double off = s.t[i] - time_sum / s.count();
    tt += off * off;
    tv += off * (s.x[i] - s.sum() / s.count());
  }
  return tt > 0 ? Number{tv / tt} : Number{};
}

Number theil_sen(const Series& s) {
  std::vector<double> slopes;
  for (std::size_t j = 0; j < s.x.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const double slope = (s.x[j] - s.x[i]) / (s.t[j] - s.t[i]);
      if (s.t[j] > s.t[i] && !std::isnan(slope)) slopes.push_back(slope);
    }
  return median(slopes);
}

Number time_to(const Series& s, Number goal) {
  const Number pace = theil_sen(s);
  if (!pace || !goal || std::isnan(*goal)) return std::nullopt;
  const double way = *goal - s.x.back();
  return way == 0 ? 0 : way / *pace > 0 ? way / *pace : HUGE_VAL;
}

Number kendall(const Series& s) {
  if (s.x.size() < 3) return std::nullopt;
  double order = 0;
  for (std::size_t j = 0; j < s.x.size(); ++j)
    for (std::size_t i = 0; i < j; ++i)
      if (s.t[j] > s.t[i]) order += (s.x[j] > s.x[i]) - (s.x[j] < s.x[i]);
  const auto ties = [](const std::vector<double>& list) {
    std::map<double, double> groups;
    for (const double v : list) groups[v] += 1;
    std::array<double, 3> sums{};
    for (const auto& [v, g] : groups) {
      sums[0] += g * (g - 1) * (2 * g + 5);
      sums[1] += g * (g - 1) * (g - 2);
      sums[2] += g * (g - 1);
    }
    return sums;
  };
  const auto a = ties(s.t), b = ties(s.x);
  const double n = s.count();
  const double variance = (n * (n - 1) * (2 * n + 5) - a[0] - b[0]) / 18 + a[1] * b[1] / (9 * n * (n - 1) * (n - 2)) +
                          a[2] * b[2] / (2 * n * (n - 1));
  if (!(variance > 0) || order == 0) return 0;
  return (order > 0 ? order - 1 : order + 1) / std::sqrt(variance);
}

// S = max(0, S + z - 1), z against the window's own median and 1.4826 times its mad, cut at 4 either way.
Number cusum(const Series& s) {
  const Number middle = median(s.x), spread = mad(s.x);
  if (!spread) return std::nullopt;
  double sum = 0;
  for (const double v : s.x) {
    const double off = v - *middle;
    const double z = off == 0 ? 0 : *spread > 0 ? off / (1.4826 * *spread) : off > 0 ? 4 : -4;
    sum = std::max(0.0, sum + std::min(4.0, std::max(-4.0, z)) - 1);
  }
  return sum;
}

Number at_edge(Op op, double n, const std::vector<WindowOracle::Value>& all) {
  if (n <= 1) return op == Op::w_last ? all.back().value : all.front().value;
  const auto some = std::min(static_cast<std::size_t>(n), all.size());
  std::vector<double> values;
  for (std::size_t i = 0; i < some; ++i)
    if (const double v = op == Op::w_last ? all[all.size() - 1 - i].value : all[i].value; !std::isnan(v))
      values.push_back(v);
  return median(values);
}

}  // namespace

Number reduce_values(Op op, double n, Number goal, const std::vector<WindowOracle::Value>& all) {
  if (op == Op::w_count) return static_cast<double>(all.size());
  if (all.empty()) return std::nullopt;
  if (op == Op::w_nonfinite)
    return static_cast<double>(
        std::count_if(all.begin(), all.end(), [](const auto& v) { return !std::isfinite(v.value); }));
  if (op == Op::w_last || op == Op::w_first) return at_edge(op, n, all);
  const Series s{all};
  if (s.x.empty()) return std::nullopt;
  switch (op) {
    case Op::w_mean: return s.sum() / s.count();
    case Op::w_sum: return s.sum();
    case Op::w_min: return *std::min_element(s.x.begin(), s.x.end());
    case Op::w_max: return *std::max_element(s.x.begin(), s.x.end());
    case Op::w_median: return median(s.x);
    case Op::w_quantile: return quantile(s.x, n);
    case Op::w_mad: return mad(s.x);
    case Op::w_delta: return s.x.size() < 2 ? Number{} : Number{s.x.back() - s.x.front()};
    case Op::w_rate:
      return s.t.back() > s.t.front() ? Number{(s.x.back() - s.x.front()) / (s.t.back() - s.t.front())} : Number{};
    case Op::w_stddev: return stddev(s);
    case Op::w_slope: return slope(s);
    case Op::w_theil_sen: return theil_sen(s);
    case Op::w_time_to: return time_to(s, goal);
    case Op::w_kendall: return kendall(s);
    case Op::w_cusum: return cusum(s);
    case Op::w_fraction: {
      double hits = 0;
      for (const double v : s.x)
        if (v >= 0 && v < 9e15 && (static_cast<std::uint64_t>(v) & static_cast<std::uint64_t>(n)) != 0) ++hits;
      return hits / s.count();
    }
    case Op::w_ewma: {
      double smooth = s.x[0];
      for (std::size_t i = 1; i < s.x.size(); ++i) smooth += 2 / (n + 1) * (s.x[i] - smooth);
      return smooth;
    }
    default: return std::nullopt;
  }
}

bool near(Op op, const Number& expected, double value) {
  if (!expected || stream::is_absent(value)) return !expected && stream::is_absent(value);
  if (std::isnan(*expected) || std::isnan(value)) return std::isnan(*expected) && std::isnan(value);
  if (std::isinf(*expected) || std::isinf(value)) return *expected == value;
  const double off = std::fabs(*expected - value);
  return off <= 1e-6 + 1e-9 * std::fabs(*expected) || (op == Op::w_interval && off < 1e-3 * *expected);
}

}  // namespace tocsin::oracle
