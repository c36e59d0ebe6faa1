#pragma once

#include <chrono>

namespace tocsin::adapters::kafka {

// For how long this process waits for brokers: each call as long as it likes; once the process is asked to end, none
// beyond one moment, the same for all. Any thread may call these.
void wait_until_at_most(std::chrono::steady_clock::time_point end) noexcept;
[[nodiscard]] bool waiting_is_over() noexcept;
// What is left of so long a wait; a millisecond at least.
[[nodiscard]] std::chrono::milliseconds at_most(std::chrono::milliseconds wish) noexcept;

}  // namespace tocsin::adapters::kafka
