#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tocsin::dsl::text {

// What launchers, collectors and loggers put before a line: `[rank3]:`, `[default7]:`, `3: ` (srun -l), `(Worker
// pid=9)`,
// `[Rank 0]`, `[1,3]<stderr>:` (mpirun), times, levels, places in source files. Times are skipped: a line's time is its
// record's.
struct Prefix {
  std::size_t size = 0;               // of the whole prefix; the body begins here
  std::optional<std::uint32_t> rank;  // the innermost one in the prefix
  bool local = false;                 // from torchrun, as the role and the local rank
};
[[nodiscard]] Prefix read_prefix(std::string_view line) noexcept;

}  // namespace tocsin::dsl::text
