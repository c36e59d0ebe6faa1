// What the reader sees of processes in which NCCL, here the player, uses our plugin.

#include <chrono>
#include <string>

#include "adapters/nccl/reader.h"
#include "doctest/doctest.h"
#include "played.h"

using namespace tocsin;
using namespace std::chrono_literals;
using test::Player, test::Scratch;

namespace {

// With kernels: as over several nodes.
std::vector<std::string> records_in(const Scratch& scratch) {
  return {"TOCSIN_NCCL_DIR=" + scratch.path().string(), "TOCSIN_NCCL_KERNELS=1"};
}
std::vector<std::string> within_a_node(const Scratch& scratch) {
  return {"TOCSIN_NCCL_DIR=" + scratch.path().string()};
}

adapters::nccl::ProcessRing only(const Scratch& scratch) {
  auto rings = adapters::nccl::read_rings(scratch.path());
  REQUIRE(rings.processes.size() == 1);
  return rings.processes.front();
}

adapters::nccl::ProcessRing only_of(const Scratch& scratch, pid_t pid) {
  for (auto& it : adapters::nccl::read_rings(scratch.path()).processes)
    if (it.pid == pid) return it;
  FAIL("there is no ring of the process");
  return {};
}

}  // namespace

TEST_CASE("operations whose kernels have ended on all channels are done") {
  for (const int version : {4, 5, 6}) {
    CAPTURE(version);
    Scratch scratch;
    Player rank{version, records_in(scratch)};

    rank.play(
        "comm world 7d5e 4 2\n"
        "coll world a AllReduce 1048576 2\n begin a 0\n begin a 1\n finish a 0\n finish a 1\n"
        "coll world b Broadcast 16 1\n begin b 0\n finish b 0\n");

    const auto seen = only(scratch);
    CHECK(seen.pid == rank.pid());
    CHECK(seen.interface_version == static_cast<std::uint64_t>(version));
    CHECK(seen.collectives().launched == 2);
    CHECK(seen.collectives().done == 2);
    CHECK(!seen.collectives().oldest);
  }
}

TEST_CASE("an operation that waits in its kernel for a rank that has not entered is the oldest open one") {
  for (const int version : {4, 5, 6}) {
    CAPTURE(version);
    Scratch scratch;
    Player waiting{version, records_in(scratch)}, missing{version, records_in(scratch)};

    for (Player* rank : {&waiting, &missing})
      rank->play("comm - 7d5e 2 " + std::string{rank == &waiting ? "0" : "1"} +
                 "\n"
                 "coll - a AllGather 512 1\n begin a 0\n finish a 0\n");
    waiting.play("coll - b AllReduce 1048576 2\n begin b 0\n begin b 1\n coll - c Broadcast 4 1\n");

    const auto rings = adapters::nccl::read_rings(scratch.path());
    REQUIRE(rings.processes.size() == 2);
    for (const auto& seen : rings.processes) {
      const auto is = seen.collectives();
      if (seen.pid == missing.pid()) {
        CHECK(is.launched == 1);
        CHECK(is.done == 1);
        CHECK(!is.oldest);
        continue;
      }
      CHECK(is.launched == 3);
      CHECK(is.done == 1);
      REQUIRE(is.oldest);
      CHECK(is.oldest->function == "all_reduce");
      CHECK(is.oldest->sequence == 2);
      CHECK(is.oldest->group == "0x7d5e");
      CHECK(is.oldest->group_size == 2);
      CHECK(is.oldest->arguments == "1048576 x float32");
      const auto& open = seen.communicators.front().open;
      REQUIRE(open.size() == 2);
      CHECK(open[0].running);
      CHECK(open[0].channels_started == 2);
      CHECK(open[0].channels_completed == 0);
      CHECK(!open[1].running);
      CHECK(open[1].is.arguments == "4 x float32, root 0");
    }
  }
}

TEST_CASE("ranks that launch different operations under the same number show both") {
  Scratch scratch;
  Player one{6, records_in(scratch)}, other{6, records_in(scratch)};

  one.play("comm - 9 2 0\n coll - a AllReduce 512 1\n begin a 0\n");
  other.play("comm - 9 2 1\n coll - a Broadcast 256 1\n begin a 0\n");

  const auto rings = adapters::nccl::read_rings(scratch.path());
  REQUIRE(rings.processes.size() == 2);
  for (const auto& seen : rings.processes) {
    const auto oldest = seen.collectives().oldest;
    REQUIRE(oldest);
    CHECK(oldest->sequence == 1);
    CHECK(oldest->function == (seen.pid == one.pid() ? "all_reduce" : "broadcast"));
    CHECK(oldest->arguments == (seen.pid == one.pid() ? "512 x float32" : "256 x float32, root 0"));
  }
}

