// Answers of NCCL's RAS, of a fake one that speaks as NCCL 2.24 to 2.32 do.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "adapters/nccl/ras.h"
#include "doctest/doctest.h"
#include "fake_ras.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::nccl::ask_ras, adapters::nccl::parse_ras, stream::Errc, test::FakeRas, test::RasManners;

namespace {

std::string json_rank(int rank, int pid, int all_reduces) {
  return "        {\n          \"rank\": " + std::to_string(rank) +
         ",\n          \"host\": \"10.0.0.7\",\n          \"pid\": " + std::to_string(pid) +
         ",\n          \"cuda_dev\": 0,\n          \"nvml_dev\": 0,\n          \"status\": {\n"
         "            \"init_state\": 0,\n            \"async_error\": 0,\n            \"finalize_called\": false,\n"
         "            \"destroy_flag\": false,\n            \"abort_flag\": false\n          },\n"
         "          \"collective_counts\": {\n            \"Broadcast\": 2,\n            \"AllReduce\": " +
         std::to_string(all_reduces) + "\n          }\n        }";
}

// As 2.28 writes it (without the comma after nvml_dev of a missing rank, until 2.28.9) and later.
std::string json(int pid, bool comma = true) {
  return "{\n  \"nccl_version\": \"2.28.9\",\n  \"cuda_runtime_version\": 13000,\n  \"cuda_driver_version\": 13000,\n"
         "  \"timestamp\": \"2026-11-26 12:00:00\",\n  \"communicators_count\": 1,\n  \"communicators\": [\n    {\n"
         "      \"hash\": \"0x27a079b828ff1a75\",\n      \"secondary_hash\": \"0x1:0x2\",\n      \"size\": 3,\n"
         "      \"ranks_count\": 2,\n      \"missing_ranks_count\": 1,\n      \"ranks\": [\n" +
         json_rank(0, pid, 1841) + ",\n" + json_rank(1, pid + 1, 1840) +
         "\n      ],\n      \"missing_ranks\": [\n        {\n          \"rank\": 2,\n          \"host\": "
         "\"10.0.0.8\",\n"
         "          \"pid\": 77,\n          \"cuda_dev\": 0,\n          \"nvml_dev\": 0" +
         std::string{comma ? "," : ""} +
         "\n          \"status\": {\n            \"unresponsive\": true,\n            \"considered_dead\": false\n"
         "          }\n        }\n      ]\n    }\n  ],\n  \"ras\": {\n    \"collection_time_sec\": 0.012,\n"
         "    \"timeouts_count\": 0\n  }\n}\n";
}

const std::string text_begin =
    "NCCL version 2.27.3 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 13000\n\n"
    "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"
    "(total)   per node  per process    (total)  (total)\n      2          4            1          8        8\n\n"
    "Communicators... (0.01s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         2         4         8         8   RUNNING  INCOMPLETE,MISMATCH\n\n";
const std::string text =
    text_begin +
    "Errors\n======\n\nINCOMPLETE\n  Missing communicator data from 1 job process\n"
    "  Process 3487984 on node 10.0.0.8 managing GPU 5\n\n"
    "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
    "  Process 3487985 on node 10.0.0.8 managing GPU 6\n\n"
    "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    "  Rank 5 -- GPU 5 managed by process 3487984 on node 10.0.0.8\n\n"
    "Warnings\n========\n\n"
    "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
    "  6 ranks have launched up to operation 6650\n"
    "  Rank 3 has launched up to operation 6649 -- GPU 3 managed by process 483072 on node 10.0.0.7\n"
    "  Communicator ranks have different Broadcast operation counts\n"
    "  5 ranks have launched up to operation 2\n  2 ranks have not launched any operations\n"
    "  Rank 1 -- GPU 1 managed by process 483070 on node 10.0.0.7\n"
    "  Rank 3 -- GPU 3 managed by process 483072 on node 10.0.0.7\n\n";

// Of two ranks on one H100 (bench/nccl/on_gpu.py).
stream::Result<adapters::nccl::RasStatus> recorded(const std::string& name) {
  std::ifstream file{TOCSIN_SOURCE_DIR "/tests/nccl/recorded/" + name};
  return parse_ras(std::string{std::istreambuf_iterator<char>{file}, {}});
}

bool anyone(pid_t, const std::string&) { return true; }
auto with_pid(pid_t pid) {
  return [pid](pid_t other, const std::string&) { return other == pid; };
}

}  // namespace

TEST_CASE("JSON gives each rank's counts and who is missing") {
  for (const bool comma : {true, false}) {  // false: 2.28.7 to 2.28.9
    CAPTURE(comma);
    FakeRas ras{[&](int) { return RasManners{.json = true, .answer = json(500, comma)}; }};

    const auto status = ask_ras(ras.address(), 5s, anyone);

    REQUIRE(status);
    CHECK(status->nccl_version == "2.28.9");
    CHECK(status->complete);
    REQUIRE(status->communicators.size() == 1);
    const auto& it = status->communicators[0];
    CHECK(it.hash == 0x27a079b828ff1a75);
    CHECK(it.size == 3);
    REQUIRE(it.ranks.size() == 3);
    CHECK(it.ranks[0].launched.at("all_reduce") == 1841);
    CHECK(it.ranks[1].launched.at("all_reduce") == 1840);
    CHECK(it.ranks[1].status == "RUNNING");
    CHECK(it.ranks[2].missing);
    CHECK(it.ranks[2].unresponsive);
    CHECK(!it.ranks[2].dead);
    CHECK(it.differing.size() == 1);
    CHECK(it.differing.at("all_reduce").at(1840) == 1);
  }
}

