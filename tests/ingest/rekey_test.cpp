// Records of a message as entries of jobs.
#include "adapters/ingest/rekey.h"

#include "tests/ingest/collected.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::ingest::Rekeyer;
using adapters::ingest::Translator;

TEST_CASE("each job of a message gets one entry that names its source, and the same message makes the same entries") {
  Collected beyond;
  Rekeyer rekeyer{beyond};
  auto translator = Translator::make(source("prometheus_text"));
  REQUIRE(translator);
  const std::string message =
      "a{job_id=\"x\"} 1\na{job_id=\"y\"} 2\nb{job_id=\"x\"} 3\na{job_id=\"x\",attempt=\"2\"} 4\nlost 1\n";
  std::vector<std::vector<std::byte>> first;
  for (int round = 0; round < 2; ++round) {
    rekeyer.begin("metrics/3", 1000, arrival);
    translator->read(message, arrival, rekeyer);
    REQUIRE(rekeyer.entries() == 3);
    schemas::Decoder decoder;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto bytes = schemas::encode(rekeyer.entry(i));
      if (round == 0) first.push_back(bytes);
      CHECK(first[i] == bytes);
      const auto entry = decoder.decode(bytes, {}, {}, arrival);
      REQUIRE(entry);
      CHECK((*entry)->subject == (i == 1 ? "y" : "x"));
      CHECK((*entry)->attempt == (i == 2 ? "2" : ""));
      CHECK((*entry)->origin_source == "metrics/3");
      CHECK((*entry)->origin_offset == (i == 2 ? 16001u : 16000u));
      CHECK((*entry)->arrival == arrival);
      CHECK((*entry)->samples.size() == (i == 0 ? 2 : 1));
    }
  }
  CHECK(beyond.problems.size() == 2);
}

TEST_CASE(
    "the end of one attempt and the start of the next have entries of their own, also where they come in one message") {
  Collected beyond;
  Rekeyer rekeyer{beyond};
  auto translator = Translator::make(source("slurm_jobcomp"));
  REQUIRE(translator);
  rekeyer.begin("slurm/0", 1000, arrival);
  translator->read(R"([{"jobid":7,"state":"RUNNING","nodes":"n1"},{"jobid":8,"state":"RUNNING"},
    {"jobid":7,"state":"REQUEUED","@end":"x"},{"jobid":7,"state":"RUNNING","nodes":"n2"},{"jobid":7,"state":"COMPLETED","@end":"x"},
    {"jobid":7,"state":"COMPLETED","@end":"x"}])",
                   arrival, rekeyer);
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < rekeyer.entries(); ++i) {
    const auto& entry = rekeyer.entry(i);
    entries.push_back(fmt::format("{} {}:", entry.origin_offset, entry.subject));
    for (const auto& event : entry.events) entries.back() += fmt::format(" {}", event.name);
  }
  CHECK(entries ==
        std::vector<std::string>{"16000 7: start end", "16000 8: start", "16001 7: start end", "16002 7: end"});
  CHECK(beyond.problems.empty());
}

TEST_CASE("what would make an entry too large is left out and reported") {
  Collected beyond;
  Rekeyer rekeyer{beyond};
  auto translator = Translator::make(source("influx"));
  std::string many, jobs;
  for (std::size_t i = 0; i < Rekeyer::most_records + 5; ++i) many += "a,job_id=1 b" + std::to_string(i) + "=1\n";
  rekeyer.begin("t/0", 1, arrival);
  translator->read(many, arrival, rekeyer);
  CHECK(rekeyer.entries() == 1);
  CHECK(beyond.problems.size() == 5);
  const auto bytes = schemas::encode(rekeyer.entry(0));
  schemas::Decoder decoder;
  const auto entry = decoder.decode(bytes, {}, {}, arrival);
  REQUIRE(entry);
  CHECK((*entry)->rejected_blocks == 0);

  beyond.problems.clear();
  for (std::size_t i = 0; i < Rekeyer::most_jobs + 3; ++i) jobs += "a,job_id=" + std::to_string(i) + " b=1\n";
  rekeyer.begin("t/0", 2, arrival);
  translator->read(jobs, arrival, rekeyer);
  CHECK(rekeyer.entries() == Rekeyer::most_jobs);
  CHECK(beyond.problems.size() == 3);
}

TEST_CASE("the unit of a mapping travels with the values") {
  Collected beyond;
  Rekeyer rekeyer{beyond};
  auto mapped = source("influx");
  mapped.signals = {{"a_b", "gpu_memory_used MiB"}};
  auto translator = Translator::make(mapped);
  rekeyer.begin("t/0", 1, arrival);
  translator->read("a,job_id=1 b=1", arrival, rekeyer);
  REQUIRE(rekeyer.entries() == 1);
  CHECK(rekeyer.entry(0).samples[0].signals[0].unit == "MiB");
  CHECK(rekeyer.entry(0).samples[0].signals[0].name == "gpu_memory_used");
}
