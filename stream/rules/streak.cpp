#include "stream/rules/streak.h"

#include <algorithm>
#include <bit>

namespace tocsin::stream {
namespace {

constexpr std::uint32_t a_word = 64;

std::uint64_t last_n(std::uint32_t n) { return n >= a_word ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

}  // namespace

void Streak::Evaluations::add(bool one, std::uint32_t n) {
  if (n > a_word) older.resize((n - 1) / a_word);
  std::uint64_t leaving = newest >> (a_word - 1);
  newest = newest << 1 | (one ? 1 : 0);
  for (std::uint64_t& word : older) {
    const std::uint64_t next = word >> (a_word - 1);
    word = word << 1 | leaving;
    leaving = next;
  }
}

std::uint32_t Streak::Evaluations::among_last(std::uint32_t n) const {
  auto count = static_cast<std::uint32_t>(std::popcount(newest & last_n(n)));
  for (std::size_t i = 0; i < older.size() && n > a_word; ++i) {
    n -= a_word;
    count += static_cast<std::uint32_t>(std::popcount(older[i] & last_n(n)));
  }
  return count;
}

void Streak::add(Time tick, Truth outcome, const Persistence& fire, const Persistence& clear) {
  last_ = tick;
  const std::uint32_t n = std::max(fire.n, clear.n);
  yes_.add(outcome == Truth::yes, n);
  no_.add(outcome == Truth::no, n);
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
  if ((wanted == Truth::yes ? yes_ : no_).among_last(persistence.n) < persistence.k) return false;
  if (!persistence.timed) return true;
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
  if (yes_.among_last(fire.n) != 0) return true;
  return fire.timed && latest_yes_ != long_ago && latest_yes_ >= last_ - fire.span;
}

void Streak::fields(auto& self, auto& archive) {
  archive(1, self.yes_.newest), archive(2, self.no_.newest), archive(3, self.last_);
  archive(4, self.first_yes_), archive(5, self.first_no_), archive(6, self.latest_yes_);
  archive.columns(7, self.recent_, &std::pair<Time, Truth>::first, &std::pair<Time, Truth>::second);
}
void Streak::save(Writer& out) const {
  fields(*this, out);
  if (!yes_.older.empty()) out(8, yes_.older), out(9, no_.older);
}
void Streak::load(Reader& in) {
  fields(*this, in);
  in(8, yes_.older), in(9, no_.older);
}

}  // namespace tocsin::stream
