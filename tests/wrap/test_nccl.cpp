#include "doctest/doctest.h"
#include "probe_run.h"

using namespace tocsin::test;

TEST_CASE(
    "what NCCL in the ranks reports to our plugin is recorded: rank 0 waits in an all_reduce, rank 1 has not come") {
  Scratch scratch;
  const std::string script =
      "import os, subprocess, sys, time\n"
      "plays = ['comm world 9 2 0\\ncoll world a Broadcast 8 1\\ncoll world b AllReduce 8 1\\n',\n"
      "         'comm world 9 2 1\\ncoll world a Broadcast 8 1\\n']\n"
      "def rank(r):\n"
      "    place = dict(os.environ, RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE='2', LOCAL_WORLD_SIZE='2')\n"
      "    return subprocess.Popen([sys.argv[1], os.environ['NCCL_PROFILER_PLUGIN'], '6'], env=place,\n"
      "                            stdin=subprocess.PIPE, text=True)\n"
      "ranks = [rank(r) for r in range(2)]\n"
      "for it, lines in zip(ranks, plays): it.stdin.write(lines), it.stdin.flush()\n"
      "time.sleep(7)\n"
      "for it in ranks: it.stdin.close(), it.wait()\n";

  (void)run(probe({"--journal", (scratch / "j").string()}, {"python3", "-c", script, NCCL_PLAYER}), scratch);

  const Recorded recorded = read_journal(scratch / "j");
  const auto last = [&](const char* signal, const char* rank) {
    const auto samples = recorded.of(signal, rank);
    return samples.empty() ? std::string{} : samples.back().value;
  };
  CHECK(last("collective_launched", "rank 0") == "2");
  CHECK(last("collective_launched", "rank 1") == "1");
  CHECK(last("collective_waiting", "rank 1") == "0");
  CHECK(last("collective_function", "rank 0") == "all_reduce");
  CHECK(last("collective_number", "rank 0") == "2");
  CHECK(last("collective_group", "rank 0") == "world 0x9");
  REQUIRE_FALSE(last("collective_waiting", "rank 0").empty());
  CHECK(std::stod(last("collective_waiting", "rank 0")) > 2);
}
