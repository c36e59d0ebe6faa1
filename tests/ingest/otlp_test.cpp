// OpenTelemetry's messages, in protobuf and in JSON.
#include <bit>

#include "tests/ingest/collected.h"

using namespace tocsin::tests;

namespace {

// The wire format, as an exporter writes it.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string fixed(unsigned field, std::uint64_t value) {
  return varint(field << 3 | 1) + std::string{reinterpret_cast<const char*>(&value), sizeof value};
}
std::string message(unsigned field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string pair(unsigned field, const std::string& key, const std::string& value) {
  return message(field, message(1, key) + message(2, message(1, value)));
}
std::string resource() { return message(1, pair(1, "k8s.job.name", "llm") + pair(1, "host.name", "n1")); }
std::string metrics(const std::string& all) { return message(1, message(2, all) + resource()); }

constexpr std::uint64_t before = 1'789'999'998'000'000'000;

}  // namespace

TEST_CASE("gauges and sums of protobuf become samples, with the labels of their resource behind their own") {
  const std::string gauge = message(
      2, message(1, "loss") + message(5, message(1, fixed(3, before) + fixed(4, std::bit_cast<std::uint64_t>(2.5)) +
                                                        pair(7, "rank", "3"))));
  const std::string sum = message(
      2, message(1, "sent") + message(7, number(2, 2) + number(3, 1) +
                                             message(1, fixed(6, 7) + pair(7, "host.name", "n2") +
                                                            message(7, message(1, "gpu") + message(2, number(3, 4))))));
  const auto made = collect(source("otlp_metrics"), metrics(gauge + sum));
  CHECK(made.records == Lines{"1 llm r3 n1: loss=2.5 @-2", "2 llm n2 4: sent=7"});
  CHECK(made.problems.empty());
}

TEST_CASE("differences are refused, distributions and unrecorded points are no samples") {
  const std::string delta = message(2, message(1, "sent") + message(7, message(1, fixed(6, 7)) + number(2, 1)));
  const std::string histogram = message(2, message(1, "h") + message(9, ""));
  const std::string stale = message(2, message(1, "g") + message(5, message(1, fixed(6, 7) + number(8, 1))));
  const auto made = collect(source("otlp_metrics"), metrics(delta + histogram + stale));
  CHECK(made.records.empty());
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0].find("1 unsupported: the value is a difference (temporality delta)") == 0);
  CHECK(made.unwanted_values == 2);
}

TEST_CASE("logs of protobuf become lines, from a text or from a map") {
  const std::string text = message(2, fixed(1, before) + message(5, message(1, "step 1")) + pair(6, "rank", "0"));
  const std::string map = message(2, fixed(11, before) + message(5, message(6, pair(1, "log", "step 2\nstep 3"))));
  const auto made = collect(source("otlp_logs"),
                            message(1, resource() + message(2, text + map + message(2, message(5, message(6, ""))))));
  CHECK(made.records == Lines{"1 llm r0 n1: step 1 @-2", "2 llm n1: step 2 @-2", "2 llm n1: step 3 @-2"});
  CHECK(made.problems ==
        Lines{"3 malformed: a record of a log whose body is neither a text nor a map with one (option text)"});
}

TEST_CASE("protobuf that is cut short is refused as a whole, at every cut") {
  const std::string gauge =
      message(2, message(1, "loss") +
                     message(5, message(1, fixed(4, std::bit_cast<std::uint64_t>(2.5)) + pair(7, "rank", "3"))));
  const std::string whole = metrics(gauge + gauge);
  CHECK(collect(source("otlp_metrics"), whole).records.size() == 2);
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const auto cut = collect(source("otlp_metrics"), std::string_view{whole}.substr(0, length));
    CHECK(cut.records.empty());
    CHECK(cut.problems.size() == 1);
  }
  CHECK(
      collect(source("otlp_metrics"), "\x0f\x01").problems.front().find("1 malformed: not an OTLP protobuf message") ==
      0);
  CHECK(collect(source("otlp_metrics"), std::string(11, '\xff')).problems.size() == 1);
}

TEST_CASE("values nested deeply are skipped, and bytes that are no UTF-8 are read") {
  std::string nested = message(1, "deep");
  for (int i = 0; i < 1'000; ++i) nested = message(5, message(1, nested));  // arrays of arrays
  const std::string record = message(5, message(1, "a\xff")) + message(6, message(1, "x") + message(2, nested));
  const auto made = collect(source("otlp_logs"), message(1, resource() + message(2, message(2, record))));
  CHECK(made.records == Lines{"1 llm n1: a\xff"});
  CHECK(made.problems.empty());
  for (const std::size_t depth : {900, 100'000}) {
    const std::string json = std::string(depth, '[') + std::string(depth, ']');
    const auto deep = collect(source("otlp_logs"), R"({"resourceLogs":[{"other":)" + json + "}]}");
    CHECK(deep.problems.size() == (depth == 900 ? 0 : 1));
  }
}

TEST_CASE("protobuf of any length is not taken for JSON, nor JSON behind a newline for protobuf") {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string log = message(2, message(2, message(5, message(1, std::string(length, 'x')))));
    const auto made = collect(source("otlp_logs"), message(1, resource() + log));
    CAPTURE(length);
    CHECK(made.problems.empty());
    CHECK(made.records.size() == (length == 0 ? 0 : 1));
    const std::string json =
        R"({"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"job_id","value":{"intValue":12}}],"body":)"
        R"({"stringValue":")" +
        std::string(length, 'x') + "\"}}]}]}]}";
    for (const char* blanks : {"\n", "\n ", "\r\n"})
      CHECK(collect(source("otlp_logs"), blanks + json).problems.empty());
  }
}

