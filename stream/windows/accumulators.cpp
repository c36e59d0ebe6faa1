#include "stream/windows/accumulators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

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

Accumulators::Accumulators(Demand demand, bool counter) : demand_(std::move(demand)), counter_(counter) {
  for (const Reduction& reduction : demand_.reductions) {
    const bool many = (reduction.op == Op::w_first || reduction.op == Op::w_last) && reduction.number > 1;
    const bool cheap = !many && !orders(reduction.op) && reduction.op != Op::w_cusum &&
                       reduction.op != Op::w_theil_sen && reduction.op != Op::w_kendall &&
                       reduction.op != Op::w_time_to;
    if (cheap) kept_.keep(reduction);
  }
}

void Accumulators::widen(std::size_t members) {
  members_.resize(members);
  counts_.resize(members, 0);
  kept_.widen(members);
  smooth_.resize(demand_.spans.size());
  for (auto& column : smooth_) column.resize(members, absent);
  hits_.resize(demand_.masks.size());
  for (auto& column : hits_) column.resize(members, 0);
  if (demand_.order) histograms_.resize(members);
  if (demand_.fits) thinned_.resize(members);
  if (demand_.first_n > 1) firsts_.resize(members);
  if (demand_.last_n > 1) lasts_.resize(members);
}

void Accumulators::changed(Slot slot) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  counts_[slot] = static_cast<std::uint32_t>(std::min(members_[slot].count, most));
  kept_.changed(slot);
}

void Accumulators::refresh() {
  kept_.refresh([&](Slot slot, Op op, double number) {
    const Accumulated& m = members_[slot];
    switch (op) {  // the usual ones by the shortest path
      case Op::w_count: return static_cast<double>(m.count);
      case Op::w_last: return m.last;
      case Op::w_first: return m.first;
      case Op::w_max: return m.numbers != 0 ? m.greatest : absent;
      case Op::w_min: return m.numbers != 0 ? m.least : absent;
      case Op::w_nonfinite: return static_cast<double>(m.nonfinite);
      case Op::w_delta:
        if (!counter_) return m.numbers < 2 ? absent : canonical(m.last_number - m.first_number);
        [[fallthrough]];
      default: return accumulated(op, slot, number);
    }
  });
}

void Accumulators::rebuild() {
  kept_.clear(members_.size());
  counts_.assign(members_.size(), 0);
  for (Slot slot = 0; slot < members_.size(); ++slot)
    if (members_[slot].count != 0) changed(slot);
}

void Accumulators::add(Slot slot, Time at, double value) {
  if (members_.size() <= slot) widen(std::max<std::size_t>(slot + std::size_t{1}, members_.size() * 5 / 4));
  accumulate(slot, at, value);
  changed(slot);
}

void Accumulators::accumulate(Slot slot, Time at, double value) {
  Accumulated& m = members_[slot];
  if (m.count++ == 0) m.first = value;
  m.last = value;
  if (!std::isfinite(value)) ++m.nonfinite;
  if (demand_.first_n > 1 && firsts_[slot].size() < demand_.first_n) firsts_[slot].push_back(value);
  if (demand_.last_n > 1) {
    auto& lasts = lasts_[slot];
    if (lasts.size() >= 2 * demand_.last_n)
      lasts.erase(lasts.begin(), lasts.end() - static_cast<std::ptrdiff_t>(demand_.last_n));
    lasts.push_back(value);
  }
  if (!is_number(value)) return;

  if (m.numbers++ == 0) {
    m.first_number = m.least = m.greatest = value;
    m.first_at = at;
  }
  m.last_number = value;
  m.last_at = at;
  m.sum += value;
  m.least = std::min(m.least, value);
  m.greatest = std::max(m.greatest, value);
  if (demand_.moments) {
    const double time = seconds(at - m.first_at);
    const auto n = static_cast<double>(m.numbers);
    const double off = value - m.mean, time_off = time - m.mean_time;
    m.mean += off / n;
    m.mean_time += time_off / n;
    m.squares += off * (value - m.mean);
    m.times += time_off * (time - m.mean_time);
    m.products += time_off * (value - m.mean);
  }
  for (std::size_t i = 0; i < smooth_.size(); ++i) {
    double& smooth = smooth_[i][slot];
    smooth = m.numbers == 1 ? value : smooth + ewma_weight(demand_.spans[i]) * (value - smooth);
  }
  for (std::size_t i = 0; i < hits_.size(); ++i) hits_[i][slot] += has_bits(value, demand_.masks[i]) ? 1 : 0;
  if (demand_.order) histograms_[slot].add(value);
  if (demand_.fits) thinned_[slot].add(seconds(at - m.first_at), value);
}

