#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>

#include "doctest/doctest.h"
#include "probe_run.h"

using namespace tocsin::test;

namespace {

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

// A launcher of three ranks in Python: no GPU, no framework. Each has a loader worker that inherits its environment,
// and tells now and then how much CPU it has used by its own clock.
const std::string launcher = R"py(
import os, subprocess, sys, time
rank = '''
import subprocess, sys, time
w = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(4)"])
t, reported = time.time(), -1
while time.time() - t < 4:
    if sys.argv[1] == "idle" or time.process_time() > reported + 0.02:
        reported = time.process_time()
        print("used", sys.argv[2], time.time(), reported, flush=True)
    sys.argv[1] == "busy" or time.sleep(0.5)
w.wait()
'''
def start():
    return [subprocess.Popen([sys.executable, "-c", rank, "busy" if r == 1 else "idle", str(r)],
                             env=dict(os.environ, RANK=str(r), WORLD_SIZE="3")) for r in range(3)]
for times in range(int(sys.argv[1])):
    for p in start(): p.wait()
)py";

// Where NCCL's plugin writes, by the environment of the command.
std::filesystem::path ring_directory_of(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/environ"};
  const std::string_view name = "TOCSIN_NCCL_DIR=";
  for (std::string line; std::getline(file, line, '\0');)
    if (line.starts_with(name)) return line.substr(name.size());
  return {};
}

// What a rank of the launcher reported of its own clock: seconds of CPU by time of day.
std::map<double, double> clock_of(const Recorded& recorded, int rank) {
  std::map<double, double> reported;
  for (const auto& line : recorded.lines) {
    std::istringstream words{line.text};
    std::string word;
    int of = -1;
    double at = 0, used = 0;
    if (words >> word >> of >> at >> used && word == "used" && of == rank) reported[at] = used;
  }
  return reported;
}

}  // namespace

TEST_CASE("the journal begins with the pack and the start, and ends with the end and the seal") {
  Scratch scratch;
  const Ended ended = run(probe({"--journal", (scratch / "j").string(), "--job", "llama"},
                                shell("echo one; echo two >&2; printf three; exit 3")),
                          scratch);
  CHECK(ended.code() == 3);
  const Recorded recorded = read_journal(scratch / "j");
  REQUIRE(recorded.packs.size() == 1);
  CHECK(recorded.packs[0].hash == "beef");
  REQUIRE(recorded.events.size() == 2);
  CHECK(recorded.events[0].name == "start");
  CHECK(recorded.events[0].attempt == "1");
  CHECK(recorded.events[1].name == "end");
  CHECK(recorded.events[1].fields.at("reason") == "failed");
  CHECK(recorded.events[1].fields.at("code") == "3");
  CHECK(recorded.sealed);
  REQUIRE(recorded.coverage.size() >= 1);
  CHECK(recorded.coverage[0].source == "log");
  CHECK(recorded.coverage[0].members.empty());
  REQUIRE(recorded.lines.size() == 3);
  for (const auto& line : recorded.lines) CHECK(line.error == (line.text == "two"));
}

TEST_CASE("the end says how the command ended") {
  Scratch scratch;
  const auto reason = [&](const std::string& name, const std::string& script) {
    (void)run(probe({"--journal", (scratch / name).string()}, shell(script)), scratch);
    const auto ends = read_journal(scratch / name).named("end");
    REQUIRE(ends.size() == 1);
    return ends[0].fields;
  };
  CHECK(reason("a", "exit 0") == std::map<std::string, std::string>{{"reason", "completed"}, {"code", "0"}});
  CHECK(reason("b", "kill -SEGV $$") == std::map<std::string, std::string>{{"reason", "failed"}, {"signal", "11"}});
  CHECK(reason("c", "kill -INT $$") == std::map<std::string, std::string>{{"reason", "cancelled"}, {"signal", "2"}});

  Running running{probe({"--journal", (scratch / "d").string()}, {"sleep", "20"}), scratch};
  REQUIRE(running.wait_for([&] { return child_named(running.pid(), "sleep").has_value(); }));
  ::kill(running.pid(), SIGTERM);
  CHECK(running.end().signal() == SIGTERM);
  const auto ends = read_journal(scratch / "d").named("end");
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].fields.at("reason") == "cancelled");
}

