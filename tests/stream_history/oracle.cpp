#include "oracle.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tocsin::test {
namespace {

using Values = std::vector<Oracle::Value>;

double median(std::vector<double> x) {
  if (x.empty()) return absent;
  std::sort(x.begin(), x.end());
  const std::size_t n = x.size();
  if (n % 2 == 1) return x[n / 2];
  return x[n / 2] == x[n / 2 - 1] ? x[n / 2] : (x[n / 2] + x[n / 2 - 1]) / 2;
}

double quantile(std::vector<double> x, double q) {
  std::sort(x.begin(), x.end());
  const double place = q * static_cast<double>(x.size() - 1);
  const double low = x[static_cast<std::size_t>(std::floor(place))], high = x[static_cast<std::size_t>(std::ceil(place))];
  return low == high ? low : low + (place - std::floor(place)) * (high - low);
}

double seconds_between(Time a, Time b) { return seconds(b - a); }

double of(Op op, double number, double goal, const Values& all) {
  std::vector<double> x, t, everything;
  for (const auto& v : all) {
    everything.push_back(v.value);
    if (!is_number(v.value)) continue;
    x.push_back(v.value);
    t.push_back(seconds_between(all.front().at, v.at));
  }
  const auto numbers = [](std::vector<double> list) {
    std::erase_if(list, [](double v) { return !is_number(v); });
    return list;
  };
  if (op == Op::w_count) return static_cast<double>(all.size());
  if (all.empty()) return absent;
  if (op == Op::w_nonfinite) return static_cast<double>(std::count_if(everything.begin(), everything.end(), [](double v) { return !std::isfinite(v); }));
  if (op == Op::w_last || op == Op::w_first) {
    const auto n = static_cast<std::size_t>(std::max(number, 1.0));
    if (all.size() < n) return absent;
    if (n == 1) return op == Op::w_last ? everything.back() : everything.front();
    if (op == Op::w_last) return median(numbers({everything.end() - static_cast<long>(n), everything.end()}));
    return median(numbers({everything.begin(), everything.begin() + static_cast<long>(n)}));
  }
  if (x.empty()) return absent;
  const auto n = static_cast<double>(x.size());
  double sum = 0, time_sum = 0;
  for (const double v : x) sum += v;
  for (const double v : t) time_sum += v;
  std::vector<double> slopes;
  double s = 0;
  for (std::size_t j = 0; j < x.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const double slope = (x[j] - x[i]) / (t[j] - t[i]);
      if (t[j] > t[i] && is_number(slope)) slopes.push_back(slope);
      if (t[j] > t[i]) s += (x[j] > x[i]) - (x[j] < x[i]);
    }
  switch (op) {
    case Op::w_mean: return sum / n;
    case Op::w_sum: return sum;
    case Op::w_min: return *std::min_element(x.begin(), x.end());
    case Op::w_max: return *std::max_element(x.begin(), x.end());
    case Op::w_median: return median(x);
    case Op::w_quantile: return quantile(x, number);
    case Op::w_mad: {
      const double middle = median(x);
      if (!std::isfinite(middle)) return absent;
      auto distances = x;
      for (double& v : distances) v = std::fabs(v - middle);
      return median(distances);
    }
    case Op::w_delta: return x.size() < 2 ? absent : x.back() - x.front();
    case Op::w_rate: return t.back() > t.front() ? (x.back() - x.front()) / (t.back() - t.front()) : absent;
    case Op::w_stddev: {
      double squares = 0;
      for (const double v : x) squares += (v - sum / n) * (v - sum / n);
      return n < 2 ? absent : std::sqrt(squares / (n - 1));
    }
    case Op::w_slope: {
      double tt = 0, tv = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        tt += (t[i] - time_sum / n) * (t[i] - time_sum / n);
        tv += (t[i] - time_sum / n) * (x[i] - sum / n);
      }
      return tt > 0 ? tv / tt : absent;
    }
    case Op::w_theil_sen: return median(slopes);
    case Op::w_time_to: {
      const double slope = median(slopes), way = goal - x.back();
      if (!is_number(slope)) return absent;
      return way == 0 ? 0 : way / slope > 0 ? way / slope : std::numeric_limits<double>::infinity();
    }
    case Op::w_kendall: {
      if (x.size() < 3) return absent;
      const auto ties = [](std::vector<double> list) {
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
      const auto a = ties(t), b = ties(x);
      const double variance = (n * (n - 1) * (2 * n + 5) - a[0] - b[0]) / 18 + a[1] * b[1] / (9 * n * (n - 1) * (n - 2)) + a[2] * b[2] / (2 * n * (n - 1));
      if (!(variance > 0) || s == 0) return 0;
      return (s > 0 ? s - 1 : s + 1) / std::sqrt(variance);
    }
    case Op::w_fraction: {
      double hits = 0;
      for (const double v : x)
        if (v >= 0 && v < 9e15 && (static_cast<std::uint64_t>(v) & static_cast<std::uint64_t>(number)) != 0) ++hits;
      return hits / n;
    }
    case Op::w_ewma: {
      double smooth = x[0];
      for (std::size_t i = 1; i < x.size(); ++i) smooth += 2 / (number + 1) * (x[i] - smooth);
      return smooth;
    }
    default: return absent;
  }
}

}  // namespace

