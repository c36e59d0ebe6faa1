// What accumulators take over: from those of later attempts, of another pack, of a snapshot.
#include <algorithm>

#include "stream/values/packed.h"
#include "stream/windows/accumulators.h"

namespace tocsin::stream {

std::optional<Accumulated> Accumulators::of(Slot slot) const {
  if (count(slot) == 0) return std::nullopt;
  Accumulated m;
  m.count = count(slot), m.numbers = numbers(slot);
  m.first = m.first_number = real(first, slot), m.last = m.last_number = real(last, slot);
  if (!uncommon_.empty()) {
    m.nonfinite = uncommon_[slot].nonfinite;
    m.first_number = uncommon_[slot].first_number, m.last_number = uncommon_[slot].last_number;
  }
  m.first_at = time(first_times, slot), m.last_at = time(last_times, slot);
  m.sum = real(sum, slot), m.least = real(least, slot), m.greatest = real(greatest, slot);
  if (demand_.moments) {
    m.mean = real(mean, slot), m.squares = real(squares, slot), m.mean_time = real(mean_time, slot);
    m.times = real(times, slot), m.products = real(products, slot);
  }
  return m;
}

void Accumulators::put(Slot slot, const Accumulated& m) {
  if (m.nonfinite != 0 || m.numbers != m.count) expect_uncommon();
  whole_[counts][slot] = static_cast<std::int64_t>(m.count);
  if (!uncommon_.empty()) uncommon_[slot] = {m.count - m.numbers, m.nonfinite, m.first_number, m.last_number};
  real_[first][slot] = m.first, real_[last][slot] = m.last;
  whole_[first_times][slot] = nanoseconds(m.first_at), whole_[last_times][slot] = nanoseconds(m.last_at);
  real_[sum][slot] = m.sum, real_[least][slot] = m.least, real_[greatest][slot] = m.greatest;
  if (!demand_.moments) return;
  real_[mean][slot] = m.mean, real_[squares][slot] = m.squares, real_[mean_time][slot] = m.mean_time;
  real_[times][slot] = m.times, real_[products][slot] = m.products;
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
  const std::optional<Accumulated> after = later.of(from);
  if (!after) return;
  if (members() <= slot) widen(slot + std::size_t{1});
  const Accumulated before = of(slot).value_or(Accumulated{});
  Accumulated m = before.count == 0 ? *after : before;
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
  put(slot, m);
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
}

bool Accumulators::adopt(Accumulators& old) {
  if (!demand_.goes_on_from(old.demand_)) return false;
  whole_ = std::move(old.whole_), uncommon_ = std::move(old.uncommon_);
  if (demand_.moments == old.demand_.moments) {
    real_ = std::move(old.real_);
  } else {
    real_.widen(members());
    for (std::size_t column = 0; column < no_moments; ++column)
      std::copy_n(old.real_[column], members(), real_[column]);
  }
  smooth_ = std::move(old.smooth_);
  hits_ = std::move(old.hits_);
  histograms_ = std::move(old.histograms_);
  thinned_ = std::move(old.thinned_);
  firsts_ = std::move(old.firsts_);
  lasts_ = std::move(old.lasts_);
  return true;
}

void Accumulators::lists(auto& self, auto& archive) {
  archive(2, self.smooth_), archive(3, self.hits_), archive(4, self.histograms_), archive(5, self.thinned_);
  archive(6, self.firsts_), archive(7, self.lasts_);
}

namespace {
void with_columns(auto&& use) {
  using A = Accumulated;
  use(&A::count, &A::numbers, &A::nonfinite, &A::first, &A::last, &A::first_number, &A::last_number, &A::first_at,
      &A::last_at, &A::sum, &A::least, &A::greatest, &A::mean, &A::squares, &A::mean_time, &A::times, &A::products);
}
}  // namespace

void Accumulators::save(Writer& out) const {
  std::vector<Accumulated> all(members());
  for (Slot slot = 0; slot < all.size(); ++slot) all[slot] = of(slot).value_or(Accumulated{});
  with_columns([&](auto... columns) { pack_columns(out, 8, all, columns...); });
  lists(*this, out);
}

void Accumulators::load(Reader& in) {
  std::vector<Accumulated> all;
  with_columns([&](auto... columns) {
    in.columns(1, all, columns...);  // of format 3
    unpack_columns(in, 8, all, most_of_column, columns...);
  });
  *this = Accumulators{std::move(demand_), counter_};
  lists(*this, in);
  widen(all.size());
  for (Slot slot = 0; slot < all.size(); ++slot) put(slot, all[slot]);
  for (auto& thinned : thinned_) thinned.together = std::max<std::uint64_t>(thinned.together, 1);
}

std::size_t Accumulators::retained_bytes() const noexcept {
  std::size_t bytes = whole_.retained_bytes() + real_.retained_bytes() + uncommon_.capacity() * sizeof(Uncommon);
  for (const auto& column : smooth_) bytes += column.capacity() * sizeof(double);
  for (const auto& column : hits_) bytes += column.capacity() * sizeof(std::uint64_t);
  for (const auto& histogram : histograms_) bytes += sizeof histogram + histogram.retained_bytes();
  for (const auto& thinned : thinned_) bytes += sizeof thinned + thinned.buckets.capacity() * sizeof(Thinned::Bucket);
  for (const auto& values : firsts_) bytes += sizeof values + values.capacity() * sizeof(double);
  for (const auto& values : lasts_) bytes += sizeof values + values.capacity() * sizeof(double);
  return bytes;
}

}  // namespace tocsin::stream
