#pragma once

#include <string>
#include <vector>

#include "adapters/evidence/stack_taker.h"
#include "stream/values/result.h"

namespace tocsin::adapters::cli {

inline constexpr auto job_ranks_text =
    "All ranks on this machine of a job that `tocsin node --list` shows, by its name, or NAME.STEP of Slurm; or of a "
    "run "
    "of wrap, by the directory of its journal, a name that `tocsin runs` lists, or last";

// The processes that do the work of these ranks.
[[nodiscard]] stream::Result<std::vector<evidence::StackTarget>> ranks_of_job(const std::string& name);

}  // namespace tocsin::adapters::cli
