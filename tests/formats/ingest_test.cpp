#include "adapters/formats/ingest.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>

#include "adapters/formats/coverage_spans.h"
#include "adapters/formats/json_lines.h"
#include "adapters/journal/directory.h"
#include "adapters/journal/follow.h"
#include "tests/journal/directory.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace tocsin::adapters::formats;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t epoch = 1'700'000'000;
stream::Time at(std::int64_t second) { return stream::at_nanoseconds((epoch + second) * 1'000'000'000); }

struct Fixture {
  Fixture() { fs::create_directories(directory.path()); }
  fs::path file(const std::string& name, const std::string& content) {
    std::ofstream{directory.path() / name} << content;
    return directory.path() / name;
  }
  // {"t":epoch+second, …}
  static std::string at_second(double second, const std::string& rest) {
    return "{\"t\":" + std::to_string(static_cast<std::int64_t>((static_cast<double>(epoch) + second) * 1000)) +
           ",\"job\":\"j\"," + rest + "}\n";
  }
  IngestSummary ingest(std::vector<fs::path> files, const std::string& to = "journal") {
    IngestSettings settings;
    settings.complain = [&](const std::string& line) { complaints.push_back(line); };
    auto summary = formats::ingest(files, directory.path() / to, settings);
    REQUIRE_MESSAGE(summary, (summary ? "" : summary.error().message));
    return *summary;
  }
  // What was written, as JSON lines by arrival.
  std::vector<std::pair<std::int64_t, std::string>> read(const std::string& to = "journal") {
    std::vector<std::pair<std::int64_t, std::string>> out;
    journal::Follower log{*journal::Reader::open(directory.path() / to)};
    while (const auto* entry = *log.next()) {
      CHECK(entry->rejected_blocks == 0);
      const std::string lines = to_json(*entry);
      for (std::size_t begin = 0; begin < lines.size(); begin = lines.find('\n', begin) + 1)
        out.emplace_back(stream::nanoseconds(entry->arrival) / 1'000'000'000 - epoch,
                         lines.substr(begin, lines.find('\n', begin) - begin));
    }
    CHECK(log.undecodable() == 0);
    return out;
  }
  std::size_t count(const std::string& what, const std::string& to = "journal") {
    std::size_t found = 0;
    for (const auto& [second, line] : read(to)) found += line.find(what) != std::string::npos;
    return found;
  }
  TestDirectory directory;
  std::vector<std::string> complaints;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a beat stands at each second, coverage records at each ten, a seal at the end") {
  std::string lines;
  for (int second = 0; second <= 60; second += 20) lines += at_second(second, R"("rank":1,"line":"x")");
  for (int second = 0; second <= 30; second += 10)
    lines += at_second(second, R"("signal":"sm_active","value":0.5,"rank":1)");
  const auto records = file("a.jsonl", lines);
  std::vector<std::string> in_order;
  const auto summary = ingest({records});
  CHECK(summary.log_lines == 4);
  CHECK(summary.samples == 4);
  CHECK(summary.bad_lines == 0);
  const auto read_back = read();
  CHECK(read_back.back().second.find("seal") != std::string::npos);
  std::map<std::int64_t, int> beats;
  std::map<std::string, std::vector<std::int64_t>> coverage;
  for (const auto& [second, line] : read_back) {
    if (line.find("\"beat\"") != std::string::npos) ++beats[second];
    if (line.find("\"coverage\":\"log\"") != std::string::npos) coverage["log"].push_back(second);
    if (line.find("\"coverage\":\"sampler\"") != std::string::npos) coverage["sampler"].push_back(second);
  }
  for (std::int64_t second = 0; second <= 60; ++second) CHECK(beats[second] == 1);
  CHECK(coverage["log"] == std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60});
  CHECK(coverage["sampler"] == std::vector<std::int64_t>{60});  // its lines stand behind those of the log: one arrival
}

TEST_CASE_FIXTURE(Fixture, "files are merged by time, and the same files give the same bytes") {
  std::string a, b;
  for (int second = 0; second < 30; ++second) {
    a += at_second(second, R"("rank":0,"signal":"loss","value":2)");
    b += at_second(second + 0.5, R"("rank":1,"signal":"loss","value":2)");
  }
  const std::vector files{file("a.jsonl", a), file("b.jsonl", b)};
  ingest(files, "one");
  ingest(files, "two");
  std::int64_t before = -1;
  std::size_t of_one_time = 0;
  for (const auto& [second, line] : read("one")) {
    CHECK(second >= before);
    before = second;
    of_one_time += line.find("\"loss\"") != std::string::npos;
  }
  CHECK(of_one_time == 60);
  const auto segments_one = *journal::segments(directory.path() / "one"),
             segments_two = *journal::segments(directory.path() / "two");
  REQUIRE(segments_one.size() == segments_two.size());
  CHECK(*journal::read_whole(segments_one[0].path) == *journal::read_whole(segments_two[0].path));
}

TEST_CASE_FIXTURE(Fixture, "arrival is the running maximum of event time") {
  const auto records =
      file("a.jsonl", at_second(5, R"("line":"a")") + at_second(2, R"("line":"late")") + at_second(6, R"("line":"b")"));
  ingest({records});
  std::map<std::string, std::int64_t> arrivals;
  for (const auto& [second, line] : read())
    for (const std::string name : {"\"a\"", "\"late\"", "\"b\""})
      if (line.find("\"line\":" + name) != std::string::npos) arrivals[name] = second;
  CHECK(arrivals == std::map<std::string, std::int64_t>{{"\"a\"", 5}, {"\"late\"", 5}, {"\"b\"", 6}});
}

TEST_CASE_FIXTURE(Fixture,
                  "records of one arrival and job share an entry that begins with a start and ends with an end") {
  std::string lines = at_second(0, R"("event":"start","world_size":2)");
  for (int rank = 0; rank < 100; ++rank)
    lines += at_second(0, R"("signal":"loss","value":1,"rank":)" + std::to_string(rank));
  lines += at_second(0, R"("event":"end","reason":"completed")");
  ingest({file("a.jsonl", lines)});
  journal::Follower log{*journal::Reader::open(directory.path() / "journal")};
  std::vector<std::pair<std::size_t, std::size_t>> shapes;  // events and samples of entries with records
  while (const auto* entry = *log.next()) {
    std::size_t samples = 0;
    for (const auto& block : entry->samples) samples += block.size();
    if (!entry->events.empty() || samples != 0) shapes.emplace_back(entry->events.size(), samples);
  }
  CHECK(shapes == std::vector<std::pair<std::size_t, std::size_t>>{{2, 100}});
}

TEST_CASE_FIXTURE(Fixture, "records of one arrival stand in the order of their file, in one entry or in several") {
  const std::string records[] = {R"("rank":0,"line":"loss 3")",
                                 R"("rank":0,"values":{"step":7})",
                                 R"("rank":0,"line":"loss 2")",
                                 R"("rank":0,"event":"xid","code":1)",
                                 R"("event":"member","rank":1,"node":"n1")",
                                 R"("rank":0,"values":{"step":8})"};
  for (const bool between : {false, true}) {
    CAPTURE(between);
    std::string lines;
    for (const std::string& record : records) {
      lines += at_second(0, record);
      if (between)
        lines += R"({"t":1700000000000,"job":"other","rank":0,"line":"x"})"
                 "\n";
    }
    const std::string to = between ? "apart" : "together";
    ingest({file("a.jsonl", lines)}, to);
    std::vector<std::string> found;
    for (const auto& [second, line] : read(to))
      for (const char* what : {"loss 3", "\"step\":7", "loss 2", "xid", "member", "\"step\":8"})
        if (line.find(what) != std::string::npos) found.push_back(what);
    CHECK(found == std::vector<std::string>{"loss 3", "\"step\":7", "loss 2", "xid", "member", "\"step\":8"});
    CHECK(count("\"line\":\"loss 3\"", to) == 1);
  }
}

TEST_CASE_FIXTURE(
    Fixture,
    "the end of one attempt and the start of the next have entries of their own, also where they come at one time") {
  ingest({file(
      "a.jsonl",
      at_second(0, R"("event":"start","world_size":2)") + at_second(0, R"("event":"member","rank":0,"node":"n1")") +
          at_second(0, R"("event":"end","reason":"failed")") + at_second(0, R"("event":"start","world_size":4)") +
          at_second(0, R"("event":"end","reason":"completed")") + at_second(0, R"("event":"end","reason":"oom")"))});
  journal::Follower log{*journal::Reader::open(directory.path() / "journal")};
  std::vector<std::string> entries;
  while (const auto* entry = *log.next()) {
    std::string names;
    for (const auto& event : entry->events) names += (names.empty() ? "" : " ") + std::string{event.name};
    if (!names.empty()) entries.push_back(names);
  }
  CHECK(entries == std::vector<std::string>{"start member end", "start end", "end"});
}

TEST_CASE_FIXTURE(
    Fixture, "an attempt without a name is covered no more from its end to the first record after the next start") {
  std::string lines;
  for (const int begin : {0, 100}) {
    lines += at_second(begin, R"("event":"start")");
    for (const int second : {5, 35}) lines += at_second(begin + second, R"("rank":0,"line":"x")");
    lines += at_second(begin + 40, R"("event":"end","reason":"failed")");
  }
  ingest({file("a.jsonl", lines)});
  std::vector<std::int64_t> covered;
  for (const auto& [second, line] : read())
    if (line.find("\"coverage\"") != std::string::npos) covered.push_back(second);
  CHECK(covered == std::vector<std::int64_t>{5, 10, 20, 30, 105, 110, 120, 130});
}

TEST_CASE_FIXTURE(Fixture,
                  "events and texts of one time that are longer than any entry together are spread over several") {
  std::string lines;
  const std::string text(1'000'000, 'x');
  for (int i = 0; i < 70; ++i) lines += at_second(0, R"("event":"a","b":")" + text + "\"");
  for (int i = 0; i < 70; ++i) lines += at_second(1, R"("signal":"state","value":")" + text + std::to_string(i) + "\"");
  const auto summary = ingest({file("a.jsonl", lines)});
  CHECK(summary.events == 70);
  CHECK(summary.samples == 70);
  CHECK(count("\"event\":\"a\"") == 70);
}