namespace {

double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

}  // namespace

void Accumulators::append(Slot slot, const Accumulators& later, Slot from,
                          const std::function<double(double)>& number) {
  const Accumulated* after = later.of(from);
  if (after == nullptr) return;
  if (members_.size() <= slot) widen(slot + std::size_t{1});
  Accumulated& m = members_[slot];
  const Accumulated before = m;
  if (before.count == 0) m = *after;
  m.count = before.count + after->count;
  m.nonfinite = before.nonfinite + after->nonfinite;
  m.last = number ? number(after->last) : after->last;
  if (before.count == 0 && number) m.first = number(after->first);
  if (before.numbers == 0 && before.count != 0) {
    m.first_number = after->first_number, m.first_at = after->first_at;
    m.least = after->least, m.greatest = after->greatest, m.mean = after->mean, m.squares = after->squares;
  } else if (before.numbers != 0 && after->numbers != 0) {
    const auto a = static_cast<double>(before.numbers), b = static_cast<double>(after->numbers);
    const double off = after->mean - before.mean;
    m.mean = before.mean + off * (b / (a + b));
    m.squares = before.squares + after->squares + off * off * (a * b / (a + b));
    m.least = std::min(before.least, after->least);
    m.greatest = std::max(before.greatest, after->greatest);
  }
  m.numbers = before.numbers + after->numbers;
  if (after->numbers != 0) m.last_number = after->last_number, m.last_at = after->last_at;
  m.sum = before.sum + after->sum;
  m.mean_time = m.times = m.products = 0;
  for (std::size_t i = 0; i < smooth_.size() && i < later.smooth_.size() && after->numbers != 0; ++i) {
    // As if the first of the later values had been smoothed with what came before, instead of starting anew.
    double& smooth = smooth_[i][slot];
    const double begun = later.smooth_[i][from];
    const double left = power(1 - ewma_weight(demand_.spans[i]), after->numbers);
    smooth = before.numbers == 0 ? begun : begun + left * (smooth - after->first_number);
  }
  for (std::size_t i = 0; i < hits_.size() && i < later.hits_.size(); ++i) hits_[i][slot] += later.hits_[i][from];
  if (demand_.order && from < later.histograms_.size()) histograms_[slot].add(later.histograms_[from]);
  if (demand_.first_n > 1 && from < later.firsts_.size())
    for (const double value : later.firsts_[from])
      if (firsts_[slot].size() < demand_.first_n) firsts_[slot].push_back(value);
  if (demand_.last_n > 1 && from < later.lasts_.size()) {
    auto& lasts = lasts_[slot];
    lasts.insert(lasts.end(), later.lasts_[from].begin(), later.lasts_[from].end());
    if (lasts.size() > demand_.last_n)
      lasts.erase(lasts.begin(), lasts.end() - static_cast<std::ptrdiff_t>(demand_.last_n));
  }
  changed(slot);
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
    case Op::w_time_to:
      return count(slot) == 0 || members_[slot].numbers == 0 ? absent : fitted(op, slot, arguments, scratch);
    default: return accumulated(op, slot, arguments.number);
  }
}

