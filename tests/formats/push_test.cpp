#include "adapters/formats/push.h"

#include <doctest/doctest.h>

#include <map>

#include "adapters/formats/json_lines.h"
#include "schemas/codec.h"
#include "tests/schemas/entries.h"

using namespace tocsin;
using namespace tocsin::adapters::formats;
using namespace tocsin::tests;

namespace {

const stream::Time noon = at(1'795'608'000);

PushSettings settings(std::string job = {}) {
  PushSettings all;
  all.job = std::move(job);
  all.now = noon;
  return all;
}

std::string problem(std::string_view text, const PushSettings& with = settings("llama")) {
  const auto pushed = read_push(text, with);
  return pushed ? "" : pushed.error().message;
}

// The entries as they are read from the log.
struct Read {
  std::string job, attempt, producer, lines;
  std::uint64_t sequence = 0;
};
std::vector<Read> read(const Pushed& pushed) {
  std::vector<Read> all;
  for (const PushedEntry& one : pushed.entries) {
    schemas::Decoder decoder;
    const auto entry = decoder.decode(one.message, {}, {}, noon);
    REQUIRE_MESSAGE(entry, entry.error().message);
    CHECK(one.job == (*entry)->subject);
    all.push_back({one.job, std::string{(*entry)->attempt}, std::string{(*entry)->producer}, to_json(**entry),
                   (*entry)->sequence});
  }
  return all;
}

}  // namespace

TEST_CASE(
    "lines of several jobs become an entry for each, with the address' job and the time of the push where a line has "
    "none") {
  const auto pushed = read_push(R"({"rank":0,"values":{"loss":2.5}}

{"job":"other","t":1795607999,"rank":1,"line":"step 3"}
{"rank":1,"event":"xid","code":79}
)",
                                settings("llama"));
  REQUIRE(pushed);
  CHECK(pushed->records == 3);
  CHECK(pushed->jobs == 2);
  const auto all = read(*pushed);
  REQUIRE(all.size() == 2);
  CHECK(all[0].job == "llama");
  CHECK(all[0].lines.find(R"("loss")") != std::string::npos);
  CHECK(all[0].lines.find("1795608000") != std::string::npos);
  CHECK(all[0].lines.find(R"("xid")") != std::string::npos);
  CHECK(all[1].job == "other");
  CHECK(all[1].lines.find("1795607999") != std::string::npos);
  CHECK(all[1].lines.find("step 3") != std::string::npos);
}

TEST_CASE("a push with a wrong line is refused whole, with the line and what to write instead") {
  CHECK(problem("{\"rank\":0,\"values\":{\"loss\":1}}\n{\"rank\":0,\"valeus\":{\"loss\":1}}\n")
            .starts_with("line 2: says nothing: it needs one of "));
  CHECK(problem("\n\n{\"control\":\"seal\"}") == "line 3: control records are the log's own: leave them out");
  CHECK(problem("{\"signal\":\"loss\",\"value\":1}", settings()) ==
        "line 1: no job: name it in the line (\"job\": …) or in the address (?job=…)");
  CHECK(problem("nonsense").starts_with("line 1: no JSON"));
  CHECK(problem("") == "no record: post JSON lines, one object a line");
  CHECK(problem(" \r\n\n") == "no record: post JSON lines, one object a line");
}

TEST_CASE("entries of one numbered push differ in their producer, so that none counts as another's repetition") {
  PushSettings numbered = settings("llama");
  numbered.producer = "sidecar", numbered.sequence = 7;
  const auto pushed = read_push(R"({"attempt":"a","rank":0,"signal":"loss","value":1}
{"attempt":"a","rank":1,"signal":"loss","value":1}
{"attempt":"b","rank":0,"signal":"loss","value":2}
{"attempt":"a","rank":0,"signal":"loss","value":3}
{"job":"other","signal":"loss","value":4}
)",
                                numbered);
  REQUIRE(pushed);
  std::vector<std::string> entries;
  for (const Read& one : read(*pushed)) {
    entries.push_back(one.job + " " + one.attempt + " " + one.producer);
    CHECK(one.sequence == 7);
  }
  // Of each job in the order of its lines.
  CHECK(entries ==
        std::vector<std::string>{"llama a sidecar#1", "llama b sidecar#2", "llama a sidecar#3", "other  sidecar#1"});
  CHECK(read(*read_push("{\"line\":\"x\"}", settings("llama")))[0].producer.empty());
}

