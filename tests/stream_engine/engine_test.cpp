#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "stream/graph/kernels.h"
#include "tests/seed.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;

namespace {

const stream::LoadedPack& pack() {
  static const stream::LoadedPack loaded = shipped_pack();
  return loaded;
}

const GeneratedLog& base_log() {
  static const GeneratedLog log = generate({.seed = 7, .jobs = 4, .ranks = 6, .seconds = 240});
  return log;
}

const Reported& base() {
  static const Reported reported = judge(base_log(), pack());
  return reported;
}

std::vector<std::string> only(const std::vector<std::string>& lines, const std::string& job) {
  std::vector<std::string> kept;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(kept),
               [&](const auto& l) { return l.find(job + "/") != std::string::npos; });
  return kept;
}

}  // namespace

TEST_CASE("generated faults raise alerts, so that what follows compares something") {
  CHECK(base().digests.size() == 4);
  CHECK(base().transitions.size() > 8);
  for (const auto& line : base().transitions) MESSAGE(line);
}

TEST_CASE("the same log gives the same digests, and each record cut into a message of its own does too") {
  const Reported again = judge(base_log(), pack());
  CHECK(again.digests == base().digests);
  CHECK(again.transitions == base().transitions);
  const Reported parts = judge(cut(base_log()), pack());
  CHECK(parts.digests == base().digests);
  CHECK(parts.rows == base().rows);
  CHECK(parts.transitions == base().transitions);
}

TEST_CASE("records of one arrival joined into one message, and members into one block, give the same digests") {
  stream::ShardOptions columns;
  columns.digest_columns = true;
  for (const std::uint32_t seed : {13, 14}) {
    CAPTURE(seed);
    const GeneratedLog apart = generate({.seed = seed, .jobs = 3, .ranks = 12, .seconds = 240, .grain = 0.25});
    const GeneratedLog together = join(apart);
    CHECK(4 * together.messages.size() < apart.messages.size());
    const Reported each = judge(apart, pack(), columns), all = judge(together, pack(), columns);
    CHECK(each.transitions.size() > 8);
    CHECK(all.rows == each.rows);
    CHECK(all.transitions == each.transitions);
    CHECK(all.digests == each.digests);
    CHECK(judge(cut(together), pack(), columns).digests == each.digests);
  }
}

TEST_CASE("other subjects in the log change nothing for a subject") {
  const GeneratedLog others =
      generate({.seed = 11, .jobs = 3, .ranks = 3, .seconds = 240, .first_job = 50, .beats = false});
  const Reported both = judge(interleave(base_log(), others), pack());
  for (const auto& [subject, digest] : base().digests) {
    CHECK(both.digests.at(subject) == digest);
    CHECK(both.rows.at(subject) == base().rows.at(subject));
    CHECK(only(both.transitions, subject) == only(base().transitions, subject));
  }
}

TEST_CASE("the loops of the baseline and of AVX2 give the same digests, with every column in them") {
  stream::ShardOptions columns;
  columns.digest_columns = true;
  REQUIRE(stream::choose_kernels("baseline"));
  const Reported baseline = judge(base_log(), pack(), columns);
  if (!stream::choose_kernels("avx2")) {
    MESSAGE("this machine has no AVX2: nothing was compared");
    return;
  }
  const Reported avx2 = judge(base_log(), pack(), columns);
  CHECK(avx2.digests == baseline.digests);
}

TEST_CASE("subjects divided over shards are judged as in one") {
  std::map<std::string, std::uint64_t> digests;
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    for (const auto& [subject, digest] : judge(base_log(), pack(), {.shard = shard, .shards = 3}).digests)
      digests[subject] = digest;
  CHECK(digests == base().digests);
}

TEST_CASE("arrivals shuffled within the lateness give the same closed rows") {
  // Only samples move, and only those of rows; what counts points or shapes the job keeps its order.
  GeneratedLog log = generate({.seed = 3, .jobs = 1, .ranks = 6, .seconds = 120, .faults = false});
  const Reported in_order = judge(log, pack());
  std::mt19937_64 random{tocsin::test::seed(99)};
  GeneratedLog shuffled = log;
  for (std::size_t i = 0; i + 4 < shuffled.messages.size(); i += 4) {
    const stream::Time last = shuffled.messages[i + 3].arrival;
    if (shuffled.messages[i].subject.empty() || i < 8) continue;
    for (std::size_t k = 0; k < 4; ++k) shuffled.messages[i + k].arrival = last;
    std::shuffle(shuffled.messages.begin() + static_cast<std::ptrdiff_t>(i),
                 shuffled.messages.begin() + static_cast<std::ptrdiff_t>(i + 4), random);
  }
  std::stable_sort(shuffled.messages.begin(), shuffled.messages.end(),
                   [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
  CHECK(judge(shuffled, pack()).rows == in_order.rows);
}

TEST_CASE("killed with SIGKILL at random positions and restarted each time, it says what an unkilled run says") {
  std::mt19937_64 random{tocsin::test::seed()};
  std::vector<std::size_t> kills;
  for (std::uint32_t i = 0; i < tocsin::test::tries(100); ++i) kills.push_back(random() % base_log().messages.size());
  const Reported restarted = judge_with_restarts(base_log(), pack(), kills);
  CHECK(restarted.digests == base().digests);
  CHECK(restarted.transitions == base().transitions);
  CHECK(restarted.rows == base().rows);
}

TEST_CASE("every rule run as a script says what its graph says") {
  const GeneratedLog log = generate({.seed = 5, .jobs = 2, .ranks = 4, .seconds = 120});
  const Reported compiled = judge(log, pack());
  const Reported scripted = judge(log, shipped_pack(true));
  CHECK(scripted.digests == compiled.digests);
  CHECK(scripted.transitions == compiled.transitions);
}
