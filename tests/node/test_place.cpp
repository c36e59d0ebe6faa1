#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "adapters/node/job_description.h"
#include "adapters/node/job_place.h"

using namespace tocsin::adapters::node;
using namespace std::string_literals;
using By = JobPlace::By;

namespace {

std::string step_of(const std::string& cgroup) {
  const auto step = slurm_step(cgroup);
  return step ? step->job + "." + step->step : "none";
}

std::string uid_of(const std::string& cgroup) { return pod_uid(cgroup).value_or("none"); }

constexpr const char* uid = "0f6d3e2a-91b7-4c55-8a3e-5d1c7e9b2f44";
constexpr const char* of_a_pod =
    "0::/kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod0f6d3e2a_91b7_4c55_8a3e_5d1c7e9b2f44.slice/cri-containerd-1f3870be.scope\n";

std::optional<JobPlace> in_pod(const std::string& environment) { return place_in(of_a_pod, environment, "n07"); }
std::optional<JobPlace> bare(const std::string& environment) {
  return place_in("0::/user.slice\n", environment, "n07");
}

}  // namespace

TEST_CASE("a step of Slurm is found in groups of version 1, whichever controllers Slurm uses") {
  const std::string of_22_05 =
      "12:pids:/system.slice/slurmd.service\n11:memory:/slurm/uid_1000/job_4711/step_0/task_0\n"
      "5:freezer:/slurm/uid_1000/job_4711/step_0\n1:name=systemd:/system.slice/slurmd.service\n0::/\n";
  CHECK(step_of(of_22_05) == "4711.0");
  CHECK(step_of("4:cpuset:/slurm/uid_1000/job_12/step_batch/task_0\n") == "12.batch");
  CHECK(step_of("4:cpuset:/slurm_n07/uid_1000/job_12/step_3/task_1\n") == "12.3");  // several slurmd on one machine
}

TEST_CASE("a step of Slurm is found in groups of version 2, and slurmstepd itself is not of it") {
  CHECK(step_of("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n") == "4711.0");
  CHECK(step_of("0::/system.slice/n07_slurmstepd.scope/job_4711/step_batch/user/task_special\n") == "4711.batch");
  CHECK(step_of("0::/system.slice/slurmstepd.scope/job_4711/step_interactive/user/task_0\n") == "4711.interactive");
  CHECK(step_of("0::/system.slice/slurmstepd.scope/job_4711/step_0+1/user/task_0\n") == "4711.0+1");  // heterogeneous
  CHECK(step_of("0::/system.slice/slurmstepd.scope/job_4711/step_0/slurm\n") == "none");
  CHECK(step_of("0::/system.slice/slurmstepd.scope/system\n") == "none");
  CHECK(step_of("0::/system.slice/slurmd.service\n") == "none");
  CHECK(step_of("0::/user.slice/job_4711/step_0\n") == "none");  // anybody may make such a group
  CHECK(step_of("0::/../../slurmstepd.scope/job_7/step_1/user/task_2/inner\n") == "7.1");  // from another namespace
  CHECK(step_of("") == "none");
  CHECK(step_of("0:") == "none");
  CHECK(step_of("0::/slurm/job_/step_0") == "none");
}

TEST_CASE("a pod is found in groups of both drivers and of kind") {
  CHECK(uid_of(of_a_pod) == uid);
  CHECK(uid_of("11:memory:/kubepods/burstable/pod0f6d3e2a-91b7-4c55-8a3e-5d1c7e9b2f44/1f3870be\n") == uid);
  CHECK(uid_of("0::/kubepods.slice/kubepods-pod0f6d3e2a_91b7_4c55_8a3e_5d1c7e9b2f44.slice/crio-1f3870be.scope\n") ==
        uid);
  CHECK(uid_of("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
               "kubelet-kubepods-besteffort-pod0f6d3e2a_91b7_4c55_8a3e_5d1c7e9b2f44.slice/cri-containerd-1f.scope\n") ==
        uid);
  CHECK(uid_of("9:pids:/kubepods/pod00112233445566778899aabbccddeeff/1f\n") == "00112233445566778899aabbccddeeff");
  CHECK(uid_of("0::/kubepods.slice/kubepods-burstable.slice\n") == "none");
  CHECK(uid_of("0::/system.slice/podman-4711.scope\n") == "none");
}

