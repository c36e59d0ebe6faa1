#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tocsin::adapters::node {

// The job that a process belongs to. Slurm's steps are jobs of their own here: each has its ranks.
struct JobPlace {
  enum class By : std::uint8_t { slurm, pod, environment, chosen } by = By::environment;
  std::string job;   // as its records name it, unless it is `chosen` and another user has chosen the same
  std::string step;  // of Slurm: a number, "batch", "interactive" or "extern"; else empty
  uid_t user = 0;    // whose processes it has, where the name is `chosen`: by users, and not by a scheduler
  auto operator<=>(const JobPlace&) const = default;
};

// A process cannot leave its control group, and its environment is its own word: the group decides where there is one
// that names a job. `cgroup` and `environment`: in the form of /proc/PID/cgroup and environ; `host`: of this machine.
// Nothing: it belongs to no job.
[[nodiscard]] std::optional<JobPlace> place_in(std::string_view cgroup, std::string_view environment,
                                               const std::string& host);

struct SlurmStep {
  std::string job, step;
};
// The step of a process that slurmstepd started, by cgroup version 1 or 2; not that of slurmstepd itself.
[[nodiscard]] std::optional<SlurmStep> slurm_step(std::string_view cgroup);
// The uid of the pod that a process runs in, with dashes; by the systemd or the cgroupfs driver.
[[nodiscard]] std::optional<std::string> pod_uid(std::string_view cgroup);

// "Slurm's cgroup".
[[nodiscard]] std::string_view text_of(JobPlace::By by) noexcept;

}  // namespace tocsin::adapters::node
