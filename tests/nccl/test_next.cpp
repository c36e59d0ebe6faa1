// Another plugin behind ours gets what it would get from NCCL, in the interface that it has.

#include <fstream>
#include <iterator>
#include <string>

#include "adapters/nccl/reader.h"
#include "doctest/doctest.h"
#include "played.h"

using namespace tocsin;
using test::Player, test::Scratch;

namespace {

std::string plugin(int version) { return OTHER_PLUGINS "/libother-" + std::to_string(version) + ".so"; }

// A process of NCCL whose next plugin is `next`, with the events of `mask`; `more` settings.
struct Chain {
  explicit Chain(int version, const std::string& next, const std::string& mask,
                 const std::vector<std::string>& more = {})
      : rank{version, environment(next, mask, more)} {}

  std::vector<std::string> environment(const std::string& next, const std::string& mask,
                                       const std::vector<std::string>& more) {
    std::vector<std::string> result = more;  // the first setting of a name counts
    for (const std::string& it :
         {"TOCSIN_NCCL_DIR=" + scratch.path().string(), "TOCSIN_NCCL_NEXT=" + next, "OTHER_RECORD=" + record().string(),
          "OTHER_MASK=" + mask, std::string{"TOCSIN_NCCL_KERNELS=1"}})
      result.push_back(it);
    return result;
  }
  [[nodiscard]] std::filesystem::path record() const { return scratch.path() / "record"; }
  [[nodiscard]] std::string recorded() const {
    std::ifstream file{record()};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  Scratch scratch;
  Player rank;
};

constexpr std::string_view plays =
    "comm world 7d 4 1\n coll world a AllReduce 64 1\n begin a 0\n finish a 0\n"
    "proxy a out 3 2 send 8\n run out\n step out 0\n state out 0 8\n done out 0\n finalize world\n";

}  // namespace

TEST_CASE("the next plugin hears what it asked for, in each pair of interfaces, and our own record is the same") {
  for (const int nccl : {4, 5, 6})
    for (const int other : {4, 5, 6}) {
      CAPTURE(nccl);
      CAPTURE(other);
      Chain chain{nccl, plugin(other), "2"};  // operations alone
      CHECK(chain.rank.play("comm world 7d 4 1\n").find("events go on to the plugin other") != std::string::npos);
      CHECK(chain.rank.play("mask\n") == "94");
      chain.rank.play("coll world a AllReduce 64 1\n begin a 0\n finish a 0\n");

      const auto seen = adapters::nccl::read_rings(chain.scratch.path()).processes.at(0).collectives();
      CHECK(seen.launched == 1);
      CHECK(seen.done == 1);
      // Interfaces 5 and 6 announce the calls around it; the group is the parent in 4.
      const bool calls = nccl >= 5 && other >= 5;
      const std::string with_calls =
          "init 100: 7d world 1 4 1\n"
          "start 1: type 256 in 100 of 0\nstart 2: type 512 in 100 of 1\nstop 2\nstop 1\n"
          "start 3: type 1 in 100 of 0\nstart 4: type 2 in 100 of 2 AllReduce 64 group 3\nstop 4\nstop 3\n";
      const std::string without =
          std::string{"init 100: 7d world 1 4 1\nstart 1: type 1 in 100 of 0\nstart 2: type 2 in 100 of "} +
          (other == 4 ? "1 AllReduce 64 group 0" : "0 AllReduce 64 group 1") + "\nstop 2\nstop 1\n";
      CHECK(chain.recorded() == (calls ? with_calls : without));
    }
}

TEST_CASE("the next plugin's handles are the parents that it gets") {
  Chain chain{6, plugin(6), "94"};  // operations, kernels, the proxy's operations and steps
  chain.rank.play(plays);
  const std::string is = chain.recorded();
  const auto there = [&](const char* line) { return is.find(line) != std::string::npos; };
  CHECK(there("start 4: type 2 in 100 of 2 AllReduce 64 group 3"));
  CHECK(there("start 5: type 64 in 100 of 4 channel 0\nstate 5: 22\nstop 5\n"));
  CHECK(there("start 6: type 8 in 100 of 4 peer 2 of own\nstate 6: 19\n"));
  CHECK(there("start 7: type 16 in 100 of 6\nstate 7: 8\nstop 7\nfinalize 100\n"));
}

TEST_CASE("the next plugin gets no address of another process, and a graph's calls stay parents") {
  Chain chain{6, plugin(6), "94"};
  chain.rank.play(
      "comm world 7d 4 1\n coll world a AllReduce 64 1\n proxy a out 3 2 send 8 4711\n"
      "coll world g AllReduce 64 1 captured\n replay world g r1\n");
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "coll world b AllReduce 64 1\n";
  chain.rank.play(lines + "replay world g r2\n");
  const std::string is = chain.recorded();
  CHECK(is.find("start 5: type 8 in 100 of 0 peer 2 of another") != std::string::npos);
  CHECK(is.find("start 9: type 2 in 100 of 7 AllReduce 64 group 8") != std::string::npos);
  CHECK(is.find("of 7 AllReduce 64 group 410") != std::string::npos);
}

TEST_CASE("a plugin that asks for more later gets it") {
  Chain chain{6, plugin(6), "1", {"OTHER_ASKS_LATER=1"}};
  chain.rank.play("comm world 7d 4 1\n coll world a AllReduce 64 1\n coll world b AllReduce 64 1\n");
  CHECK(chain.rank.play("mask\n") == std::to_string(94 | 32));
}

TEST_CASE("a next plugin that refuses, is missing or is ours leaves the rest as it is") {
  for (const std::string& next :
       {plugin(6), std::string{"/nowhere.so"}, std::string{"nowhere"}, std::string{NCCL_PLUGIN}}) {
    CAPTURE(next);
    Chain chain{6, next, "2", {"OTHER_REFUSES=1"}};
    chain.rank.play(plays);
    CHECK(chain.recorded().empty());
    CHECK(adapters::nccl::read_rings(chain.scratch.path()).processes.at(0).collectives().launched == 1);
  }
}

TEST_CASE("without a record of ours the next plugin alone is served") {
  Chain chain{6, plugin(6), "2", {"TOCSIN_NCCL_DIR=/nowhere"}};
  CHECK(chain.rank.play("comm world 7d 4 1\n").find("nothing is recorded") != std::string::npos);
  CHECK(chain.rank.play("mask\n") == "2");
  chain.rank.play("coll world a AllReduce 64 1\n");
  CHECK(chain.recorded().find("AllReduce") != std::string::npos);
}
