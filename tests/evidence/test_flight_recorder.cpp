#include <algorithm>
#include <fstream>
#include <sstream>

#include "adapters/evidence/dumped_job.h"
#include "adapters/evidence/flight_recorder.h"
#include "adapters/evidence/pickle.h"
#include "doctest/doctest.h"
#include "processes.h"

using namespace tocsin::adapters::evidence;
using namespace tocsin::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using tocsin::adapters::formats::Json;

namespace {

const fs::path recorded = fs::path{TOCSIN_SOURCE_DIR} / "tests/evidence/dumps";

std::string bytes(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16));
  return out;
}

// {"a": [1, -1, 70000, 2.5, None, True, False, -2**40, "é", b"raw"], "b": (1,), "c": (), "d": {"x": {}},
//  "e": [pair, pair], "f": (1, 2, 3, 4), 7: "number"}, by protocol 4; of protocol 2 without the bytes.
const char* const plain =
    "80049589000000000000007d94288c0161945d94284b014affffffff4a701101004740040000000000004e88898a060000000000ff8c02c3a9"
    "94430372617794658c0162944b0185948c016394298c0164947d948c0178947d94738c0165945d94288c0130948c0a64656661756c745f7067"
    "9486946810658c016694284b014b024b034b0474944b078c066e756d62657294752e";
const char* const older =
    "80027d71002858010000006171015d7102284b014affffffff4a701101004740040000000000004e88898a060000000000ff5802000000c3a9"
    "71036558010000006271044b0185710558010000006371062958010000006471077d710858010000007871097d710a73580100000065710b5d"
    "710c28580100000030710d580a00000064656661756c745f7067710e86710f680f655801000000667110284b014b024b034b047471114b0758"
    "060000006e756d6265727112752e";

// The dump of a rank: what each of its groups has launched and completed, and its open calls as group, number,
// function.
struct Open {
  std::string group;
  std::uint64_t number;
  std::string function;
  bool pairwise = false;
};
struct Counts {
  std::string group, members;
  std::uint64_t launched, completed;
};