TEST_CASE("OpenTelemetry's JSON means the same") {
  const auto made =
      collect(source("otlp_metrics"),
              R"({"resourceMetrics":[{"resource":{"attributes":[{"key":"k8s.job.name","value":{"stringValue":"llm"}},
{"key":"host.name","value":{"stringValue":"n1"}}]},"scopeMetrics":[{"metrics":[
{"name":"loss","gauge":{"dataPoints":[{"timeUnixNano":"1789999998000000000","asDouble":2.5,"attributes":[{"key":"rank","value":{"intValue":"3"}}]}]}},
{"name":"sent","sum":{"aggregationTemporality":2,"dataPoints":[{"asInt":"7"}]}},
{"name":"delta","sum":{"aggregationTemporality":"AGGREGATION_TEMPORALITY_DELTA","dataPoints":[{"asInt":"7"}]}},
{"name":"h","histogram":{"dataPoints":[{}]}},{"gauge":{}}]}]}]})");
  CHECK(made.records == Lines{"1 llm r3 n1: loss=2.5 @-2", "2 llm n1: sent=7"});
  REQUIRE(made.problems.size() == 2);
  CHECK(made.problems[0].find("3 unsupported") == 0);
  CHECK(made.problems[1].find("4 malformed: a metric needs a name") == 0);
  CHECK(made.unwanted_values == 1);
  const auto logs = collect(source("otlp_logs"), R"( {"resourceLogs":[{"resource":{},"scopeLogs":[{"logRecords":[
{"observedTimeUnixNano":"1789999999000000000","body":{"stringValue":"a"},"attributes":[{"key":"job_id","value":{"intValue":12}}]},
{"body":{"kvlistValue":{"values":[{"key":"message","value":{"stringValue":"b"}},{"key":"job_id","value":{"stringValue":"x"}}]}}}]}]}]})");
  CHECK(logs.records == Lines{"1 12: a @-1", "2 x: b"});
  const auto typed = collect(source("otlp_logs"), R"({"resourceLogs":[{"scopeLogs":7}]})").problems;
  REQUIRE(typed.size() == 1);
  CHECK(typed[0].find("1 malformed: not an OTLP message in JSON: ") == 0);
  CHECK(typed[0].find("resource_logs[0].scope_logs") != std::string::npos);
  CHECK(collect(source("otlp_logs"), R"({"resourceLogs": [ ]})").problems.empty());
  CHECK(collect(source("otlp_logs"), "{}").problems ==
        Lines{"1 malformed: no 'resourceLogs': not an OTLP message in JSON"});
}

TEST_CASE("a job of Slurm that is resized has not ended") {
  const auto made = collect(
      source("slurm_jobcomp"),
      R"({"jobid":41,"nodes":"n[1-2]","state":"RESIZING","@start":"2026-09-21T14:13:20","@end":"2026-09-21T15:13:20"})");
  CHECK(made.records.empty());
  CHECK(made.problems == Lines{"1 unsupported: the job gets other nodes, and goes on"});
}

TEST_CASE("Slurm's records of jobs become their starts and ends") {
  const auto made = collect(
      source("slurm_jobcomp"),
      R"({"jobid":41,"username":"ann","job_name":"llm","partition":"gpu","nodes":"n[1-2]","state":null,"@start":"2026-09-21T14:13:20"}
{"jobid":41,"state":"NODE_FAIL","exit_code":"1:9","@end":"2026-09-21T14:13:20","alloc_node":"login"}
{"jobid":42,"state":"CANCELLED by 100","exit_code":"0:15","@end":"2026-09-21T14:13:18Z"}
{"jobid":43,"state":"SPECIAL_EXIT"}
{"state":"COMPLETED"}
{"jobid":44,"state":"PENDING","exit_code":"0:0","@start":"2026-09-21T14:00:00","@end":"2026-09-21T14:13:00","nodes":"n1"})");
  CHECK(
      made.records ==
      Lines{"1 41: start labels.name='llm' labels.user='ann' labels.partition='gpu' labels.nodes='n[1-2]' of scheduler",
            "2 41: end reason='node_fail' code=1 signal=9 of scheduler",
            "3 42: end reason='cancelled' code=0 signal=15 of scheduler @-2", "4 43: end reason='unknown' of scheduler",
            "6 44: end reason='requeued' code=0 of scheduler"});
  CHECK(made.problems == Lines{"5 malformed: no 'jobid': this is not a record of Slurm's jobcomp"});
}