TEST_CASE("a group that a user made himself is of no job") {
  for (const char* path : {"slurm/job_4711/step_0", "app.slice/slurm-x.scope/job_4711/step_0/user/task_0"})
    CHECK_FALSE(slurm_step("0::/user.slice/user-1000.slice/user@1000.service/"s + path));
  CHECK_FALSE(
      pod_uid("0::/user.slice/user-1000.slice/user@1000.service/kubepods/pod0f6d3e2a-91b7-4c55-8a3e-5d1c7e9b2f44/x"));
}

TEST_CASE("the group leads over the environment, which is the process' own word") {
  const auto place = place_in("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n",
                              "SLURM_JOB_ID=9\0SLURM_STEP_ID=3\0TOCSIN_JOB=other\0"s, "n07");
  CHECK(place == JobPlace{By::slurm, "4711", "0"});
}

TEST_CASE("pods of one job have one name") {
  for (const char* name : {"llama-master-0", "llama-worker-11", "llama-x7k2p"})
    CHECK(in_pod("HOSTNAME="s + name + '\0') == JobPlace{By::pod, "llama", {}});
  CHECK(in_pod("HOSTNAME=llama-7b-3\0JOB_COMPLETION_INDEX=3\0"s)->job == "llama-7b");
  CHECK(in_pod("HOSTNAME=llama-3\0"s)->job == "llama-3");
  CHECK(in_pod("HOSTNAME=llama-worker-11\0TOCSIN_JOB=mine\0"s)->job == "mine");
  CHECK(in_pod("HOSTNAME=n07\0"s)->job == uid);  // on the machine's network
  CHECK(in_pod("")->job == uid);
}

TEST_CASE("without a group the environment names the job, or where its ranks meet") {
  CHECK(bare("SLURM_JOB_ID=12\0SLURM_STEP_ID=1\0RANK=0\0"s) == JobPlace{By::environment, "12", "1"});
  CHECK(bare("SLURM_JOB_ID=12\0"s) == JobPlace{By::environment, "12", "batch"});
  CHECK(bare("TORCHELASTIC_RUN_ID=llama\0MASTER_ADDR=a\0MASTER_PORT=1\0"s)->job == "llama");
  CHECK(bare("TORCHELASTIC_RUN_ID=none\0MASTER_ADDR=127.0.0.1\0MASTER_PORT=29500\0"s)->job == "n07-29500");
  CHECK(bare("MASTER_ADDR=n01\0MASTER_PORT=29500\0"s)->job == "n01-29500");
  CHECK_FALSE(bare("RANK=0\0WORLD_SIZE=4\0"s));
  CHECK_FALSE(bare(""));
}

TEST_CASE("a name holds no line break and no way to another directory") {
  CHECK(bare("TOCSIN_JOB=my job\n../../x\0"s)->job == "my job_.._.._x");
  CHECK(bare("TOCSIN_JOB="s + std::string(5000, 'x') + '\0')->job.size() == 128);
}

TEST_CASE("a name that is no text, or reserved, becomes one that records may have") {
  const auto place = *bare("TOCSIN_JOB=\xff\xfe bad\0"s);
  CHECK(place.job == "\xef\xbf\xbd\xef\xbf\xbd bad");
  const auto again = description_from(to_text({place, {place.job, "n07", "", {}, {}}}));
  REQUIRE(again);
  CHECK(again->place == place);  // another agent goes on with it
  CHECK(bare("TOCSIN_JOB=cluster\0"s)->job == "cluster_");
}

TEST_CASE("a description that was kept is read again, and another text is none") {
  JobDescription job{{By::slurm, "4711", "0"}, {"4711", "n07", "20260101T000000Z-n07-1-", {{"user", "x"}}, {}}};
  job.reported.part = tocsin::adapters::wrap::JobPart{"n07", "0//", 4};
  const auto again = description_from(to_text(job));
  REQUIRE(again);
  CHECK(to_text(*again) == to_text(job));
  CHECK_FALSE(description_from("{}"));
  CHECK_FALSE(description_from("torn {"));
}

TEST_CASE("two steps of one job that are found at once have attempts of different names") {
  const auto attempts = [](const std::string& step) {
    return describe({{By::slurm, "4711", step}, 2, {{::getpid(), 0u, 0}}}, "n07", "20260101T000000Z-n07-1-")
        .reported.attempts;
  };
  CHECK(attempts("0") == "20260101T000000Z-n07-1-0-");
  CHECK(attempts("1") != attempts("0"));
}