TEST_CASE("the steps of a connection show where a transfer stands") {
  for (const int version : {4, 5, 6}) {
    CAPTURE(version);
    Scratch scratch;
    Player rank{version, records_in(scratch)};

    rank.play(
        "comm world 5 4 1\n"
        "coll world a AllReduce 1048576 1\n proxy a out 3 2 send 8\n proxy a in 3 0 recv 8\n"
        "coll world b AllReduce 1048576 1\n proxy b later 3 2 send 8\n"  // waits for its turn: changes nothing
        "begin a 3\n run out\n run in\n"
        "step out 0\n state out 0 8\n state out 0 20\n state out 0 9\n done out 0\n"
        "step out 1\n state out 1 8\n state out 1 20\n state out 1 9\n"
        "step in 0\n state in 0 10\n state in 0 11\n state in 0 12\n done in 0\n step in 1\n state in 1 10\n");

    const auto seen = only(scratch);
    const auto& links = seen.communicators.front().connections;
    REQUIRE(links.size() == 2);
    for (const auto& link : links) {
      CHECK(link.channel == 3);
      CHECK(link.operation == 1);
      CHECK(link.steps == 8);
      CHECK(link.posted == 2);
      CHECK(link.done == 1);
      CHECK(link.peer == (link.sends ? 2 : 0));
      CHECK(link.moved == (link.sends ? 2 : 1));
      CHECK(link.waits_for == "network");
    }
  }
}

TEST_CASE("what the proxy does for another process is kept apart, and its addresses are not followed") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};

  rank.play(
      "comm world 5 4 1\n coll world a AllReduce 64 1\n"
      "proxy a foreign 3 2 send 8 4711\n run foreign\n step foreign 0\n state foreign 0 8\n");

  const auto seen = only(scratch);
  REQUIRE(seen.communicators.size() == 2);
  CHECK(seen.communicators[0].connections.empty());
  REQUIRE(seen.communicators[1].connections.size() == 1);
  const auto& link = seen.communicators[1].connections[0];
  CHECK(link.for_process == 4711);
  CHECK(link.peer == 2);
  CHECK(link.posted == 1);
  CHECK(link.waits_for == "GPU");
  CHECK(seen.collectives().launched == 1);
}

TEST_CASE("each launch of a captured operation is counted, and has a number where kernels are reported") {
  for (const bool kernels : {true, false}) {
    CAPTURE(kernels);
    Scratch scratch;
    Player rank{6, kernels ? records_in(scratch) : within_a_node(scratch)};

    rank.play("comm world 5 4 1\n coll world a AllReduce 64 1 captured\n");
    CHECK(only(scratch).collectives().launched == 0);
    rank.play("replay world a r1\n begin r1 0\n finish r1 0\n replay world a r2\n begin r2 0\n");

    const auto seen = only(scratch);
    CHECK(seen.collectives().launched == (kernels ? 2 : 0));
    CHECK(seen.communicators[0].captured == 2);
    CHECK(seen.communicators[0].calls == 1);
    CHECK(seen.collectives().oldest.has_value() == kernels);
    if (kernels) CHECK(seen.communicators[0].open.at(0).captured);
  }
}

TEST_CASE("sends and receives have a numbering of their own, and empty ones are done at once") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};

  rank.play(
      "comm world 5 4 1\n coll world a AllReduce 64 1\n begin a 0\n finish a 0\n"
      "group\n p2p world s Send 128 2 1\n p2p world r Recv 128 0 1\n end\n begin s 0\n"
      "p2p world e Send 0 2 1\n coll world b AllReduce 64 1\n");

  const auto it = only(scratch).communicators.front();
  CHECK(it.collectives == 2);
  CHECK(it.point_to_points == 3);
  REQUIRE(it.open.size() == 3);
  CHECK(it.open[0].is.function == "send");
  CHECK(it.open[0].is.sequence == 1);
  CHECK(it.open[0].is.arguments == "128 x float32, to rank 2");
  CHECK(it.open[0].point_to_point);
  CHECK(it.open[1].is.function == "recv");
  CHECK(it.open[1].is.arguments == "128 x float32, from rank 0");
  CHECK(it.open[0].group == it.open[1].group);
  CHECK(it.open[2].is.function == "all_reduce");
  CHECK(it.open[2].is.sequence == 2);
}