TEST_CASE("the end of a launcher that exits with a status of its own says that it was asked to end") {
  Scratch scratch;
  const auto asked = [&](const std::string& name, const std::string& trap) {
    const auto ready = scratch / (name + ".ready");
    const std::string script =
        "trap '" + trap + "' TERM; echo > " + ready.string() + "; for i in {1..200}; do sleep 0.1; done";
    Running running{probe({"--journal", (scratch / name).string()}, {"bash", "-c", script}), scratch};
    REQUIRE(running.wait_for([&] { return std::filesystem::exists(ready); }));
    ::kill(running.pid(), SIGTERM);
    (void)running.end();
    return read_journal(scratch / name).named("end")[0].fields;
  };
  CHECK(asked("a", "exit 1") ==
        std::map<std::string, std::string>{{"reason", "failed"}, {"code", "1"}, {"asked", "1"}});
  CHECK(asked("b", "exit 0") ==
        std::map<std::string, std::string>{{"reason", "cancelled"}, {"code", "0"}, {"asked", "1"}});
}

TEST_CASE("ranks are found among the descendants, sampled, and their exits reported") {
  Scratch scratch;
  const Ended ended = run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", launcher, "1"}), scratch);
  CHECK(ended.code() == 0);
  const Recorded recorded = read_journal(scratch / "j");

  const auto members = recorded.named("member");
  REQUIRE(members.size() == 3);  // and not the loader workers
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK(members[r].member == "rank " + std::to_string(r));
    CHECK(members[r].fields.at("node") == host);
    CHECK(members[r].fields.contains("pid"));
  }
  const auto starts = recorded.named("start");
  REQUIRE(starts.size() == 2);  // the second says how many ranks there are
  CHECK(starts[1].attempt == "1");
  CHECK(starts[1].fields.at("world_size") == "3");
  CHECK(recorded.named("exit").size() == 3);

  // Shares of a core, over the times between samples: together what the rank's own clock says, however little of a core
  // it was given.
  for (const int rank : {0, 1}) {
    const auto reported = clock_of(recorded, rank);
    REQUIRE(reported.size() >= 2);
    const auto reported_by = [&](double time) { return std::prev(reported.upper_bound(time))->second; };
    const auto shares = recorded.of("process_cpu", "rank " + std::to_string(rank));
    REQUIRE(shares.size() >= 2);
    double before = 0, sampled = 0, clocked = 0;
    for (const auto& share : shares) {
      const double time = static_cast<double>(share.time) * 1e-9;
      if (before >= reported.begin()->first && time <= reported.rbegin()->first) {
        sampled += std::stod(share.value) * (time - before);
        clocked += reported_by(time) - reported_by(before);
      }
      before = time;
    }
    if (rank == 1) CHECK(clocked > 0);
    CHECK(std::abs(sampled - clocked) < 0.1);  // a few ticks, and what was used since the last word
  }
  CHECK_FALSE(recorded.of("process_rss", "rank 2").empty());
  CHECK(std::stod(recorded.of("process_rss", "rank 2").front().value) > 1e6);  // the last may be a zombie's: none
  const auto states = recorded.of("process_state", "rank 0");
  CHECK(std::any_of(states.begin(), states.end(), [](const auto& s) { return s.value == "sleeping"; }));
  const auto calls = recorded.of("wait_syscall", "rank 0"), channels = recorded.of("wait_channel", "rank 0");
  CHECK(std::any_of(calls.begin(), calls.end(), [](const auto& s) {
    return s.value.find("sleep") != std::string::npos || s.value == "wait4" || s.value == "pselect6";
  }));
  CHECK_FALSE(channels.empty());
  const auto running = recorded.of("wait_syscall", "rank 1");
  CHECK(std::any_of(running.begin(), running.end(), [](const auto& s) { return s.value == "none"; }));
  CHECK(recorded.of("host_memory_limit", std::string{"node "} + host).size() >= 3);
  for (const auto& sample : recorded.samples)  // the tracer says of each rank whether it has a CUDA context
    CHECK((!sample.signal.starts_with("gpu") || (sample.signal == "gpu_attached" && sample.value == "0")));

  const auto all = std::vector<std::string>{"rank 0", "rank 1", "rank 2"};
  CHECK(std::any_of(recorded.coverage.begin(), recorded.coverage.end(),
                    [&](const auto& h) { return h.source == "log" && h.members == all; }));
  CHECK(std::any_of(recorded.coverage.begin(), recorded.coverage.end(),
                    [&](const auto& h) { return h.source == "sampler" && h.members.size() == 4; }));
}

