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

std::vector<std::string> records_in(const Scratch& scratch) { return {"TOCSIN_NCCL_DIR=" + scratch.path().string()}; }

adapters::nccl::ProcessRing only(const Scratch& scratch) {
  auto rings = adapters::nccl::read_rings(scratch.path());
  REQUIRE(rings.processes.size() == 1);
  return rings.processes.front();
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
