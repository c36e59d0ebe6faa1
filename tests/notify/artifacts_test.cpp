#include "adapters/notify/artifacts.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/scratch.h"

using namespace tocsin;
using namespace tocsin::adapters::notify;

TEST_CASE("files of the job within the budget are attached, and the rest is listed by name and size") {
  const test::Scratch scratch;
  scratch.file("llama/a.log", std::string(100, 'a'));
  scratch.file("llama/b.log", std::string(100, 'b'));
  scratch.file("llama/large.bin", std::string(500, 'c'));
  scratch.file("bert/a.log", "another job");
  ::mkfifo((scratch / "llama/pipe.log").c_str(), 0600);
  for (const auto& [name, age] : {std::pair{"llama/a.log", 2}, {"llama/b.log", 1}})
    std::filesystem::last_write_time(scratch / name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours{age});
  Receiver receiver;
  receiver.artifacts = {(scratch / "{job}/*.log").string(), (scratch / "{job}/*").string(),
                        (scratch / "{job}/*.trace").string()};
  receiver.artifact_size = 300, receiver.artifacts_size = 150;

  const auto artifacts = gather_artifacts(receiver, "llama");

  REQUIRE(artifacts.size() == 4);
  const auto named = [&](const std::string& end) {
    return *std::find_if(artifacts.begin(), artifacts.end(),
                         [&](const Artifact& one) { return one.name.ends_with(end); });
  };
  CHECK(named("b.log").content == std::string(100, 'b'));  // the newer one
  CHECK(named("a.log").left_out == "100 B, more than 150 B for all files");
  CHECK(named("large.bin").left_out == "500 B, more than 300 B for one file");
  CHECK(named("*.trace").left_out == "there is no such file");
}

TEST_CASE("a job's name leads to no other directory") {
  const test::Scratch scratch;
  scratch.file("secret.log", "secret");
  scratch.file("jobs/x/out.log", "x");
  Receiver receiver;
  receiver.artifacts = {(scratch / "jobs/{job}/*.log").string()};
  for (const char* job : {"..", "../", "*", "../jobs/x"})
    for (const Artifact& one : gather_artifacts(receiver, job)) CHECK(one.content.empty());
}
