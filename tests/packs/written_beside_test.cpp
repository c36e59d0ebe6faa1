// A shard lends its sink what a section holds, and goes on.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <thread>

#include "tests/seed.h"
#include "tests/stream_engine/collector.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;

namespace {

using Written = std::map<std::string, std::vector<std::byte>>;

Written written(const stream::Sections& sections) {
  Written all;
  for (const auto& [name, content] : sections) all[name] = content.bytes();
  return all;
}

// Writes sections on a thread of its own.
class Sink {
 public:
  explicit Sink(stream::Sections sections)
      : thread_{[this, given = std::move(sections)] { written_ = written(given); }} {}
  ~Sink() { (void)wait(); }
  const Written& wait() {
    if (thread_.joinable()) thread_.join();
    return written_;
  }

 private:
  Written written_;
  std::thread thread_;
};

}  // namespace

TEST_CASE(
    "sections that a sink writes on its own thread while the shard goes on are as of the position of their take") {
  const std::uint32_t seed = test::seed();
  CAPTURE(seed);
  const auto log = generate({.seed = seed, .jobs = 2, .ranks = 20, .seconds = 200});
  const auto pack = shipped_pack();
  Collector collector, other;
  stream::Shard shard{pack, nullptr, collector}, writes{pack, nullptr, other};
  schemas::Decoder decoder;
  std::optional<Sink> sink;
  stream::Sections late;  // nobody writes them until the shard has gone on
  Written expected, late_expected;
  std::size_t takes = 0;
  for (std::size_t i = 0; i < log.messages.size(); ++i) {
    const stream::Entry& entry = decoded(decoder, log, i);
    shard.consume(entry), writes.consume(entry);
    if (i % 97 != 0) continue;
    const Written at_once = written(writes.take_sections(true));
    if (++takes % 2 == 0) {
      late = shard.take_sections(true), late_expected = at_once;
      continue;
    }
    REQUIRE((written(late) == late_expected));
    if (sink) REQUIRE((sink->wait() == expected));
    sink.emplace(shard.take_sections(true));
    expected = at_once;
  }
  CHECK((sink->wait() == expected));
  CHECK(takes > 10);
  CHECK(shard.digests() == writes.digests());
  CHECK(collector.reported == other.reported);
}
