#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tocsin::adapters::http {

// So many a second, and as many at once.
class RateLimit {
 public:
  using Now = std::chrono::steady_clock::time_point;
  explicit RateLimit(std::uint64_t a_second) : rate_(static_cast<double>(a_second)), left_(rate_) {}

  [[nodiscard]] bool takes(Now now) {
    if (!has_room(now) || left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  // For what is known only afterwards: whether there was any room, and what it took, which may be more than there was.
  [[nodiscard]] bool has_room(Now now) {
    left_ = std::min(rate_, left_ + rate_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    return left_ > 0;
  }
  void took(double much) { left_ = std::max(left_ - much, -longest_debt * rate_); }

 private:
  static constexpr double longest_debt = 60;  // seconds
  double rate_, left_;
  Now last_{};
};

}  // namespace tocsin::adapters::http