TEST_CASE("what precedes an operation that runs is done, whatever was reported of it") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(
      "comm world 5 4 1\n coll world a AllReduce 64 4\n begin a 0\n finish a 0\n"  // one of four channels
      "coll world b AllReduce 64 1\n begin b 0\n");
  const auto seen = only(scratch);
  CHECK(seen.collectives().done == 1);
  CHECK(seen.collectives().oldest->sequence == 2);
}

TEST_CASE("more operations than the ring holds keep the counts exact") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  std::string lines = "comm world 5 4 1\n";
  for (int i = 0; i < 700; ++i) lines += "coll world a AllReduce 64 1\n begin a 0\n finish a 0\n";
  rank.play(lines + "coll world last AllReduce 64 1\n begin last 0\n");
  const auto is = only(scratch).collectives();
  CHECK(is.launched == 701);
  CHECK(is.done == 700);
  CHECK(is.oldest->sequence == 701);
}

TEST_CASE("an event of an operation whose place another has taken changes nothing") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  std::string lines = "comm world 5 4 1\n coll world old AllReduce 64 1\n begin old 0\n";
  for (int i = 0; i < 256; ++i) lines += "coll world a AllReduce 64 1\n";
  rank.play(lines + "finish old 0\n begin old 1\n");
  CHECK(only(scratch).collectives().done == 1);  // the first has left the ring
}

TEST_CASE("communicators come and go: counts stay, and places are used again") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play("comm world 1 4 1\n coll world w AllReduce 64 1\n begin w 0\n");
  for (int i = 0; i < 100; ++i)
    rank.play("comm pair 2 2 0\n coll pair a AllReduce 64 1\n begin a 0\n finish a 0\n finalize pair\n");
  const auto seen = only(scratch);
  CHECK(seen.collectives().launched == 101);
  CHECK(seen.collectives().done == 100);
  CHECK(seen.collectives().oldest->group == "world 0x1");
  CHECK(seen.untracked == 0);
}

TEST_CASE("communicators for which there is no room are counted, and do no harm") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "comm -" + std::to_string(i) + " " + std::to_string(i) + " 2 0\n";
  rank.play(lines + "coll -59 a AllReduce 64 1\n begin a 0\n finish a 0\n finalize -59\n coll -0 b AllReduce 64 1\n");
  const auto seen = only(scratch);
  CHECK(seen.untracked == 13);
  CHECK(seen.collectives().launched == 1);
}

TEST_CASE("within a node kernels are not reported, and what is open follows from what the other ranks launched") {
  Scratch scratch;
  Player one{6, within_a_node(scratch)}, other{6, within_a_node(scratch)};
  one.play("comm - 9 2 0\n coll - a AllReduce 8 1\n coll - b AllReduce 8 1\n coll - c Broadcast 8 1\n");
  other.play("comm - 9 2 1\n coll - a AllReduce 8 1\n");

  CHECK(one.play("mask\n") == "30");
  const auto waits = only_of(scratch, one.pid()).collectives(), missing = only_of(scratch, other.pid()).collectives();
  CHECK(!waits.done);
  REQUIRE(waits.oldest);
  CHECK(waits.oldest->sequence == 2);
  CHECK(waits.oldest->function == "all_reduce");
  CHECK(!waits.oldest->started);
  CHECK(!missing.oldest);

  other.play("coll - b AllGather 8 1\n");  // not what the first has launched as its second: neither can complete
  CHECK(only_of(scratch, other.pid()).collectives().oldest->function == "all_gather");
  CHECK(only_of(scratch, one.pid()).collectives().oldest->sequence == 2);
}

