#include <signal.h>

#include <algorithm>

#include "doctest/doctest.h"
#include "probe_run.h"

using namespace tocsin::test;

namespace {

// Children without a RANK, as torch.multiprocessing.spawn starts them: the first serves, the others connect to it. Each
// has two workers that inherit its sockets; the parent only waits. `apart`: nobody connects, as workers of a data
// loader do not.
const std::string unnamed = R"py(
import os, socket, sys, time
def workers():
    for _ in range(2):
        if os.fork() == 0:
            time.sleep(12)
            os._exit(0)
listener = socket.create_server(("127.0.0.1", 0))
at = listener.getsockname()
def rank(r):
    kept = []
    if sys.argv[1] == "connected":
        kept = [listener.accept() for _ in range(2)] if r == 0 else [socket.create_connection(at)]
    workers()
    time.sleep(12)
for r in range(3):
    if os.fork() == 0:
        rank(r)
        os._exit(0)
    time.sleep(0.05)
for r in range(3): os.wait()
)py";

}  // namespace

TEST_CASE("ranks that no environment names are known by their connections, in the order of their start") {
  Scratch scratch;
  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", unnamed, "connected"}), scratch);
  const Recorded recorded = read_journal(scratch / "j");
  const auto members = recorded.named("member");
  REQUIRE(members.size() == 3);
  for (std::size_t r = 0; r < 3; ++r) CHECK(members[r].member == "rank " + std::to_string(r));
  CHECK(std::stoi(members[0].fields.at("pid")) < std::stoi(members[2].fields.at("pid")));
  CHECK(recorded.named("start").back().fields.at("world_size") == "3");
  CHECK_FALSE(recorded.of("process_state", "rank 2").empty());
  CHECK_FALSE(recorded.of("children_cpu", "rank 1").empty());
  CHECK(recorded.of("process_pid", "rank 2").front().value == members[2].fields.at("pid"));
}

TEST_CASE("children without a connection between them are no ranks") {
  Scratch scratch;
  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", unnamed, "apart"}), scratch);
  CHECK(read_journal(scratch / "j").named("member").empty());
}

TEST_CASE("a program that starts the other ranks of its node itself is the first of them") {
  Scratch scratch;
  const std::string script =
      "import os, subprocess, time\n"
      "p = [subprocess.Popen(['sleep', '4'], env=dict(os.environ, LOCAL_RANK=str(r), WORLD_SIZE='3', NODE_RANK='0')) "
      "for r in (1, 2)]\n"
      "for q in p: q.wait()\n";
  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", script}), scratch);
  const auto members = read_journal(scratch / "j").named("member");
  REQUIRE(members.size() == 3);
  CHECK(members[0].member == "rank 0");
  CHECK(members[2].member == "rank 2");
}

TEST_CASE("a launcher whose first rank has gone is no rank, nor is a shell") {
  Scratch scratch;
  const std::string script =
      "import os, subprocess, time\n"
      "p = [subprocess.Popen(['sleep', '3' if r == 0 else '7'], env=dict(os.environ, LOCAL_RANK=str(r), "
      "WORLD_SIZE='2')) for r in "
      "range(2)]\n"
      "for q in p: q.wait()\n";
  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", script}), scratch);
  CHECK(read_journal(scratch / "j").named("member").size() == 2);
  (void)run(probe({"--journal", (scratch / "k").string()}, {"sh", "-c", "LOCAL_RANK=1 WORLD_SIZE=2 sleep 4; true"}),
            scratch);
  CHECK(read_journal(scratch / "k").named("member").size() == 1);
}

TEST_CASE("a process that is stopped before it was known as the job's only one is known all the same") {
  Scratch scratch;
  Running running{probe({"--journal", (scratch / "j").string(), "--lone-after", "4"},
                        {"python3", "-c",
                         "import os, signal, time\nwhile time.process_time() < 2.5: "
                         "sum(range(20000))\nos.kill(os.getpid(), signal.SIGSTOP)"}),
                  scratch};
  CHECK(running.wait_for([&] {
    if (!std::filesystem::exists(scratch / "j")) return false;
    const auto states = read_journal(scratch / "j").of("process_state", "rank 0");
    return std::any_of(states.begin(), states.end(), [](const auto& sample) { return sample.value == "stopped"; });
  }));
  ::kill(running.pid(), SIGTERM);
  if (const auto child = child_named(running.pid(), "python3")) ::kill(*child, SIGCONT);
  (void)running.end();
}

TEST_CASE("how a rank ended that nobody reaps is recorded") {
  Scratch scratch;
  const std::string script =
      "import os, signal, subprocess, time\n"
      "p = [subprocess.Popen(['sleep', '30'], env=dict(os.environ, RANK=str(r), WORLD_SIZE='2')) for r in range(2)]\n"
      "time.sleep(3); p[1].send_signal(signal.SIGKILL); time.sleep(4); p[0].kill()\n";
  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", script}), scratch);
  const auto ended = read_journal(scratch / "j").of("exit_status", "rank 1");
  REQUIRE_FALSE(ended.empty());
  CHECK(ended.front().value == "137");
}

TEST_CASE("what a rank has started works for it, and is sampled beside it") {
  Scratch scratch;
  const std::string rank =
      "import subprocess, sys\n"
      "subprocess.run([sys.executable, '-c', 'import time\\nt = time.time()\\nwhile time.time() - t < 8: "
      "sum(range(20000))'])\n";
  const std::string script =
      "import os, subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], env=dict(os.environ, RANK='0', "
      "WORLD_SIZE='1'))";
  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", script, rank}), scratch);
  double most = 0;
  for (const auto& sample : read_journal(scratch / "j").of("children_cpu", "rank 0"))
    if (!sample.value.empty()) most = std::max(most, std::stod(sample.value));
  CHECK(most > 0.02);  // a busy machine may give it little
}
