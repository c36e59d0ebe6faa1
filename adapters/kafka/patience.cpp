#include "adapters/kafka/patience.h"

#include <algorithm>
#include <atomic>

namespace tocsin::adapters::kafka {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {
std::atomic<Clock::time_point> last_moment{Clock::time_point::max()};  // of the process, as what ends is the process
}  // namespace

void wait_until_at_most(Clock::time_point end) noexcept { last_moment = end; }

bool waiting_is_over() noexcept { return Clock::now() >= last_moment.load(); }

milliseconds at_most(milliseconds wish) noexcept {
  const auto end = last_moment.load();
  if (end == Clock::time_point::max()) return wish;
  return std::clamp(std::chrono::floor<milliseconds>(end - Clock::now()), milliseconds{1},
                    std::max(wish, milliseconds{1}));
}

}  // namespace tocsin::adapters::kafka
