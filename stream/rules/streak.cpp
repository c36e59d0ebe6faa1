#include "stream/rules/streak.h"

#include <algorithm>
#include <bit>

namespace tocsin::stream {
namespace {

std::uint64_t last_n(std::uint32_t n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

}  // namespace

void Streak::add(Time tick, Truth outcome, const Persistence& fire, const Persistence& clear) {
  last_ = tick;
  yes_ = yes_ << 1 | (outcome == Truth::yes);
  no_ = no_ << 1 | (outcome == Truth::no);
  if (outcome == Truth::yes) {
    latest_yes_ = tick;
    if (first_yes_ == never) first_yes_ = tick;
    first_no_ = never;
  } else if (outcome == Truth::no) {
    if (first_no_ == never) first_no_ = tick;
    first_yes_ = never;
  }
  if (!fire.timed && !clear.timed) return;
  const Duration span = std::max(fire.timed ? fire.span : Duration{}, clear.timed ? clear.span : Duration{});
  recent_.emplace_back(tick, outcome);
  while (recent_.front().first < tick - span) recent_.pop_front();
}

bool Streak::holds(const Persistence& persistence, Truth wanted) const {
  if (!persistence.timed) {
    const std::uint64_t bits = (wanted == Truth::yes ? yes_ : no_) & last_n(persistence.n);
    return static_cast<std::uint32_t>(std::popcount(bits)) >= persistence.k;
  }
  const Time first = wanted == Truth::yes ? first_yes_ : first_no_;
  if (first == never || first > last_ - persistence.span) return false;
  std::size_t all = 0, unknown = 0;
  for (auto it = recent_.rbegin(); it != recent_.rend() && it->first >= last_ - persistence.span; ++it) {
    ++all;
    unknown += it->second == Truth::unknown;
  }
  return 2 * unknown <= all;
}

bool Streak::hopes(const Persistence& fire) const {
  if (!fire.timed) return (yes_ & last_n(fire.n)) != 0;
  return latest_yes_ != long_ago && latest_yes_ >= last_ - fire.span;
}

void Streak::fields(auto& self, auto& archive) {
  archive(1, self.yes_), archive(2, self.no_), archive(3, self.last_);
  archive(4, self.first_yes_), archive(5, self.first_no_), archive(6, self.latest_yes_);
  archive.columns(7, self.recent_, &std::pair<Time, Truth>::first, &std::pair<Time, Truth>::second);
}
void Streak::save(Writer& out) const { fields(*this, out); }
void Streak::load(Reader& in) { fields(*this, in); }

}  // namespace tocsin::stream