FlightDump dump_of(std::uint32_t rank, const std::vector<Counts>& counts, const std::vector<Open>& open) {
  Json in{{"version", "2.5"}, {"pg_config", Json::object()}, {"pg_status", Json::object()}, {"entries", Json::array()}};
  for (const Counts& group : counts) {
    in["pg_config"][group.group] = {{"name", group.group}, {"desc", "GROUP"}, {"ranks", group.members}};
    in["pg_status"][group.group] = {{"last_enqueued_collective", group.launched},
                                    {"last_started_collective", -1},
                                    {"last_completed_collective", group.completed}};
  }
  std::int64_t time = 1'000'000'000'000;
  for (const Open& call : open)
    in["entries"].push_back({{"pg_id", std::stoi(call.group)},
                             {"process_group", {call.group, "GROUP"}},
                             {"profiling_name", "nccl:" + call.function},
                             {call.pairwise ? "p2p_seq_id" : "collective_seq_id", call.number},
                             {"is_p2p", call.pairwise},
                             {"state", "scheduled"},
                             {"retired", false},
                             {"time_created_ns", time += 1'000'000'000}});
  const auto dump = read_flight_dump(in.dump(), rank);
  REQUIRE(dump);
  return *dump;
}

std::vector<std::uint32_t> free_ranks(const DumpedJob& job) {
  std::vector<std::uint32_t> out;
  for (const DumpedRank& rank : job.ranks)
    if (!rank.waits) out.push_back(rank.rank);
  return out;
}

}  // namespace

TEST_CASE("a pickle of plain values is read, of each protocol, with what stands in it twice") {
  const auto value = read_pickle(bytes(plain));
  REQUIRE(value);
  CHECK(value->dump() ==
        R"({"a":[1,-1,70000,2.5,null,true,false,-1099511627776,"é","raw"],"b":[1],"c":[],"d":{"x":{}},)"
        R"("e":[["0","default_pg"],["0","default_pg"]],"f":[1,2,3,4],"7":"number"})");
  Json without_bytes = *value;
  without_bytes["a"].erase(9);
  CHECK(*read_pickle(bytes(older)) == without_bytes);
}

TEST_CASE("a pickle that would run something is refused, with the place") {
  // {"entries": [os.system("touch …")]} of protocols 2 and 4, and one of protocol 0.
  const auto two = read_pickle(bytes(
      "80027d71005807000000656e747269657371015d710263706f7369780a73797374656d0a71035812000000746f756368202f746d702f652f"
      "70776e6564710485710552710661732e"));
  REQUIRE_FALSE(two);
  CHECK(two.error().message == "not a pickle of plain values: byte 22: it imports something");
  const auto four = read_pickle(bytes(
      "8004953d000000000000007d948c07656e7472696573945d948c05706f736978948c0673797374656d9493948c12746f756368202f746d70"
      "2f652f70776e6564948594529461732e"));
  REQUIRE_FALSE(four);
  CHECK(four.error().message.ends_with("it imports something"));
  CHECK_FALSE(read_pickle(bytes("286470300a2e")));
  for (const char opcode : {'R', 'i', 'o', 'b', '\x81', '\x92', '\x82', 'P', 'Q'})
    CHECK_FALSE(read_pickle(std::string{"\x80\x02]", 3} + opcode + "."));
}

TEST_CASE("whatever is cut off or changed in a pickle gives an error or a value, and nothing else") {
  const std::string whole = bytes(plain);
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(read_pickle(whole.substr(0, size)));
  std::size_t read = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      read += read_pickle(changed) ? 1 : 0;
    }
  CHECK(read >= whole.size());  // at least those that are as they were
}

TEST_CASE("a value that contains itself, or that grows without end, is refused") {
  CHECK_FALSE(read_pickle(bytes("80025d71006800612e")));
  std::string laughs = "\x80\x02X\x01", end;
  laughs += std::string(3, '\0') + "yq" + '\0';
  for (int i = 1; i < 60; ++i)
    laughs +=
        std::string{"(h"} + static_cast<char>(i - 1) + "h" + static_cast<char>(i - 1) + "tq" + static_cast<char>(i);
  // Each tuple but the last lies below the next: one value is left.
  std::string one = "\x80\x02](" + laughs.substr(2) + "e.";
  CHECK_FALSE(read_pickle(one));
}

TEST_CASE("dumps of PyTorch are read as pickles and as JSON alike") {
  const auto pickles = read_flight_dumps({recorded}), json = read_flight_dumps({recorded / "json"});
  CHECK(pickles.problems.empty());
  CHECK(json.problems.empty());
  REQUIRE(pickles.dumps.size() == 3);
  REQUIRE(json.dumps.size() == 3);
  for (const auto* dumps : {&pickles.dumps, &json.dumps}) {
    const FlightDump& first = dumps->front();
    CHECK(first.groups.at("0").launched == 6);
    CHECK(first.groups.at("0").completed == 5);
    CHECK(first.groups.at("1").launched == 1);
    REQUIRE(first.calls.size() == 7);
    CHECK(first.calls.back().function == "all_reduce");
    CHECK(first.calls.back().number == 6);
    CHECK(first.calls.back().open);
    CHECK(first.calls.back().arguments == "[7] Float");
    CHECK_FALSE(first.calls.front().open);
  }
  CHECK(pickles.dumps.front().calls.back().place == "<module> (fr.py:8)");
}

TEST_CASE("of the dumps of a job the rank that has not entered is named, and who waits for it") {
  const DumpedJob job = join_dumps(read_flight_dumps({recorded}).dumps);
  CHECK(job.world_size == 3);
  CHECK(free_ranks(job) == std::vector<std::uint32_t>{2});
  CHECK(text_of(job) ==
        "all_reduce 6 of group 0, [7] Float, in <module> (fr.py:8): ranks 0, 1 wait, rank 2 has not entered\n");
  CHECK(job.ranks[0].collectives.launched == 7);
  CHECK(job.ranks[2].collectives.launched == 6);
}

TEST_CASE("a rank whose open calls the others have completed waits for nobody") {
  // Rank 0 has a GPU that stands still: its calls 5 and 6 stay open, and it never comes to 7, where the others wait.
  const std::string all = "[0, 1, 2]";
  const DumpedJob job = join_dumps({dump_of(0, {{"0", all, 6, 4}}, {{"0", 5, "all_to_all"}, {"0", 6, "all_to_all"}}),
                                    dump_of(1, {{"0", all, 7, 6}}, {{"0", 7, "all_to_all"}}),
                                    dump_of(2, {{"0", all, 7, 6}}, {{"0", 7, "all_to_all"}})});
  CHECK(free_ranks(job) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a receive that was posted long ago does not excuse a rank that others lack") {
  const DumpedJob job = join_dumps({dump_of(0, {{"0", "[0, 1]", 4, 4}}, {{"1", 9, "recv 0<-3", true}}),
                                    dump_of(1, {{"0", "[0, 1]", 5, 4}}, {{"0", 5, "all_reduce"}})});
  CHECK(free_ranks(job) == std::vector<std::uint32_t>{0});
  // Where nobody is missing in a collective, it is what the rank waits in.
  const DumpedJob pipeline = join_dumps({dump_of(0, {{"0", "[0, 1]", 4, 4}}, {{"1", 9, "recv 0<-3", true}})});
  CHECK(free_ranks(pipeline).empty());
  CHECK(pipeline.ranks[0].collectives.oldest->function == "recv");
}

TEST_CASE("ranks that call different functions at one place wait, and so do all where a call does not complete") {
  const DumpedJob mismatch = join_dumps({dump_of(0, {{"0", "[0, 1]", 5, 4}}, {{"0", 5, "all_reduce"}}),
                                         dump_of(1, {{"0", "[0, 1]", 5, 4}}, {{"0", 5, "broadcast"}})});
  CHECK(free_ranks(mismatch).empty());
  const DumpedJob incomplete = join_dumps({dump_of(0, {{"0", "[0, 1]", 5, 4}}, {{"0", 5, "all_reduce"}}),
                                           dump_of(1, {{"0", "[0, 1]", 5, 4}}, {{"0", 5, "all_reduce"}})});
  CHECK(free_ranks(incomplete).empty());
  CHECK(text_of(incomplete).ends_with("ranks 0, 1 wait\n"));
}

TEST_CASE("the records of a dumped job are what the recorder writes of one that runs") {
  const std::string lines = lines_of(join_dumps(read_flight_dumps({recorded}).dumps), "hung", 2s);
  std::istringstream in{lines};
  std::vector<Json> records;
  for (std::string line; std::getline(in, line);) records.push_back(Json::parse(line));
  CHECK(records.front()["event"] == "start");
  CHECK(records.front()["world_size"] == 3);
  std::map<int, Json> last;
  for (const Json& record : records)
    if (record.contains("values")) last[record["rank"].get<int>()] = record["values"];
  CHECK(last.at(0)["collective_function"] == "all_reduce");
  CHECK(last.at(0)["collective_number"] == 6);
  CHECK(last.at(0)["collective_waiting"].get<double>() >= 2);
  CHECK(last.at(2)["collective_waiting"] == 0.0);
  CHECK_FALSE(last.at(2).contains("collective_function"));
}

TEST_CASE("of what dumps remember the last minute is recorded, and a call without a time is no time") {
  FlightDump dump = dump_of(0, {{"0", "[0, 4294967295]", 6, 4}}, {{"0", 5, "all_reduce"}, {"0", 6, "all_reduce"}});
  dump.calls.front().created = tocsin::stream::Time{};
  dump.calls.back().created += 100h;
  const DumpedJob job = join_dumps({dump});
  CHECK(job.world_size == 1);  // no job has 4 billion ranks
  CHECK(job.end - job.begin < 61s);
  CHECK(job.ranks[0].since == job.end);
}

TEST_CASE("a file that is no dump, is torn, or has no rank in its name is left out with its reason") {
  const Scratch scratch;
  scratch.file("dump_0.json", R"({"pg_status": {}, "entries": []})");
  scratch.file("dump_1.json", R"({"pg_status": {}, "entries": [)");
  scratch.file("dump_2", "\x80\x02");
  scratch.file("dump_3", "[]");
  scratch.file("trace_0", R"({"entries": []})");
  scratch.file("other_4.txt", "");
  const auto read = read_flight_dumps({scratch.path()});
  CHECK(read.dumps.size() == 1);
  REQUIRE(read.problems.size() == 4);
  CHECK(read.problems[1].find("cut off") != std::string::npos);
  CHECK(read.problems[3].find("another dump of rank 0") != std::string::npos);
  scratch.file("noname", R"({"entries": []})");
  CHECK(read_flight_dumps({scratch.path() / "noname"}).problems.front().find("no rank") != std::string::npos);
  CHECK(read_flight_dumps({"/nowhere/at/all_1"}).problems.size() == 1);
}

TEST_CASE("a dump with members of odd kinds is read as far as it goes") {
  for (const char* text :
       {R"({"entries": {}, "pg_status": [], "pg_config": 3})", R"({"entries": [1, null, {}]})",
        R"({"entries": [{"process_group": [], "collective_seq_id": "x", "time_created_ns": -5, "input_sizes": 1}]})",
        R"({"entries": [], "pg_config": {"0": {"ranks": "[0, 99999999999999, -1, x]"}}, "pg_status": {"0": 3}})"}) {
    const auto dump = read_flight_dump(text, 0);
    CHECK_MESSAGE(dump, text);
    if (dump) CHECK(join_dumps({*dump}).ranks.size() == 1);
  }
}
