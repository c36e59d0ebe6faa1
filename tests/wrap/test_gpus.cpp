#include <signal.h>

#include <algorithm>
#include <fstream>

#include "adapters/wrap/gpu_watch.h"
#include "doctest/doctest.h"
#include "probe_run.h"

using namespace tocsin::test;

namespace {

// Two ranks that put themselves on GPUs 1 and 2.
const std::string two_ranks =
    "import os, subprocess, sys, time\n"
    "p = [subprocess.Popen(['sleep', '7'], env=dict(os.environ, RANK=str(r), WORLD_SIZE='2')) for r in range(2)]\n"
    "open(sys.argv[1], 'w').write(f'1 {p[0].pid}\\n2 {p[1].pid}\\n')\n"
    "for q in p: q.wait()\n";

Recorded record(const Scratch& scratch, std::map<std::string, std::string> environment) {
  environment["LD_LIBRARY_PATH"] = FAKE_NVML;
  environment["FAKE_NVML_PROCESSES"] = (scratch / "on").string();
  Running running{
      probe({"--journal", (scratch / "j").string()}, {"python3", "-c", two_ranks, (scratch / "on").string()}), scratch,
      std::move(environment)};
  CHECK(running.end().code() == 0);
  return read_journal(scratch / "j");
}

std::size_t of_gpu(const Recorded& recorded, const std::string& signal, const std::string& address) {
  return static_cast<std::size_t>(std::count_if(
      recorded.samples.begin(), recorded.samples.end(),
      [&](const auto& sample) { return sample.signal == signal && sample.member.find(address) != std::string::npos; }));
}

}  // namespace

TEST_CASE("GPUs of the job's processes are sampled, and a rank knows its own") {
  Scratch scratch;
  const Recorded recorded = record(scratch, {});
  CHECK(of_gpu(recorded, "gr_engine_active", ":1C:") >= 3);
  const auto power = std::find_if(recorded.samples.begin(), recorded.samples.end(),
                                  [](const auto& s) { return s.signal == "gpu_power"; });
  REQUIRE(power != recorded.samples.end());
  CHECK(std::stod(power->value) == doctest::Approx(350.5));
  for (const char* signal :
       {"gpu_memory_used_ratio", "gpu_power_limit", "gpu_temperature", "sm_clock", "clock_event_reasons",
        "ecc_corrected", "ecc_uncorrected", "row_remap_failure", "nvlink_crc"})
    CHECK_MESSAGE(of_gpu(recorded, signal, ":1D:") > 0, signal);
  CHECK(of_gpu(recorded, "throttle_thermal", ":1D:") == 0);  // the library has no such function: a reason, and no stop
  const auto unread = recorded.named("gpu_unreadable");
  CHECK(std::any_of(unread.begin(), unread.end(), [](const auto& event) {
    return event.fields.at("call") == "nvmlDeviceGetViolationStatus" && !event.fields.at("reason").empty();
  }));
  const auto members = recorded.named("member");
  const auto own = [&](const std::string& rank) {
    const auto at = std::find_if(members.begin(), members.end(),
                                 [&](const auto& m) { return m.member == rank && m.fields.contains("gpu_pci"); });
    return at == members.end() ? std::string{} : at->fields.at("gpu_pci") + ' ' + at->fields.at("gpu_uuid");
  };
  CHECK(own("rank 0") == "00000000:1C:00.0 GPU-1");
  CHECK(own("rank 1") == "00000000:1D:00.0 GPU-2");
}

TEST_CASE("an error of the driver is recorded with its GPU") {
  Scratch scratch;
  const Recorded recorded = record(scratch, {{"FAKE_NVML_XID", "3"}});
  const auto errors = recorded.named("xid");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].fields.at("code") == "79");
  CHECK(errors[0].member.find(":1C:") != std::string::npos);
  CHECK(std::any_of(recorded.coverage.begin(), recorded.coverage.end(),
                    [](const auto& covered) { return covered.source == "kernel_log"; }));
}

TEST_CASE("a GPU that blocks whoever asks stops nothing") {
  Scratch scratch;
  const Recorded recorded = record(scratch, {{"FAKE_NVML_HANGS", "1"}});
  CHECK(recorded.sealed);
  CHECK(recorded.named("exit").size() == 2);
  CHECK(recorded.beats.size() >= 6);
}

TEST_CASE("GPUs that the job may not use are not its own") {
  using tocsin::adapters::wrap::visible;
  CHECK(visible(nullptr, 3, "GPU-3"));
  CHECK(visible("0,3", 3, "GPU-3"));
  CHECK_FALSE(visible("0,13", 3, "GPU-3"));
  CHECK(visible("GPU-3", 3, "GPU-3f"));
  CHECK_FALSE(visible("", 0, "GPU-0"));
}