TEST_CASE("a producer whose name looks like that of another's second entry is not taken for it") {
  PushSettings one = settings("llama"), other = settings("llama");
  one.producer = "a", one.sequence = 5;
  other.producer = "a#2", other.sequence = 5;
  const auto two = read(*read_push("{\"attempt\":\"x\",\"line\":\"1\"}\n{\"attempt\":\"y\",\"line\":\"2\"}", one));
  const auto third = read(*read_push("{\"attempt\":\"y\",\"line\":\"3\"}", other));
  REQUIRE(two.size() == 2);
  REQUIRE(third.size() == 1);
  for (const Read& entry : two) CHECK(entry.producer != third[0].producer);
}

TEST_CASE("a start begins an entry, an end ends one, and records keep their order in it") {
  const auto pushed = read_push(R"({"rank":0,"line":"step 9"}
{"event":"end","reason":"failed"}
{"event":"start","world_size":2}
{"event":"member","rank":0,"node":"n1"}
{"rank":0,"line":"step 10"}
{"rank":0,"event":"xid","code":79}
{"rank":0,"event":"exit","code":1}
{"event":"end","code":1}
{"event":"end","code":1}
)",
                                settings("llama"));
  REQUIRE(pushed);
  std::vector<std::string> entries;
  for (const Read& one : read(*pushed)) {
    std::map<std::size_t, std::string> kinds;  // by their place
    for (const char* kind : {"step 9", "step 10", "start", "member", "xid", "exit", "\"end\""})
      if (const auto at = one.lines.find(kind); at != one.lines.npos) kinds[at] = kind;
    std::string in_order;
    for (const auto& [at, kind] : kinds) in_order += (in_order.empty() ? "" : " ") + kind;
    entries.push_back(in_order);
  }
  CHECK(entries == std::vector<std::string>{"step 9 \"end\"", "start member step 10 xid exit \"end\"", "\"end\""});
}

TEST_CASE("short records that take much room in an entry are spread over several, not refused") {
  std::string fields, text;
  for (int i = 0; i < 900; ++i) fields += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":1";
  for (int i = 0; i < 40; ++i) text += "{\"event\":\"a\",\"" + std::string(250, 'p') + "\":{" + fields + "}}\n";
  const auto pushed = read_push(text, settings("llama"));
  CHECK_MESSAGE(pushed, pushed.error().message);
  if (!pushed) return;
  CHECK(pushed->records == 40);
  std::string lines;
  for (const Read& one : read(*pushed)) lines += one.lines;
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 40);
}

TEST_CASE("a push of many lines becomes several entries, and no line is lost or too long for the log") {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += "{\"rank\":" + std::to_string(i % 8) + ",\"line\":\"line " + std::to_string(i) +
            " of many, some of it long\"}\n";
  const auto pushed = read_push(text, settings("llama"));
  REQUIRE(pushed);
  CHECK(pushed->records == 20'000);
  CHECK(pushed->jobs == 1);
  CHECK(pushed->entries.size() > 1);
  CHECK(pushed->entries.size() < 6);
  std::string lines;
  for (const Read& one : read(*pushed)) lines += one.lines;
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 20'000);
  CHECK(lines.find("line 19999 of many") != std::string::npos);
  CHECK(problem("{\"line\":\"" + std::string(2'100'000, 'x') + "\"}\n") ==
        "a record of job llama takes more than 2 MB: write shorter ones");
}

TEST_CASE("parameters that nobody knows, and half a number, are refused") {
  const auto wrong = [](std::map<std::string, std::string> query) {
    const auto read = push_settings(query, noon);
    return read ? "" : read.error().message;
  };
  CHECK(wrong({{"job", "llama"}}) == "");
  CHECK(wrong({{"producer", "p"}, {"sequence", "1"}}) == "");
  CHECK(wrong({{"jop", "llama"}}) == "unknown parameter 'jop': job, producer and sequence are known");
  CHECK(wrong({{"producer", "p"}}) == "producer and sequence belong together: write both, or neither");
  CHECK(wrong({{"sequence", "1"}}) == "producer and sequence belong together: write both, or neither");
  for (const char* number : {"0", "-1", "1.5", "x", "99999999999999999999"})
    CHECK(wrong({{"producer", "p"}, {"sequence", number}}) ==
          "sequence: '" + std::string{number} + "' is not a whole number of 1 or more");
  CHECK(wrong({{"job", "llama \xF0\x9F\xA6\x99"}}) == "");
  CHECK(wrong({{"job", "llama\xFF"}}) == "job: not UTF-8");
  CHECK(wrong({{"job", ""}}) == "job: write 1 to 255 bytes, or leave it out");
}
