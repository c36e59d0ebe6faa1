#include "stream/windows/accumulators.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "stream/graph/kernels.h"

namespace tocsin::stream {

void Demand::add(Op op, double number) {
  if (const Reduction reduction{op, number};
      std::find(reductions.begin(), reductions.end(), reduction) == reductions.end())
    reductions.push_back(reduction);
  const auto once = [number](std::vector<double>& list) {
    if (std::find(list.begin(), list.end(), number) == list.end()) list.push_back(number);
  };
  const auto n = static_cast<std::size_t>(std::clamp(number, 1.0, 1e6));
  times = times || uses_times(op);
  switch (op) {
    case Op::w_median:
    case Op::w_quantile:
    case Op::w_mad: order = true; break;
    case Op::w_cusum:
    case Op::w_theil_sen:
    case Op::w_kendall:
    case Op::w_time_to: fits = true; break;
    case Op::w_stddev:
    case Op::w_slope: moments = true; break;
    case Op::w_last:
      last = true;
      last_n = std::max(last_n, n);
      break;
    case Op::w_first: first_n = std::max(first_n, n); break;
    case Op::w_nonfinite: nonfinite = true; break;
    case Op::w_min:
    case Op::w_max: extremes = true; break;
    case Op::w_ewma: once(spans); break;
    case Op::w_fraction: once(masks); break;
    default: break;
  }
}

void Demand::add_all() {
  order = last = nonfinite = extremes = times = fits = moments = true;
  first_n = std::max<std::size_t>(first_n, 64);
  last_n = std::max<std::size_t>(last_n, 64);
}

bool Demand::goes_on_from(const Demand& other) const {
  const auto what = [](const Demand& d) { return std::tie(d.order, d.fits, d.first_n, d.last_n, d.spans, d.masks); };
  return what(*this) == what(other) && (other.moments || !moments);
}

void Accumulators::Thinned::add(double seconds, double value) {
  constexpr std::size_t most = 256;
  if (buckets.empty() || buckets.back().count == together) {
    if (buckets.size() == most) {
      for (std::size_t i = 0; i < most / 2; ++i) {
        const Bucket &a = buckets[2 * i], &b = buckets[2 * i + 1];
        buckets[i] = {a.seconds + b.seconds, a.sum + b.sum, a.count + b.count};
      }
      buckets.resize(most / 2);
      together *= 2;
    }
    buckets.push_back({0, 0, 0});
  }
  Bucket& bucket = buckets.back();
  bucket.seconds += seconds;
  bucket.sum += value;
  ++bucket.count;
}

Accumulators::Accumulators(Demand demand, bool counter)
    : demand_(std::move(demand)),
      counter_(counter),
      rows_(!demand_.moments && !demand_.order && !demand_.fits && demand_.spans.empty() && demand_.masks.empty() &&
            demand_.first_n <= 1 && demand_.last_n <= 1),
      real_(demand_.moments ? std::size_t{all_real} : no_moments) {}

void Accumulators::widen(std::size_t members) {
  whole_.widen(members), real_.widen(members);
  if (!uncommon_.empty()) uncommon_.resize(members);
  smooth_.resize(demand_.spans.size());
  for (auto& column : smooth_) column.resize(members, absent);
  hits_.resize(demand_.masks.size());
  for (auto& column : hits_) column.resize(members, 0);
  histograms_.resize(demand_.order ? members : 0);
  thinned_.resize(demand_.fits ? members : 0);
  firsts_.resize(demand_.first_n > 1 ? members : 0);
  lasts_.resize(demand_.last_n > 1 ? members : 0);
}

void Accumulators::expect_uncommon() {
  if (!uncommon_.empty()) return;
  uncommon_.resize(members());
  for (Slot slot = 0; slot < members(); ++slot)
    if (count(slot) != 0)
      uncommon_[slot].first_number = real(first, slot), uncommon_[slot].last_number = real(last, slot);
}

template <class T>
void Accumulators::add_row(Time at, std::span<const T> values) {
  constexpr std::size_t together = 4;
  if (values.size() > members()) widen(values.size());
  const Totals totals{whole_[counts], whole_[last_times], real_[last], real_[sum], real_[least], real_[greatest]};
  std::size_t slot = 0;
  while (slot < values.size()) {
    if (rows_ && uncommon_.empty()) {
      if constexpr (std::is_same_v<T, float>)
        slot = kernels().add_narrow(values.data(), slot, values.size(), nanoseconds(at), totals);
      else slot = kernels().add_wide(values.data(), slot, values.size(), nanoseconds(at), totals);
    }
    for (const std::size_t end = std::min(slot + together, values.size()); slot < end; ++slot)
      if (!is_absent(values[slot])) add(static_cast<Slot>(slot), at, canonical(static_cast<double>(values[slot])));
  }
}
template void Accumulators::add_row(Time, std::span<const float>);
template void Accumulators::add_row(Time, std::span<const double>);

void Accumulators::add(Slot slot, Time at, double value) {
  if (members() <= slot) widen(slot + std::size_t{1});
  if (!std::isfinite(value)) expect_uncommon();
  std::int64_t& values = whole_[counts][slot];
  if (values++ == 0) real_[first][slot] = value;
  real_[last][slot] = value;
  if (!uncommon_.empty()) {
    Uncommon& of = uncommon_[slot];
    of.nonfinite += std::isfinite(value) ? 0 : 1;
    of.nans += is_number(value) ? 0 : 1;
  }
  if (demand_.first_n > 1 && firsts_[slot].size() < demand_.first_n) firsts_[slot].push_back(value);
  if (demand_.last_n > 1) {
    auto& lasts = lasts_[slot];
    if (lasts.size() >= 2 * demand_.last_n)
      lasts.erase(lasts.begin(), lasts.end() - static_cast<std::ptrdiff_t>(demand_.last_n));
    lasts.push_back(value);
  }
  if (!is_number(value)) return;

  const std::uint64_t known = numbers(slot);
  if (known == 1) {
    real_[least][slot] = real_[greatest][slot] = value;
    whole_[first_times][slot] = nanoseconds(at);
  }
  if (!uncommon_.empty()) {
    if (known == 1) uncommon_[slot].first_number = value;
    uncommon_[slot].last_number = value;
  }
  whole_[last_times][slot] = nanoseconds(at);
  real_[sum][slot] += value;
  real_[least][slot] = std::min(real_[least][slot], value);
  real_[greatest][slot] = std::max(real_[greatest][slot], value);
  if (rows_) return;

  const double since = seconds(at - time(first_times, slot));
  if (demand_.moments) {
    const auto n = static_cast<double>(known);
    const double off = value - real_[mean][slot], time_off = since - real_[mean_time][slot];
    real_[mean][slot] += off / n;
    real_[mean_time][slot] += time_off / n;
    real_[squares][slot] += off * (value - real_[mean][slot]);
    real_[times][slot] += time_off * (since - real_[mean_time][slot]);
    real_[products][slot] += time_off * (value - real_[mean][slot]);
  }
  for (std::size_t i = 0; i < smooth_.size(); ++i) {
    double& smooth = smooth_[i][slot];
    smooth = known == 1 ? value : smooth + ewma_weight(demand_.spans[i]) * (value - smooth);
  }
  for (std::size_t i = 0; i < hits_.size(); ++i) hits_[i][slot] += has_bits(value, demand_.masks[i]) ? 1 : 0;
  if (demand_.order) histograms_[slot].add(value);
  if (demand_.fits) thinned_[slot].add(since, value);
}

double Accumulators::fitted(Op op, Slot slot, const ReductionArguments& arguments, SeriesScratch& scratch) const {
  if (!demand_.fits) return absent;
  std::vector<double> times, values;
  for (const auto& bucket : thinned_[slot].buckets) {
    times.push_back(bucket.seconds / static_cast<double>(bucket.count));
    values.push_back(bucket.sum / static_cast<double>(bucket.count));
  }
  return reduce_series(op, {times, values}, arguments, scratch);
}

double Accumulators::reduce(Op op, Slot slot, const ReductionArguments& arguments, SeriesScratch& scratch) const {
  switch (op) {
    case Op::w_first:
    case Op::w_last: {
      if (count(slot) == 0 || arguments.number <= 1) return accumulated(op, slot, arguments.number);
      const auto& kept = op == Op::w_first ? firsts_ : lasts_;
      const std::size_t most = op == Op::w_first ? demand_.first_n : demand_.last_n;
      if (slot >= kept.size() || arguments.number > static_cast<double>(most)) return absent;
      return reduce_series(op, {kept[slot], kept[slot]}, arguments, scratch);
    }
    case Op::w_cusum:
    case Op::w_theil_sen:
    case Op::w_kendall:
    case Op::w_time_to: return count(slot) == 0 || numbers(slot) == 0 ? absent : fitted(op, slot, arguments, scratch);
    default: return accumulated(op, slot, arguments.number);
  }
}

double Accumulators::accumulated(Op op, Slot slot, double number) const {
  if (op == Op::w_count) return static_cast<double>(count(slot));
  if (count(slot) == 0) return absent;
  if (op == Op::w_nonfinite) return uncommon_.empty() ? 0 : static_cast<double>(uncommon_[slot].nonfinite);
  if (op == Op::w_first || op == Op::w_last) return real(op == Op::w_first ? first : last, slot);
  if (numbers(slot) == 0) return absent;
  const auto n = static_cast<double>(numbers(slot));
  const double elapsed = seconds(time(last_times, slot) - time(first_times, slot));
  const auto difference = [&] {
    return uncommon_.empty() ? real(last, slot) - real(first, slot)
                             : uncommon_[slot].last_number - uncommon_[slot].first_number;
  };
  switch (op) {
    case Op::w_mean: return canonical(real(sum, slot) / n);
    case Op::w_sum: return canonical(real(sum, slot));
    case Op::w_min: return real(least, slot);
    case Op::w_max: return real(greatest, slot);
    case Op::w_stddev: return !demand_.moments || n < 2 ? absent : canonical(std::sqrt(real(squares, slot) / (n - 1)));
    case Op::w_slope:
      return demand_.moments && real(times, slot) > 0 ? canonical(real(products, slot) / real(times, slot)) : absent;
    case Op::w_delta:
      if (!counter_ && n < 2) return absent;
      return counter_ ? canonical(real(sum, slot) / n * elapsed) : canonical(difference());
    case Op::w_rate:
      if (counter_) return canonical(real(sum, slot) / n);
      return elapsed > 0 ? canonical(difference() / elapsed) : absent;
    case Op::w_median: return demand_.order ? histograms_[slot].median() : absent;
    case Op::w_quantile: return demand_.order ? histograms_[slot].quantile(number) : absent;
    case Op::w_mad: return demand_.order ? histograms_[slot].mad() : absent;
    case Op::w_ewma: {
      const auto at = std::find(demand_.spans.begin(), demand_.spans.end(), number);
      return at == demand_.spans.end() ? absent
                                       : canonical(smooth_[static_cast<std::size_t>(at - demand_.spans.begin())][slot]);
    }
    case Op::w_fraction: {
      const auto at = std::find(demand_.masks.begin(), demand_.masks.end(), number);
      if (at == demand_.masks.end()) return absent;
      return static_cast<double>(hits_[static_cast<std::size_t>(at - demand_.masks.begin())][slot]) / n;
    }
    default: return absent;
  }
}

bool Accumulators::reduce_all(Op op, double number, std::uint64_t least_count, std::span<double> out) const {
  const auto fewest = static_cast<std::int64_t>(least_count);
  const std::int64_t* const values = whole_[counts];
  const std::size_t all = std::min(out.size(), members());
  const auto take = [&](Real column, bool means = false) {
    kernels().take_enough(real_[column], values, fewest, means, out.data(), all);
    return true;
  };
  if ((op == Op::w_first || op == Op::w_last) && number > 1) return false;
  if (op == Op::w_first || op == Op::w_last) return take(op == Op::w_first ? first : last);
  if (op == Op::w_count) {
    for (std::size_t i = 0; i < all; ++i) out[i] = values[i] >= fewest ? static_cast<double>(values[i]) : out[i];
    return true;
  }
  if (!uncommon_.empty()) return false;  // some have values and no number
  switch (op) {
    case Op::w_min: return take(least);
    case Op::w_max: return take(greatest);
    case Op::w_sum: return take(sum);
    case Op::w_mean: return take(sum, true);
    default: return false;
  }
}

}  // namespace tocsin::stream