TEST_CASE("two ranks that enter two communicators in opposite order both wait, each in its own") {
  Scratch scratch;
  Player one{6, within_a_node(scratch)}, other{6, within_a_node(scratch)};
  one.play("comm - 9 2 0\n comm -2 a 2 0\n coll - a AllReduce 8 1\n");
  other.play("comm - 9 2 1\n comm -2 a 2 1\n coll -2 a AllReduce 8 1\n");
  CHECK(only_of(scratch, one.pid()).collectives().oldest->group == "0x9");
  CHECK(only_of(scratch, other.pid()).collectives().oldest->group == "0xa");
}

TEST_CASE("collectives in another order are open from the first that differs") {
  Scratch scratch;
  Player one{6, within_a_node(scratch)}, other{6, within_a_node(scratch)};
  one.play("comm - 9 2 0\n coll - a AllReduce 8 1\n coll - b AllReduce 8 1\n coll - c Broadcast 8 1\n");
  other.play("comm - 9 2 1\n coll - a AllReduce 8 1\n coll - c Broadcast 8 1\n coll - b AllReduce 8 1\n");
  CHECK(only_of(scratch, one.pid()).collectives().oldest->sequence == 2);
  CHECK(only_of(scratch, other.pid()).collectives().oldest->function == "broadcast");
}

TEST_CASE("a receive is open while its send is not launched; a send may be done") {
  Scratch scratch;
  Player one{6, within_a_node(scratch)}, other{6, within_a_node(scratch)};
  one.play("comm - 9 3 0\n p2p - a Send 8 1 1\n p2p - b Send 8 1 1\n p2p - x Recv 8 2 1\n");  // rank 2 is not seen
  other.play("comm - 9 3 1\n p2p - a Recv 8 0 1\n");
  CHECK(!only_of(scratch, one.pid()).collectives().oldest);
  CHECK(!only_of(scratch, other.pid()).collectives().oldest);

  other.play("p2p - b Recv 8 0 1\n p2p - c Recv 8 0 1\n");
  const auto waits = only_of(scratch, other.pid()).collectives().oldest;
  REQUIRE(waits);
  CHECK(waits->function == "recv");
  CHECK(waits->sequence == 3);
}

TEST_CASE("a broadcast is open in who waits for its root, and may be done in the root") {
  Scratch scratch;
  Player root{6, within_a_node(scratch)}, other{6, within_a_node(scratch)};
  root.play("comm - 9 2 0\n coll - a Broadcast 8 1\n");
  other.play("comm - 9 2 1\n");
  CHECK(!only_of(scratch, root.pid()).collectives().oldest);
  other.play("coll - a Broadcast 8 1\n coll - b Broadcast 8 1\n");
  CHECK(only_of(scratch, other.pid()).collectives().oldest->sequence == 2);
}

TEST_CASE("while a rank of a communicator is not seen, nothing follows from the others but what they miss") {
  Scratch scratch;
  Player one{6, within_a_node(scratch)}, other{6, within_a_node(scratch)};
  one.play("comm - 9 3 0\n coll - a AllReduce 8 1\n");
  other.play("comm - 9 3 1\n coll - a AllReduce 8 1\n");
  CHECK(!only_of(scratch, one.pid()).collectives().oldest);
  CHECK(only_of(scratch, one.pid()).communicators[0].unreported.size() == 1);
  one.play("coll - b AllReduce 8 1\n");
  CHECK(only_of(scratch, one.pid()).collectives().oldest->sequence == 2);
}

TEST_CASE("kernels are reported over several nodes, where NCCL polls anyway, and as the user says") {
  Scratch scratch;
  const auto mask = [&](std::vector<std::string> more, const std::string& nodes) {
    for (const std::string& it : within_a_node(scratch)) more.push_back(it);
    Player rank{6, more};
    return rank.play("comm - 1 4 0 " + nodes + "\n mask\n");
  };
  CHECK(mask({}, "1") == "30");
  CHECK(mask({}, "2") == "94");
  CHECK(mask({"WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4"}, "1") == "94");
  CHECK(mask({"WORLD_SIZE=4", "LOCAL_WORLD_SIZE=4"}, "1") == "30");
  CHECK(mask({"WORLD_SIZE=4"}, "1") == "30");
  CHECK(mask({"TOCSIN_NCCL_KERNELS=1"}, "1") == "94");
  CHECK(mask({"TOCSIN_NCCL_KERNELS=0"}, "2") == "30");
  CHECK(mask({"TOCSIN_NCCL_KERNELS=0", "TOCSIN_NCCL_STEPS=0"}, "2") == "6");
}
