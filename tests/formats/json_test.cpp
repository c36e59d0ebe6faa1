#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/alerts.h"
#include "adapters/formats/json.h"
#include "adapters/formats/json_lines.h"
#include "adapters/formats/printable.h"
#include "stream/values/record.h"
#include "stream/values/value.h"
#include "tests/schemas/entries.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::adapters::formats;
using namespace tocsin::tests;

namespace {

std::string problem(std::string_view line) {
  JsonReader reader;
  const auto record = reader.read(line);
  return record ? "" : record.error().message;
}

// Lines to an entry, and back to lines.
std::string there_and_back(const std::string& lines) {
  JsonReader reader;
  schemas::EntryBuilder builder;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    const auto record = reader.read(std::string_view{lines}.substr(begin, end - begin));
    INFO(lines.substr(begin, end - begin));
    REQUIRE_MESSAGE(record, record.error().message);
    if (!(*record)->job.empty()) builder.about((*record)->job, (*record)->attempt);
    (*record)->add_to(builder, (*record)->time.value_or(stream::Time{}));
    begin = end + 1;
  }
  const auto message = schemas::encode(builder.entry());
  schemas::Decoder decoder;
  return to_json(**decoder.decode(message, {}, {}, at(1'700'000'000)));
}

}  // namespace

TEST_CASE("times are read in each of the forms that people write") {
  const auto ns = [](const char* line) {
    JsonReader reader;
    const auto record = reader.read(std::string{"{\"line\":\"\",\"t\":"} + line + "}");
    REQUIRE_MESSAGE(record, line);
    return stream::nanoseconds(*(*record)->time);
  };
  CHECK(ns("1700000000") == 1'700'000'000'000'000'000);
  CHECK(ns("1700000000.5") == 1'700'000'000'500'000'000);
  CHECK(ns("1700000000.123457") == 1'700'000'000'123'457'000);
  CHECK(ns("1700000000123") == 1'700'000'000'123'000'000);
  CHECK(ns("1700000000123456") == 1'700'000'000'123'456'000);
  CHECK(ns("1700000000123456789") == 1'700'000'000'123'456'789);
  CHECK(ns("0") == 0);
  CHECK(ns("1.5") == 1'500'000'000);
  CHECK(ns("\"2023-11-14T22:13:20Z\"") == 1'700'000'000'000'000'000);
  CHECK(ns("\"2023-11-14T23:13:20.000000001+01:00\"") == 1'700'000'000'000'000'001);
  CHECK(ns("\"2023-11-14 17:43:20.5-04:30\"") == 1'700'000'000'500'000'000);
  for (const char* line :
       {"\"2023-11-14T23:13:20,5+0100\"", "\"2023-11-14 23:13:20,5+01\"", "\"2023-11-14T17:43:20.5-0430\""})
    CHECK_MESSAGE(ns(line) == 1'700'000'000'500'000'000, line);
  for (const char* line : {"\"2023-11-14T22:13:20,Z\"",
                           "\"2023-11-14T22:13:20+1\"",
                           "\"2023-11-14T22:13:20+01:\"",
                           "\"2023-11-14T22:13:20+010\"",
                           "\"2023-11-14T22:13:20+01000\"",
                           "\"2023-11-14T22:13:20+2400\"",
                           "\"2023-11-14T22:13:20+01-1\"",
                           "\"2023-11-14T22:13:20,5\"",
                           "\"2023-11-14T22:13:20\"",
                           "\"2023-02-29T00:00:00Z\"",
                           "\"yesterday\"",
                           "null",
                           "1e300",
                           "\"\"",
                           "[]",
                           "9e10",
                           "\"2023-11-14T25:00:00Z\"",
                           "\"9999-01-01T00:00:00Z\"",
                           "18446744073709551615",
                           "-9223372036854775808e3"})
    CHECK_MESSAGE(problem(std::string{"{\"line\":\"\",\"t\":"} + line + "}") != "", line);
}

TEST_CASE(
    "a time before 1970 or after 2116 is that edge, as a log holds it, so that no clock that is made of it overflows") {
  for (const char* early : {"-1.5", "-9223372036854775808", "\"1969-12-31T23:59:59Z\"", "\"1700-01-01T00:00:00Z\""})
    CHECK_MESSAGE(
        (*JsonReader{}.read(std::string{R"({"line":"","t":)"} + early + "}"))->time == stream::at_nanoseconds(0),
        early);
  for (const char* late : {"9223372036854775807", "9.1e18", "\"2116-02-21T00:00:00Z\"", "\"2261-12-31T23:59:59Z\""})
    CHECK_MESSAGE((*JsonReader{}.read(std::string{R"({"line":"","t":)"} + late + "}"))->time == stream::source_ended,
                  late);
}

TEST_CASE("an entry as JSON lines reads back as the same records") {
  const std::string lines =
      "{\"t\":1700000000000000000,\"job\":\"j\",\"attempt\":\"2\",\"rank\":0,\"source\":\"log\",\"values\":{\"loss\":2."
      "31,\"step\":"
      "16777217}}\n"
      "{\"t\":1700000000000000000,\"job\":\"j\",\"attempt\":\"2\",\"rank\":1,\"source\":\"log\",\"values\":{\"loss\":"
      "\"NaN\",\"step\":null}"
      "}\n"
      "{\"t\":1700000001000000000,\"job\":\"j\",\"attempt\":\"2\",\"node\":\"n1\",\"gpu\":\"3\",\"values\":{\"state\":"
      "\"D\",\"x\":\"-inf\"}"
      "}\n"
      "{\"t\":1700000001000000000,\"job\":\"j\",\"attempt\":\"2\",\"line\":\"a \\u0000 \\\"quoted\\\" \\\\ é\\n "
      "b\",\"stream\":\"stderr\"}\n"
      "{\"t\":\"1971-01-01T00:00:00.000000001Z\",\"job\":\"j\",\"attempt\":\"2\",\"node\":\"n1\",\"line\":\"\","
      "\"source\":\"kernel_log\"}\n"
      "{\"t\":1700000001000000000,\"job\":\"j\",\"attempt\":\"2\",\"rank\":3,\"event\":\"exit\",\"signal\":9,\"text\":"
      "\"x\"}\n"
      "{\"t\":1700000001000000000,\"job\":\"j\",\"attempt\":\"2\",\"event\":\"start\",\"world_size\":8,\"labels.user\":"
      "\"ann\"}\n";
  CHECK(there_and_back(lines) == lines);
  const std::string coverage =
      "{\"t\":1700000000000000000,\"job\":\"j\",\"coverage\":\"log\",\"ranks\":[0,1,5],\"nodes\":[\"n1\"]}\n"
      "{\"t\":1700000000000000000,\"job\":\"j\",\"coverage\":\"scheduler\"}\n"
      "{\"t\":1700000000000000000,\"control\":\"beat\"}\n"
      "{\"t\":1700000000000000000,\"control\":\"watermark\",\"source\":\"raw/0\",\"read_up_to\":1699999999000000000}\n"
      "{\"t\":1700000000000000000,\"control\":\"watermark\",\"source\":\"raw/0\",\"read_up_to\":1699999999000000000,"
      "\"gap_from\":1699999900000000000}\n"
      "{\"t\":1700000000000000000,\"control\":\"pack\",\"hash\":\"ab\",\"from\":1700000003000000000,\"text\":\"x\"}\n"
      "{\"t\":1700000000000000000,\"control\":\"seal\"}\n";
  CHECK(there_and_back(coverage) == coverage);
}

TEST_CASE("names that stand twice in a record, and nodes and GPUs that are covered, read back as the same records") {
  const std::string at = R"({"t":1700000000000000000,"job":"j",)";
  const std::string twice = at + R"("rank":0,"values":{"loss":2,"step":1,"loss":1}})" + "\n";
  CHECK(there_and_back(twice) == twice);
  const std::string end = at + R"("event":"end","code":1,"code":0})" + "\n";
  CHECK(there_and_back(end) == end);
  for (const char* member : {R"("rank":0,"node":"n",)", R"("node":"n","gpu":"0",)"}) {
    const std::string coverage = at + member + R"("coverage":"log"})" + "\n";
    CHECK(there_and_back(coverage) == coverage);
  }
}

TEST_CASE("everything that a builder can say survives JSON, but for what JSON lines have no key for") {
  schemas::EntryBuilder builder;
  fill_with_everything(builder);
  const std::string once = to_json(builder.entry());
  JsonReader reader;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < once.size(); begin = once.find('\n', begin) + 1, ++lines) {
    const auto line = once.substr(begin, once.find('\n', begin) - begin);
    const auto record = reader.read(line);
    CHECK_MESSAGE(record, line, " ", record ? "" : record.error().message);
  }
  CHECK(lines == 4 + 2 + 1 + 4 + 2 + 2 + 4);
}

TEST_CASE("nested labels become fields with a dot, deeper things JSON text") {
  JsonReader reader;
  const auto record = reader.read(
      R"({"t":1,"event":"start","labels":{"user":"ann","deep":{"a":[1, 2]}},"list":[1, 2],"none":null,"ok":true})");
  REQUIRE(record);
  const auto& fields = (*record)->fields;
  REQUIRE(fields.size() == 4);
  CHECK(fields[0].name == "labels.user");
  CHECK(fields[1].name == "labels.deep");
  CHECK(fields[1].text == R"({"a":[1,2]})");
  CHECK(fields[2].text == "[1,2]");
  CHECK(fields[3].number == 1);
}

TEST_CASE("each wrong line is refused with what is wrong and what to write instead") {
  const std::pair<const char*, const char*> lines[] = {
      {R"({"line":"x"})", "no 't'"},
      {R"({"t":1})", "says nothing"},
      {R"({"t":1,"line":"x","signal":"y"})", "write a line for each"},
      {R"({"t":1,"line":"x","rnak":3})", "unknown key 'rnak'"},
      {R"({"t":1,"line":"x","rank":-1})", "'rank' must be"},
      {R"({"t":1,"line":"x","rank":1.5})", "'rank' must be"},
      {R"({"t":1,"line":"x","rank":4294967295})", "'rank' must be"},
      {R"({"t":1,"line":"x","gpu":1})", "'gpu' without 'node'"},
      {R"({"t":1,"line":5})", "'line' must be a text"},
      {R"({"t":1,"line":"x","stream":"out"})", "stdout or stderr"},
      {R"({"t":1,"signal":"loss"})", "without 'value'"},
      {R"({"t":1,"signal":"loss","value":[1]})", "must be a number"},
      {R"({"t":1,"values":{}})", "not empty"},
      {R"({"t":1,"values":3})", "must be an object"},
      {R"({"t":1,"coverage":"log","ranks":5})", "'ranks' must be a list"},
      {R"({"t":1,"coverage":"log","ranks":["a"]})", "'ranks' must be a list"},
      {R"({"control":"halt"})", "beat, seal"},
      {R"({"t":1,"event":""})", "1 to 255"},
      {R"({"control":"pack","hash":"","from":5})", "'hash' and 'from'"},
      {"[1,2]", "no JSON object"},
      {"{\"t\":1,", "no JSON"},
      {"nonsense", "no JSON"},
      {"{\"t\":1,\"line\":\"\xff\"}", "UTF-8"},
      {"{\"t\":1,\"line\":\"\0\"}", "no JSON"},
      {R"({"t":1,"signal":"x","value":1e999})", "no JSON"},
  };
  for (const auto& [line, expected] : lines) {
    const std::string reported = problem(line);
    CHECK_MESSAGE(reported.find(expected) != std::string::npos, line, " reported: ", reported);
  }
}

TEST_CASE("lines of ten megabytes are read, longer ones than the limit refused") {
  const auto line = [](std::size_t size) { return R"({"t":1,"line":")" + std::string(size, 'x') + "\"}"; };
  CHECK(problem(line(10'000'000)) == "");
  CHECK(problem(line(longest_json_line)).find("MiB") != std::string::npos);
  CHECK(problem(std::string(10'000'000, '[')).find("no JSON") != std::string::npos);
}

TEST_CASE("random damage to a line never crashes the reader") {
  const std::string line = R"({"t":1700000000.5,"job":"j","rank":3,"values":{"loss":2.5,"state":"R","none":null}})";
  std::mt19937 random{tocsin::test::seed(20240817)};
  JsonReader reader;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = line.substr(0, random() % 4 == 0 ? random() % line.size() : line.size());
    for (auto flips = random() % 4; flips-- > 0 && !damaged.empty();)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto record = reader.read(damaged);
    if (!record) CHECK(record.error().message != "");
  }
}

