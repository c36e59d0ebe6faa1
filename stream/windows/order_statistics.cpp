#include "stream/windows/order_statistics.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tocsin::stream {
namespace {

constexpr int dropped_bits = 45;  // of the 52 of a mantissa, 7 stay

// Keys ascend with the numbers: the sign bit of positives is set, negatives are inverted.
std::uint32_t key_of(double number) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);
  const auto top = static_cast<std::uint32_t>(bits >> dropped_bits);
  constexpr std::uint32_t sign = 1u << 18, all = (1u << 19) - 1;
  return top & sign ? ~top & all : top | sign;
}

// The value at a rank (type 7) of ascending values with counts.
template <class Weighted>
double at_rank(const std::vector<Weighted>& values, std::uint64_t rank) noexcept {
  for (const Weighted& v : values) {
    if (rank < v.count) return v.value;
    rank -= v.count;
  }
  return values.empty() ? absent : values.back().value;
}

template <class Weighted>
double median_of(const std::vector<Weighted>& values, std::uint64_t count) noexcept {
  if (count == 0) return absent;
  const double upper = at_rank(values, count / 2);
  if (count % 2 == 1) return upper;
  const double lower = at_rank(values, count / 2 - 1);
  return lower == upper ? upper : canonical((lower + upper) / 2);
}

}  // namespace

void Histogram::add(double number) {
  if (!is_number(number)) return;
  min_ = count_ == 0 ? number : std::min(min_, number);
  max_ = count_ == 0 ? number : std::max(max_, number);
  ++count_;
  const std::uint32_t key = key_of(number);
  const auto place =
      std::lower_bound(bins_.begin(), bins_.end(), key, [](const Bin& bin, std::uint32_t k) { return bin.key < k; });
  if (place != bins_.end() && place->key == key) ++place->count;
  else bins_.insert(place, Bin{key, 1});
}

void Histogram::add(const Histogram& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  std::vector<Bin> all;
  all.reserve(bins_.size() + other.bins_.size());
  std::ranges::merge(bins_, other.bins_, std::back_inserter(all), {}, &Bin::key, &Bin::key);
  bins_.clear();
  for (const Bin& bin : all) {
    if (!bins_.empty() && bins_.back().key == bin.key) bins_.back().count += bin.count;
    else bins_.push_back(bin);
  }
}

double Histogram::middle(const Bin& bin) const {
  constexpr std::uint32_t sign = 1u << 18, all = (1u << 19) - 1;
  const std::uint32_t top = bin.key & sign ? bin.key & ~sign : ~bin.key & all;
  const auto low = static_cast<std::uint64_t>(top) << dropped_bits;
  const double edge = std::bit_cast<double>(low);
  if (edge == 0 || !std::isfinite(edge)) return std::clamp(edge, min_, max_);
  return std::clamp(std::bit_cast<double>(low | std::uint64_t{1} << (dropped_bits - 1)), min_, max_);
}

std::vector<Histogram::Weighted> Histogram::values() const {
  std::vector<Weighted> values;
  values.reserve(bins_.size());
  for (const Bin& bin : bins_) values.push_back({middle(bin), bin.count});
  return values;
}

double Histogram::median() const { return median_of(values(), count_); }

double Histogram::quantile(double q) const {
  if (count_ == 0 || !(q >= 0 && q <= 1)) return absent;
  const auto all = values();
  const double place = static_cast<double>(count_ - 1) * q;
  const auto below = static_cast<std::uint64_t>(place);
  if (static_cast<double>(below) == place) return at_rank(all, below);
  const double low = at_rank(all, below), high = at_rank(all, std::min(below + 1, count_ - 1));
  return low == high ? low : canonical(low + (place - static_cast<double>(below)) * (high - low));
}

double Histogram::mad() const {
  const double middle = median();
  if (!std::isfinite(middle)) return absent;
  auto all = values();
  for (Weighted& v : all) v.value = std::abs(v.value - middle);
  std::sort(all.begin(), all.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  return median_of(all, count_);
}

void Histogram::fields(auto& self, auto& archive) {
  archive(1, self.count_), archive(2, self.min_), archive(3, self.max_);
  archive.columns(4, self.bins_, &Bin::key, &Bin::count);
}
void Histogram::save(Writer& out) const { fields(*this, out); }
void Histogram::load(Reader& in) { fields(*this, in); }

}  // namespace tocsin::stream