TEST_CASE_FIXTURE(Fixture, "control lines of a file are honoured: none are made beside them") {
  const auto records =
      file("a.jsonl", at_second(0, R"("line":"a","rank":0)") + at_second(1, R"("control":"beat")") +
                          at_second(1, R"("coverage":"log","ranks":[0])") + at_second(9, R"("line":"b","rank":0)") +
                          at_second(9, R"("control":"seal")") + at_second(10, R"("line":"c","rank":0)"));
  // A control record has no job.
  std::string text = *journal::read_whole(records);
  for (std::size_t found; (found = text.find("\"job\":\"j\",\"control\"")) != std::string::npos;) text.erase(found, 10);
  const auto summary = ingest({file("b.jsonl", text)});
  CHECK(summary.made_beats == 0);
  CHECK(summary.made_coverage == 0);
  CHECK(summary.bad_lines == 1);
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].find("b.jsonl:6: ") != std::string::npos);
  CHECK(complaints[0].find("behind the seal") != std::string::npos);
  CHECK(count("\"beat\"") == 1);
  CHECK(count("\"coverage\"") == 1);
  CHECK(count("\"seal\"") == 1);
}

TEST_CASE_FIXTURE(Fixture, "bad lines are reported with file and line, counted, and the rest goes on") {
  const auto summary =
      ingest({file("a.jsonl", "\xEF\xBB\xBF" + at_second(0, R"("line":"a")") + "\n\r\n{oops\n" +
                                  at_second(1, R"("line":"b")") + "{\"t\":5,\"line\":\"no job\"}\n" +
                                  std::string(longest_json_line + 5, 'x') + "\n" + at_second(2, R"("line":"c")"))});
  CHECK(summary.log_lines == 3);
  CHECK(summary.bad_lines == 3);
  REQUIRE(complaints.size() == 3);
  CHECK(complaints[0].find("a.jsonl:4: ") != std::string::npos);
  CHECK(complaints[1].find("--job") != std::string::npos);
  CHECK(complaints[2].find("a.jsonl:7: longer than") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a clock years off moves neither time nor the other records") {
  std::string lines = "{\"t\":0,\"job\":\"j\",\"line\":\"boot\"}\n";
  for (int second = 0; second < 20; ++second) lines += at_second(second, R"("line":"x")");
  lines += "{\"t\":\"2090-01-01T00:00:00Z\",\"job\":\"j\",\"line\":\"ahead\"}\n";
  for (int second = 20; second < 40; ++second) lines += at_second(second, R"("line":"x")");
  const auto summary = ingest({file("a.jsonl", lines)});
  CHECK(summary.clocks_off == 2);
  CHECK(summary.first >= at(-1));
  CHECK(summary.last == at(39));
  CHECK(summary.made_beats <= 42);
}

TEST_CASE_FIXTURE(Fixture, "a pause of weeks is shortened, not filled with beats") {
  const auto summary =
      ingest({file("a.jsonl", at_second(0, R"("line":"a")") + at_second(86400 * 40, R"("line":"b")"))});
  CHECK(summary.skipped_pauses == 1);
  CHECK(summary.made_beats < 27 * 3600);
  CHECK(summary.last == at(86400 * 40));
}

TEST_CASE_FIXTURE(Fixture, "nothing is written over a journal, nor made of nothing") {
  const auto records = file("a.jsonl", at_second(0, R"("line":"a")"));
  ingest({records});
  CHECK(formats::ingest({records}, directory.path() / "journal", {}).error().code == stream::Errc::refused);
  CHECK(formats::ingest({file("empty.jsonl", "")}, directory.path() / "other", {}).error().code ==
        stream::Errc::malformed);
  CHECK_FALSE(fs::exists(directory.path() / "other"));
  CHECK(formats::ingest({"/does/not/exist"}, directory.path() / "other", {}).error().code == stream::Errc::not_found);
  CHECK(formats::ingest({directory.path()}, directory.path() / "other", {}).error().code == stream::Errc::refused);
}

TEST_CASE("jobs that are over cost nothing at the instants after them") {
  CoverageSpans spans;
  const auto key = [](std::int64_t job) {
    CoverageKey owner;
    owner.job = "job-" + std::to_string(job), owner.source = "log";
    return owner;
  };
  constexpr std::int64_t jobs = 1'000;
  for (std::int64_t job = 0; job < jobs; ++job)
    for (const std::int64_t second : {0, 30, 59}) spans.add(key(job), at(60 * job + second));
  for (std::int64_t second = 0; second < 60 * jobs + 100; second += 10) {
    const auto& active = spans.over(at(second));
    const bool covered = second % 60 != 0 && second < 60 * jobs;
    REQUIRE(active.size() == (covered ? 1 : 0));
    if (covered) REQUIRE((*active.begin())->first == key(second / 60));
  }
}
