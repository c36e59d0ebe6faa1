// Random logs of several jobs: restarts, slices and neighbours change nothing. TOCSIN_SEED repeats one; TOCSIN_LOGS
// asks for more.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/seed.h"
#include "tests/stream_engine/scenario.h"

using namespace tocsin::tests;

namespace {

unsigned many_logs() {
  const char* given = std::getenv("TOCSIN_LOGS");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 8;
}

}  // namespace

TEST_CASE("a random log of several jobs gives the same after restarts, in slices, and to each job alone") {
  std::uint32_t seed = tocsin::test::seed();
  for (unsigned log = 0; log < many_logs(); ++log, ++seed) {
    CAPTURE(seed);
    Scenario scenario{seed, 500};
    const Scenario::Result whole = scenario.judge();
    CHECK(whole.reported.size() == 4);

    const Scenario::Result sliced = scenario.judge({}, 1);
    CHECK(sliced.digests == whole.digests);
    CHECK(sliced.reported == whole.reported);

    for (const char* name : {"direct", "rekeyed", "mixed", "cluster"}) {
      CAPTURE(std::string{name});
      const Scenario::Result alone = scenario.judge({name});
      CHECK(alone.digests.at(name) == whole.digests.at(name));
      CHECK(alone.rows.at(name) == whole.rows.at(name));
      CHECK(alone.reported.at(name) == whole.reported.at(name));
    }

    std::mt19937 random{seed};
    std::vector<std::size_t> stops;
    for (int i = 0; i < 200; ++i) stops.push_back(random() % scenario.messages().size());
    std::sort(stops.begin(), stops.end());
    const Scenario::Result restarted = scenario.judge_with_restarts(stops);
    CHECK(restarted.digests == whole.digests);
    CHECK(restarted.rows == whole.rows);
    CHECK(restarted.reported == whole.reported);
  }
}