TEST_CASE("ranks that are replaced by new ones are a new attempt") {
  Scratch scratch;
  const Ended ended = run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", launcher, "2"}), scratch);
  CHECK(ended.code() == 0);
  const Recorded recorded = read_journal(scratch / "j");
  const auto starts = recorded.named("start");
  REQUIRE(starts.size() == 3);
  CHECK(starts[2].attempt == "2");
  CHECK(starts[2].fields.at("world_size") == "3");
  const auto members = recorded.named("member");
  REQUIRE(members.size() == 6);
  CHECK(members[5].attempt == "2");
  CHECK(recorded.named("end")[0].attempt == "2");
}

TEST_CASE("a process that becomes a rank by an exec is found") {
  Scratch scratch;
  (void)run(probe({"--journal", (scratch / "j").string()},
                  shell("sleep 2; RANK=4 exec python3 -c 'import time; time.sleep(3)'")),
            scratch);
  const Recorded recorded = read_journal(scratch / "j");
  REQUIRE(recorded.named("member").size() == 1);
  CHECK(recorded.named("member")[0].member == "rank 4");
  const auto exits = recorded.named("exit");
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].fields.at("code") == "0");  // it is the command itself: its code is known
}

TEST_CASE("a rank whose launcher has gone is still seen") {
  Scratch scratch;
  (void)run(probe({"--journal", (scratch / "j").string()}, shell("(RANK=2 sleep 4 &) ; sleep 3.5")), scratch);
  const auto members = read_journal(scratch / "j").named("member");
  REQUIRE(members.size() == 1);
  CHECK(members[0].member == "rank 2");
}

TEST_CASE("a command without ranks that works is rank 0 of 1, and what it runs is sampled") {
  Scratch scratch;
  const std::string busy = "import os, sys\nwhile not os.path.exists(sys.argv[1]): sum(range(20000))";
  const auto enough = scratch / "enough";
  Running running{probe({"--journal", (scratch / "j").string(), "--lone-after", "2"},
                        shell("python3 -c '" + busy + "' '" + enough.string() + "'; exit 3")),
                  scratch};
  const auto cores = [&] {  // python's: the shell waits
    double sum = 0;
    for (const auto& sample : read_journal(scratch / "j").of("process_cpu", "rank 0")) sum += std::stod(sample.value);
    return sum;
  };
  CHECK(running.wait_for([&] { return std::filesystem::exists(scratch / "j") && cores() > 0; }));
  std::ofstream{enough};
  CHECK(running.end().code() == 3);
  const Recorded recorded = read_journal(scratch / "j");
  const auto members = recorded.named("member");
  REQUIRE(members.size() == 1);
  CHECK(members[0].member == "rank 0");
  const auto starts = recorded.named("start");
  REQUIRE(starts.size() == 2);
  CHECK(starts[1].fields.at("world_size") == "1");
  CHECK(starts[1].attempt == "1");
  const auto exits = recorded.named("exit");
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].fields.at("code") == "3");
}

TEST_CASE("a command that only waits, and one whose ranks nobody named, is no rank") {
  Scratch scratch;
  SUBCASE("waits") {
    (void)run(probe({"--journal", (scratch / "j").string(), "--lone-after", "1"}, {"sleep", "9"}), scratch);
  }
  SUBCASE("two children at work") {
    const std::string busy = "python3 -c 'import time\nt = time.time()\nwhile time.time() - t < 11: sum(range(20000))'";
    (void)run(
        probe({"--journal", (scratch / "j").string(), "--lone-after", "1"}, shell(busy + " & " + busy + " & wait")),
        scratch);
  }
  SUBCASE("we are a rank of several ourselves") {
    Running running{
        probe(
            {"--journal", (scratch / "j").string(), "--lone-after", "1"},
            {"python3", "-c",
             "import time\nt = time.time()\nwhile time.process_time() < 4 or time.time() - t < 11: sum(range(20000))"}),
        scratch,
        {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}}};
    (void)running.end(60);
  }
  CHECK(read_journal(scratch / "j").named("member").empty());
}