double Accumulators::accumulated(Op op, Slot slot, double number) const {
  if (op == Op::w_count) return static_cast<double>(count(slot));
  if (count(slot) == 0) return absent;
  const Accumulated& m = members_[slot];
  if (op == Op::w_nonfinite) return static_cast<double>(m.nonfinite);
  if (op == Op::w_first || op == Op::w_last) return op == Op::w_first ? m.first : m.last;
  if (m.numbers == 0) return absent;
  const auto n = static_cast<double>(m.numbers);
  const double elapsed = seconds(m.last_at - m.first_at);
  switch (op) {
    case Op::w_mean: return canonical(m.sum / n);
    case Op::w_sum: return canonical(m.sum);
    case Op::w_min: return m.least;
    case Op::w_max: return m.greatest;
    case Op::w_stddev: return !demand_.moments || m.numbers < 2 ? absent : canonical(std::sqrt(m.squares / (n - 1)));
    case Op::w_slope: return demand_.moments && m.times > 0 ? canonical(m.products / m.times) : absent;
    case Op::w_delta:
      if (!counter_ && m.numbers < 2) return absent;
      return counter_ ? canonical(m.sum / n * elapsed) : canonical(m.last_number - m.first_number);
    case Op::w_rate:
      if (counter_) return canonical(m.sum / n);
      return elapsed > 0 ? canonical((m.last_number - m.first_number) / elapsed) : absent;
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

bool Accumulators::adopt(Accumulators& old) {
  if (!demand_.goes_on_from(old.demand_)) return false;
  members_ = std::move(old.members_);
  smooth_ = std::move(old.smooth_);
  hits_ = std::move(old.hits_);
  histograms_ = std::move(old.histograms_);
  thinned_ = std::move(old.thinned_);
  firsts_ = std::move(old.firsts_);
  lasts_ = std::move(old.lasts_);
  rebuild();
  return true;
}

void Accumulators::fields(auto& self, auto& archive) {
  using A = Accumulated;
  archive.columns(1, self.members_, &A::count, &A::numbers, &A::nonfinite, &A::first, &A::last, &A::first_number,
                  &A::last_number, &A::first_at, &A::last_at, &A::sum, &A::least, &A::greatest, &A::mean, &A::squares,
                  &A::mean_time, &A::times, &A::products);
  archive(2, self.smooth_), archive(3, self.hits_), archive(4, self.histograms_), archive(5, self.thinned_);
  archive(6, self.firsts_), archive(7, self.lasts_);
}
void Accumulators::save(Writer& out) const { fields(*this, out); }

void Accumulators::load(Reader& in) {
  fields(*this, in);
  const std::size_t members = members_.size();
  smooth_.resize(members != 0 ? demand_.spans.size() : 0);
  hits_.resize(members != 0 ? demand_.masks.size() : 0);
  for (auto& column : smooth_) column.resize(members);
  for (auto& column : hits_) column.resize(members);
  histograms_.resize(demand_.order ? members : 0);
  thinned_.resize(demand_.fits ? members : 0);
  for (auto& thinned : thinned_) thinned.together = std::max<std::uint64_t>(thinned.together, 1);
  firsts_.resize(demand_.first_n > 1 ? members : 0);
  lasts_.resize(demand_.last_n > 1 ? members : 0);
  rebuild();
}

std::size_t Accumulators::retained_bytes() const noexcept {
  std::size_t bytes =
      members_.capacity() * sizeof(Accumulated) + counts_.capacity() * sizeof(std::uint32_t) + kept_.retained_bytes();
  for (const auto& column : smooth_) bytes += column.capacity() * sizeof(double);
  for (const auto& column : hits_) bytes += column.capacity() * sizeof(std::uint64_t);
  for (const auto& histogram : histograms_) bytes += sizeof histogram + histogram.retained_bytes();
  for (const auto& thinned : thinned_) bytes += sizeof thinned + thinned.buckets.capacity() * sizeof(Thinned::Bucket);
  for (const auto& values : firsts_) bytes += sizeof values + values.capacity() * sizeof(double);
  for (const auto& values : lasts_) bytes += sizeof values + values.capacity() * sizeof(double);
  return bytes;
}

}  // namespace tocsin::stream
