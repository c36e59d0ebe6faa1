#include "adapters/wrap/job_environment.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace tocsin::adapters::wrap;

namespace {

JobEnvironment in(const std::map<std::string, std::string>& environment) {
  return job_environment([&](const char* name) -> std::optional<std::string> {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional{at->second};
  });
}

}  // namespace

TEST_CASE("a task of srun is one part of its step, and the job has the scheduler's id and labels") {
  const JobEnvironment e = in({{"SLURM_JOB_ID", "4711"},
                               {"SLURM_JOB_USER", "ann"},
                               {"SLURM_JOB_PARTITION", "prod"},
                               {"SLURM_STEP_ID", "2"},
                               {"SLURM_RESTART_COUNT", "1"},
                               {"SLURM_PROCID", "3"},
                               {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_NTASKS", "16"}});
  CHECK(e.job == "4711");
  CHECK(e.labels == std::map<std::string, std::string>{{"user", "ann"}, {"partition", "prod"}});
  REQUIRE(e.part);
  CHECK(e.part->part == "3");
  CHECK(e.part->parts == 4);
  CHECK(e.part->step == "2/1");
}

TEST_CASE("the script of sbatch reports its job alone, and so does a step of one task") {
  CHECK_FALSE(in({{"SLURM_JOB_ID", "4711"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}).part);
  CHECK_FALSE(
      in({{"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).part);
}

TEST_CASE("a process of mpirun is one part, also without a scheduler") {
  const JobEnvironment e =
      in({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_NAMESPACE", "1234@1"}});
  CHECK(e.job.empty());
  REQUIRE(e.part);
  CHECK(e.part->part == "5");
  CHECK(e.part->parts == 8);
  CHECK(e.part->step == "1234@1");
}

TEST_CASE("an environment that says nothing, or nonsense, is that of a job alone") {
  CHECK_FALSE(in({}).part);
  CHECK(in({}).job.empty());
  CHECK_FALSE(in({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "many"}}).part);
}
