#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream/values/result.h"

namespace tocsin::adapters::trace {

// When a process was started, in clock ticks since boot: with its pid it names it. Nothing where it has gone.
[[nodiscard]] std::optional<std::uint64_t> start_ticks(pid_t pid);
// The same from the text of /proc/PID/stat; nothing for a zombie.
[[nodiscard]] std::optional<std::uint64_t> start_in_stat(std::string_view text) noexcept;
// Nanoseconds since boot, as the kernel counts them, in the same ticks.
[[nodiscard]] std::uint64_t to_ticks(std::uint64_t nanoseconds) noexcept;
// The clock of the kernel's tables: CLOCK_MONOTONIC outside of any time namespace.
[[nodiscard]] std::uint64_t kernel_time();
// Another after an exec of another program; empty where we may not see it.
[[nodiscard]] std::string executable_of(pid_t pid);
// Errc::refused: we have no right to.
[[nodiscard]] stream::Result<std::string> maps_of(pid_t pid);

}  // namespace tocsin::adapters::trace