TEST_CASE("a beat is written each second, whether there are lines or none") {
  Scratch scratch;
  Running running{probe({"--journal", (scratch / "j").string()}, {"sleep", "60"}), scratch};
  CHECK(running.wait_for(
      [&] { return std::filesystem::exists(scratch / "j") && read_journal(scratch / "j").beats.size() >= 4; }));
  ::kill(running.pid(), SIGTERM);
  CHECK(running.end().signal() == SIGTERM);
  const Recorded recorded = read_journal(scratch / "j");
  // Never so late that the engine takes it for a gap, in which nobody was there; and no more than there were seconds,
  // with those of the beginning and of the end. One that comes late may be followed soon: each second has its own.
  for (std::size_t i = 1; i + 1 < recorded.beats.size(); ++i)
    CHECK(recorded.beats[i] - recorded.beats[i - 1] < 5'000'000'000);
  CHECK(recorded.beats.size() <=
        static_cast<std::size_t>((recorded.beats.back() - recorded.beats.front()) / 1'000'000'000) + 3);
}

TEST_CASE("a new recorder goes on with the ranks of the one that was killed") {
  Scratch scratch;
  Running running{probe({"--journal", (scratch / "j").string()}, {"python3", "-c", launcher, "1"}), scratch};
  REQUIRE(running.wait_for([&] {
    return std::filesystem::exists(scratch / "j") && read_journal(scratch / "j").named("member").size() == 3;
  }));
  ::kill(*child_named(running.pid(), "tocsin-recorder"), SIGKILL);
  CHECK(running.end().code() == 0);
  const Recorded recorded = read_journal(scratch / "j");
  CHECK(recorded.named("member").size() == 3);
  CHECK(recorded.named("exit").size() == 3);
  CHECK(recorded.named("end")[0].attempt == "1");
  CHECK(recorded.sealed);
}

TEST_CASE("when wrap itself is killed the journal is sealed without an end, and no ring stays in memory") {
  Scratch scratch;
  Running running{probe({"--journal", (scratch / "j").string()}, {"sleep", "3"}), scratch};
  REQUIRE(running.wait_for([&] { return child_named(running.pid(), "sleep").has_value(); }));
  const auto recorder = child_named(running.pid(), "tocsin-recorder"),
             engine = child_named(running.pid(), "tocsin-engine");
  REQUIRE(recorder);
  const std::filesystem::path rings = ring_directory_of(*child_named(running.pid(), "sleep"));
  REQUIRE(std::filesystem::exists(rings));
  ::kill(running.pid(), SIGKILL);
  CHECK(running.end().signal() == SIGKILL);
  CHECK(running.wait_for([&] { return ::kill(*recorder, 0) != 0; }));
  if (engine) CHECK(running.wait_for([&] { return ::kill(*engine, 0) != 0; }));
  const Recorded recorded = read_journal(scratch / "j");
  CHECK(recorded.sealed);
  CHECK(recorded.named("end").empty());
  CHECK(!std::filesystem::exists(rings));
}

TEST_CASE("SIGHUP asks for new rules; bad ones leave the old in place") {
  Scratch scratch;
  SUBCASE("good") {
    Running running{probe({"--journal", (scratch / "j").string(), "--reload", "good"}, {"sleep", "60"}), scratch};
    REQUIRE(running.wait_for([&] { return child_named(running.pid(), "sleep").has_value(); }));
    ::kill(running.pid(), SIGHUP);
    CHECK(running.wait_for([&] { return read_journal(scratch / "j").packs.size() == 2; }));
    ::kill(running.pid(), SIGTERM);
    CHECK(running.end().signal() == SIGTERM);
    const Recorded recorded = read_journal(scratch / "j");
    REQUIRE(recorded.packs.size() == 2);
    CHECK(recorded.packs[1].hash == "feed");
    CHECK(recorded.packs[1].ahead > 2'000'000'000);
  }
  SUBCASE("bad") {
    Running running{probe({"--journal", (scratch / "j").string(), "--reload", "bad"}, {"sleep", "60"}), scratch};
    REQUIRE(running.wait_for([&] { return child_named(running.pid(), "sleep").has_value(); }));
    ::kill(running.pid(), SIGHUP);
    CHECK(running.wait_for([&] { return running.err().find("ranks.lua:3: no such signal") != std::string::npos; }));
    ::kill(running.pid(), SIGTERM);
    CHECK(running.end().signal() == SIGTERM);
    CHECK(read_journal(scratch / "j").packs.size() == 1);
  }
}

TEST_CASE("a run without a directory of its own is kept in the state directory") {
  Scratch scratch;
  (void)run(probe({}, {"true"}), scratch);
  std::size_t runs = 0;
  for (const auto& at : std::filesystem::directory_iterator(scratch / "state/tocsin")) {
    ++runs;
    CHECK((std::filesystem::status(at).permissions() & std::filesystem::perms::all) ==
          std::filesystem::perms::owner_all);
    CHECK(read_journal(at.path()).sealed);
  }
  CHECK(runs == 1);
}
