#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "adapters/evidence/stack_taker.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::evidence {

// A file of a bundle, and how it is made. `make` may block: it runs in a process of its own.
struct PartMaker {
  std::string name;
  std::chrono::milliseconds limit;
  bool tail;           // where it is longer than allowed its end is kept; otherwise the beginning
  bool whole = false;  // it is of no use if cut
  std::function<stream::Result<std::string>()> make;
};

// All parts but the stacks.
[[nodiscard]] std::vector<PartMaker> bundle_parts(const std::filesystem::path& run,
                                                  const std::vector<StackTarget>& targets);

// The parts one by one.
[[nodiscard]] stream::Result<std::string> process_text(const StackTarget& target);
[[nodiscard]] stream::Result<std::string> flight_recorder_dump(const StackTarget& target);
[[nodiscard]] stream::Result<std::string> last_lines(const std::filesystem::path& run, std::size_t most);
[[nodiscard]] stream::Result<std::string> kernel_log();
// What NCCL's RAS answers, where the ranks' environment has it listen, if it is of this job.
[[nodiscard]] stream::Result<std::string> ras_answer(const std::vector<StackTarget>& targets, stream::Duration limit);
[[nodiscard]] stream::Result<std::string> gpu_state(std::chrono::milliseconds limit);

}  // namespace tocsin::adapters::evidence