TEST_CASE("what is written of bytes that are no UTF-8 is valid JSON, with replacement characters for them") {
  const std::string text = dump("a\xff\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80\xc0\xaf\x01");
  CHECK(text == "\"a\uFFFD\u00e9\uFFFD\uFFFD\uFFFD\U0001F600\uFFFD\uFFFD\\u0001\"");
}

TEST_CASE("a whole number has no fraction, and what is no number of JSON is a text") {
  const Json numbers{json_number(100000),    json_number(-0.5), json_number(1e300), json_number(NAN),
                     json_number(-INFINITY), json_number(0),    json_number(-0.0)};
  CHECK(dump(numbers) == R"([100000,-0.5,1e+300,"NaN","-inf",0,-0.0])");
}

TEST_CASE("an alert is one JSON line with its id as sixteen digits") {
  stream::AlertTransition alert;
  alert.id = 0xABC;
  alert.number = 2;
  alert.rule = "straggler";
  alert.family = "D3";
  alert.family_words = "a slow rank";
  alert.subject = "llama";
  alert.attempt = "1";
  alert.member = {stream::Level::rank, 3, "n1", "0000:17:00.0", ""};
  alert.who = {alert.member, {stream::Level::node, {}, "n2", "", ""}};
  alert.state = stream::AlertState::resolved;
  alert.reason = stream::ResolveReason::no_data;
  alert.since = stream::at_nanoseconds(5);
  alert.at = stream::at_nanoseconds(7);
  alert.summary = "slow";
  alert.shows = "rank 3 \"slow\"";
  alert.implies = {{"compute", "slow chip"}};
  alert.actions = {"drain n1"};
  alert.not_known = "why (sm_clock would show it)";
  alert.cannot_decide = {"throttled"};
  alert.evidence = {{"d", 1.5}, {"u", stream::absent}, {"z", std::nan("")}};
  alert.evidence_texts = {{"state", "D"}};
  CHECK(
      alert_to_json(alert) ==
      R"x({"id":"0000000000000abc","number":2,"rule":"straggler","family":"D3","family_words":"a slow rank","severity":"warning","mode":"live","subject":"llama",)x"
      R"x("attempt":"1","member":{"level":"rank","rank":3,"node":"n1","gpu":"0000:17:00.0"},"who":[3,"n2"],"state":"resolved",)x"
      R"x("reason":"no data","explained_by":"","at":7,"since":5,"summary":"slow","shows":"rank 3 \"slow\"",)x"
      R"x("implies":[{"cause":"compute","text":"slow chip"}],"actions":["drain n1"],"not_known":"why (sm_clock would show it)",)x"
      R"x("cannot_decide":["throttled"],"evidence":{"d":1.5,"u":null,"z":"NaN","state":"D"},)x"
      R"x("form":{"what":"slow (D3, a slow rank)","who":"rank 3 on n1, GPU 0000:17:00.0; node n2; job llama, attempt 1",)x"
      R"x("since":"1970-01-01 00:00:00 UTC","seen":"rank 3 \"slow\"","likely":"slow chip","do":"drain n1",)x"
      R"x("not known":"why (sm_clock would show it)",)x"
      R"x("more":"tocsin explain JOURNAL --rule straggler --rank 3 --job llama --at 1970-01-01T00:00:00.000000007Z"}})x");
}

