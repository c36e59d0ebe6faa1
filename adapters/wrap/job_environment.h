#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tocsin::adapters::wrap {

// Where several programs report one job, each for the processes that it started: which of them this is. They find each
// other by the job's name and the step.
struct JobPart {
  std::string part, step;
  std::uint32_t parts = 0;
};

// What the environment of this process says about its job.
struct JobEnvironment {
  std::string job;                            // the scheduler's id; empty: there is none
  std::map<std::string, std::string> labels;  // name, user, account, partition
  std::optional<JobPart> part;                // none: this process was not started as one of several
};
// `variable`: of the environment. Slurm, Flux, PBS and LSF name the job; srun and mpirun its parts.
[[nodiscard]] JobEnvironment job_environment(
    const std::function<std::optional<std::string>(const char* name)>& variable);
[[nodiscard]] JobEnvironment job_environment();
// Which node of the job this is, by the launcher's number; else the host's name and what tells two hosts of that name
// apart.
[[nodiscard]] std::string this_node();

}  // namespace tocsin::adapters::wrap
