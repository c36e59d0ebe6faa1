#include "adapters/wrap/job_environment.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::wrap {
namespace {

using Variable = std::function<std::optional<std::string>(const char* name)>;

std::string first_of(const Variable& variable, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = variable(name); value && !value->empty()) return std::move(*value);
  return {};
}

std::uint32_t number(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

// A step of srun: each of its tasks is one of us. The script of sbatch has SLURM_PROCID, too, and no step.
std::optional<JobPart> slurm_part(const Variable& variable) {
  const std::string step = first_of(variable, {"SLURM_STEP_ID", "SLURM_STEPID"});
  const std::string task = first_of(variable, {"SLURM_PROCID"});
  const std::uint32_t tasks = number(first_of(variable, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}));
  if (step.empty() || task.empty() || tasks < 2) return std::nullopt;
  return JobPart{task, step + '/' + first_of(variable, {"SLURM_RESTART_COUNT"}), tasks};
}

std::optional<JobPart> mpi_part(const Variable& variable) {
  const std::string rank = first_of(variable, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"});
  const std::uint32_t size = number(first_of(variable, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}));
  if (rank.empty() || size < 2) return std::nullopt;
  return JobPart{rank, first_of(variable, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"}), size};
}

std::optional<std::string> own_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

}  // namespace

JobEnvironment job_environment(const Variable& variable) {
  constexpr std::pair<const char*, const char*> labels[] = {{"name", "SLURM_JOB_NAME"},
                                                            {"user", "SLURM_JOB_USER"},
                                                            {"account", "SLURM_JOB_ACCOUNT"},
                                                            {"partition", "SLURM_JOB_PARTITION"}};
  JobEnvironment all;
  all.job = first_of(variable, {"SLURM_JOB_ID", "SLURM_JOBID", "FLUX_JOB_ID", "PBS_JOBID", "LSB_JOBID"});
  for (const auto& [label, name] : labels)
    if (auto value = first_of(variable, {name}); !value.empty()) all.labels[label] = std::move(value);
  all.part = slurm_part(variable);
  if (!all.part) all.part = mpi_part(variable);
  return all;
}

JobEnvironment job_environment() { return job_environment(own_variable); }

std::string this_node() {
  if (std::string number = first_of(own_variable, {"NODE_RANK", "PET_NODE_RANK", "GROUP_RANK", "SLURM_NODEID"});
      !number.empty())
    return number;
  std::ifstream boot{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(boot, id);
  return host() + '/' + id;
}

}  // namespace tocsin::adapters::wrap