TEST_CASE("text gives the ranks that differ, by function, and the processes that do not answer") {
  FakeRas ras{[&](int) { return RasManners{.json = false, .answer = text, .in_pieces = true}; }};

  const auto status = ask_ras(ras.address(), 5s, with_pid(483072));

  REQUIRE(status);
  CHECK(status->nccl_version == "2.27.3");
  CHECK(!status->complete);
  REQUIRE(status->unresponsive.size() == 1);
  CHECK(status->unresponsive[0].pid == 3487984);
  REQUIRE(status->dead.size() == 1);
  CHECK(status->dead[0].host == "10.0.0.8");
  REQUIRE(status->communicators.size() == 1);
  const auto& it = status->communicators[0];
  CHECK(it.hash == 0x27a079b828ff1a75);
  REQUIRE(it.ranks.size() == 3);
  CHECK(it.ranks[0].rank == 5);
  CHECK(it.ranks[0].unresponsive);
  CHECK(it.ranks[1].rank == 3);
  CHECK(it.ranks[1].pid == 483072);
  CHECK(it.ranks[1].launched.at("all_reduce") == 6649);
  CHECK(it.ranks[1].launched.at("broadcast") == 0);
  CHECK(it.ranks[2].launched.at("broadcast") == 0);
  CHECK(it.differing.at("all_reduce").at(6650) == 6);
}

TEST_CASE("text of NCCL 2.24 has one count of all functions") {
  const auto status =
      parse_ras(text_begin +
                "Warnings\n========\n\n#0-0 (00000000000000aa) MISMATCH\n"
                "  Communicator ranks have different collective operation counts\n"
                "  7 ranks have launched up to operation 12\n"
                "  Rank 2 has launched up to operation 11 -- GPU 2 managed by process 9 on node 10.0.0.7\n");
  REQUIRE(status);
  REQUIRE(status->communicators.size() == 1);
  CHECK(status->communicators[0].hash == 0xaa);
  CHECK(status->communicators[0].ranks[0].launched.at("") == 11);
}

TEST_CASE("recorded answers of NCCL 2.30.7 name the rank that is late and the one that is stopped") {
  for (const std::string form : {"json", "txt"}) {
    CAPTURE(form);
    const auto late = recorded("ras-late." + form), stopped = recorded("ras-stopped." + form);
    REQUIRE(late);
    REQUIRE(stopped);
    CHECK(late->nccl_version == "2.30.7");
    const auto& counts = late->communicators.at(0);
    CHECK(counts.hash == 0x6c686249328c7a38);
    CHECK(counts.differing.at("all_reduce") == std::map<std::uint64_t, std::uint32_t>{{40, 1}, {44, 1}});
    CHECK(counts.ranks.at(1).launched.at("all_reduce") == 40);
    CHECK(counts.ranks.at(1).pid == 606);
    const auto& missing = stopped->communicators.at(0).ranks.back();
    CHECK(missing.rank == 1);
    CHECK(missing.pid == 606);
    CHECK(missing.missing);
    CHECK(missing.unresponsive);
    CHECK(!missing.dead);
  }
}

TEST_CASE("of several jobs at one port the one with our processes is taken, and a stopped process is passed over") {
  FakeRas ras{[](int connection) {
    RasManners manners{.json = true, .answer = json(connection == 2 ? 900 : 500)};
    manners.silent = connection == 0;
    return manners;
  }};

  const auto status = ask_ras(ras.address(), 10s, with_pid(901));

  REQUIRE(status);
  CHECK(status->communicators[0].ranks[1].pid == 901);
}

TEST_CASE("an answer for another job is not ours") {
  FakeRas ras{[](int) { return RasManners{.json = true, .answer = json(500)}; }};
  const auto status = ask_ras(ras.address(), 5s, with_pid(4));
  REQUIRE(!status);
  CHECK(status.error().message.find("answers for another job") != std::string::npos);
}

TEST_CASE("an answer that is cut off, or is not RAS's, is an error that says so") {
  FakeRas cut{[](int) { return RasManners{.json = true, .answer = json(500), .cut = 700}; }};
  FakeRas garbage{[](int) { return RasManners{.json = true, .answer = "\x01\x02 nothing\n"}; }};
  FakeRas web{[](int) { return RasManners{.greeting = "HTTP/1.1 400 Bad Request\n"}; }};
  FakeRas nothing{[](int) { return RasManners{.json = true, .answer = ""}; }};
  CHECK(ask_ras(cut.address(), 2s, anyone).error().code == Errc::malformed);
  CHECK(ask_ras(garbage.address(), 2s, anyone).error().code == Errc::malformed);
  CHECK(ask_ras(web.address(), 2s, anyone).error().message.find("is not RAS") != std::string::npos);
  CHECK(ask_ras(nothing.address(), 2s, anyone).error().code == Errc::torn);
  CHECK(ask_ras("127.0.0.1:1", 2s, anyone).error().code == Errc::not_found);
  CHECK(ask_ras("127.0.0.1:nonsense", 2s, anyone).error().code == Errc::not_found);
}

TEST_CASE("text that is cut off is used as far as it goes, and is not complete") {
  const auto status = parse_ras(text.substr(0, text.find("Warnings")));
  REQUIRE(status);
  CHECK(!status->complete);
  CHECK(status->communicators.size() == 1);
}

TEST_CASE("answers with random bytes in them never do harm") {
  std::mt19937_64 random{test::seed()};
  for (const std::string& whole : {json(500), json(500, false), text})
    for (int i = 0; i < 2000; ++i) {
      std::string changed = whole.substr(0, random() % (whole.size() + 1));
      for (int n = static_cast<int>(random() % 8); n > 0 && !changed.empty(); --n)
        changed[random() % changed.size()] = static_cast<char>(random());
      (void)parse_ras(changed);
    }
}