std::vector<Oracle::Value> Oracle::rows(SignalId signal, Slot slot, Time from, Time to, Time now) const {
  const SignalDefinition& definition = recorded_.table[signal];
  std::map<Time, std::pair<Time, double>> best;   // row end to time and value
  for (const Record& r : records_) {
    if (r.signal != definition.name || r.slot != slot || r.arrival >= now) continue;
    const Time end = row_end(r.time, definition.row);
    if (r.arrival >= end + definition.lateness) continue;
    const double value = definition.wide() ? r.value : static_cast<double>(static_cast<float>(r.value));
    const auto bits = [&](double v) {
      return definition.wide() ? std::bit_cast<std::uint64_t>(v) : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(v))};
    };
    const auto [place, fresh] = best.try_emplace(end, r.time, value);
    if (!fresh && (r.time > place->second.first || (r.time == place->second.first && bits(value) > bits(place->second.second))))
      place->second = {r.time, value};
  }
  Values values;
  std::optional<std::pair<Time, double>> before;
  for (const auto& [end, sample] : best) {
    if (end > to) break;
    double value = sample.second;
    bool have = true;
    if (definition.kind == SignalKind::counter && is_number(value)) {
      have = before && sample.first - before->first <= 120s && value >= before->second;
      if (have) value = (sample.second - before->second) / seconds(sample.first - before->first);
      before = sample;
    }
    if (have && end > from) values.push_back({end, value});
  }
  return values;
}

std::vector<Oracle::Value> Oracle::points(SignalId signal, Slot slot, Time to, Time now) const {
  const SignalDefinition& definition = recorded_.table[signal];
  struct Turn { Time at; std::uint64_t sequence; std::size_t order; double value; };
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& r = records_[i];
    if (r.signal != definition.name || r.slot != slot || r.arrival >= now) continue;
    turns.push_back({r.arrival >= r.time + definition.lateness ? r.arrival : r.time, r.sequence, i, r.value});
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return std::tie(a.at, a.sequence, a.order) < std::tie(b.at, b.sequence, b.order); });
  Values values;
  for (const Turn& turn : turns)
    if (turn.at <= to) values.push_back({turn.at, turn.value});
  return values;
}

double Oracle::usual(SignalId signal, Slot slot, Time now) const {
  std::vector<double> intervals;
  std::optional<Time> last;
  for (const Record& r : records_) {
    if (r.signal != recorded_.table[signal].name || r.slot != slot || r.arrival >= now) continue;
    if (last && r.arrival > *last) intervals.push_back(seconds(r.arrival - *last));
    last = r.arrival;
  }
  const double row = seconds(recorded_.table[signal].row);
  if (intervals.size() < 3) return last ? row : absent;
  if (intervals.size() > 16) intervals.erase(intervals.begin(), intervals.end() - 16);
  std::sort(intervals.begin(), intervals.end());
  return intervals[intervals.size() / 2];
}

double Oracle::reduce(const Recorded::Reduction& reduction, Slot slot, Time tick, Time now) const {
  const Node& node = (*recorded_.graph)[reduction.node];
  const WindowSpec& w = reduction.spec;
  const SignalDefinition& definition = recorded_.table[w.signal];
  const double number = node.attributes.number;
  if (node.op == Op::w_interval) return usual(w.signal, slot, now);
  if (slot == reserved_slot) return absent;
  const bool covers = node.op != Op::w_last && node.op != Op::w_first && node.op != Op::w_count;
  const Time to = tick - std::min(w.lag, (tick - recorded_.start) / 4);
  if (w.span == WindowSpec::Span::points) {
    Values all = points(w.signal, slot, to, now);
    all.resize(all.size() - std::min<std::size_t>(all.size(), w.lag_points));
    if (all.size() > w.points) all.erase(all.begin(), all.end() - w.points);
    if (covers && all.size() < (w.least ? w.least : std::min(16u, w.points))) return absent;
    return of(node.op, number, reduction.goal, all);
  }
  if (w.span == WindowSpec::Span::attempt) {
    const Values all = definition.points ? points(w.signal, slot, to, now) : rows(w.signal, slot, long_ago, to, now);
    if (covers && all.size() < (w.least ? w.least : 16)) return absent;
    return of(node.op, number, reduction.goal, all);
  }
  const Values all = rows(w.signal, slot, to - w.over, to, now);
  if (!w.baseline()) {
    if (covers && (all.empty() || static_cast<double>(all.size()) * std::max(usual(w.signal, slot, now), seconds(definition.row)) < seconds(w.over) / 2 * 0.9995))
      return absent;
    return of(node.op, number, reduction.goal, all);
  }
  if (node.op == Op::w_last && number <= 1) return all.empty() ? absent : all.back().value;
  // Panes that lie wholly in the window.
  std::map<Time, std::vector<double>> panes;
  Values with_nan;
  for (const Value& v : all) {
    const Time end = row_end(v.at, 10 * definition.row);
    if (end > to || end - 10 * definition.row < to - w.over) continue;
    with_nan.push_back(v);
    if (is_number(v.value)) panes[end].push_back(v.value);
  }
  Values means, everything;
  for (const auto& [end, values] : panes) {
    double sum = 0;
    for (const double v : values) {
      sum += v;
      everything.push_back({end, v});
    }
    means.push_back({end, sum / static_cast<double>(values.size())});
  }
  if (node.op == Op::w_nonfinite) return with_nan.size() < 16 ? absent : of(node.op, number, 0, with_nan);
  if (everything.empty()) return node.op == Op::w_count ? 0 : absent;
  if (covers && everything.size() < (w.least ? w.least : 16)) return absent;
  const bool of_all = node.op == Op::w_count || node.op == Op::w_mean || node.op == Op::w_sum || node.op == Op::w_min || node.op == Op::w_max ||
                      node.op == Op::w_fraction;
  return of(node.op, number, reduction.goal, of_all ? everything : means);
}

}  // namespace tocsin::test