TEST_CASE("a verdict is one JSON line") {
  stream::Verdict verdict;
  verdict.subject = "llama";
  verdict.attempt = "1";
  verdict.ended = stream::at_nanoseconds(9);
  verdict.family = "C2";
  verdict.family_words = "a hang in a collective";
  verdict.quarantined = {"r (site.lua:3: it failed)"};
  verdict.end_reason = "timeout";
  verdict.families = {{"C2", stream::Standing::in, {"collective_hang"}, {}, "a hang in a collective"},
                      {"B1", stream::Standing::undecidable, {}, {"gpu_memory_used"}}};
  verdict.shows = {"a"};
  CHECK(
      verdict_to_json(verdict) ==
      R"x({"verdict":{"family":"C2","family_words":"a hang in a collective","end_reason":"timeout","families":[{"family":"C2",)x"
      R"x("words":"a hang in a collective","standing":"in","rules":["collective_hang"],"missing":[]},{"family":"B1","words":"",)x"
      R"x("standing":"undecidable","rules":[],"missing":["gpu_memory_used"]}],"shows":["a"],"cannot_decide":[],)x"
      R"x("quarantined":["r (site.lua:3: it failed)"]},)x"
      R"x("subject":"llama","attempt":"1","ended":9})x");
}

TEST_CASE("an alert says what, who, since when, what was seen, what to do, and what to type for more") {
  stream::AlertTransition alert;
  alert.rule = "rank_stopped";
  alert.family = "C2", alert.family_words = "a hang in a collective";
  alert.subject = "my job", alert.attempt = "2";
  alert.summary = "A rank's process is stopped";
  alert.member.level = stream::Level::job;
  stream::NamedMember culprit{stream::Level::rank, 3, "n3", "", ""};
  culprit.pid = 4711;
  alert.who = {culprit};
  alert.since = stream::at_nanoseconds(1'780'000'000'000'000'000);
  alert.at = alert.since + std::chrono::milliseconds{90'500};
  alert.shows = "stopped";
  alert.actions = {"kill -CONT 4711 on n3"};
  const auto form = alert_form(alert, "/tmp/a run");
  CHECK(form.what == "A rank's process is stopped (C2, a hang in a collective)");
  CHECK(form.who == "rank 3 on n3, pid 4711; job my job, attempt 2");
  CHECK(form.since == "2026-05-28 20:26:40 UTC, reported 91 s later");
  CHECK(form.action == "kill -CONT 4711 on n3");
  CHECK(form.more == "tocsin explain '/tmp/a run' --rule rank_stopped --job 'my job' --at 2026-05-28T20:28:10.5Z");
  CHECK(alert_form(alert).more == "");
  for (const auto& [title, text] : form.parts()) CHECK_MESSAGE(!text.empty(), title);
}

TEST_CASE("what a job wrote cannot steer a terminal, nor a shell") {
  CHECK(printable("a\x1b[2J\rb\nc\x7f\xc2\x9b\xff") == "a\\x1b[2J\\x0db c\\x7f\\x9b\xef\xbf\xbd");
  CHECK(printable("\xe2\x80\xae"
                  "abc é") == "\\u202eabc é");
  CHECK(shell_word("run-1") == "run-1");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a'b $(x)") == "'a'\\''b $(x)'");
  CHECK(shell_word("a\x1b'") == "$'a\\x1b\\''");
  CHECK(shell_word("-x") == "'-x'");
}
