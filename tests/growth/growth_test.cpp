// What grows with what. Costs are counted at two sizes, never timed.
#include <doctest/doctest.h>

#include "bench/load.h"
#include "dsl/load/text_definitions.h"
#include "stream/values/record.h"
#include "tests/growth/heap.h"
#include "tests/stream_engine/collector.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

const stream::LoadedPack& shipped() {
  static const stream::LoadedPack pack = [] {
    const auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
    return stream::LoadedPack{dsl::load(*files).pack, dsl::compile_text(*files).extraction};
  }();
  return pack;
}

stream::Time at(double s) { return bench::begin + stream::from_seconds(s); }

// A shard that judges by the shipped rules, and its log.
struct Log {
  explicit Log(stream::ShardOptions options = {.restarts = false}) : shard(shipped(), nullptr, collector, options) {}
  void consume(EntryBuilder& builder, double s, std::string_view source = {}) {
    stream::Entry entry = builder.entry();
    if (!source.empty()) entry.origin_source = source, entry.origin_offset = next, entry.arrival = at(s);
    consume(schemas::encode(entry), s);
  }
  void consume(const std::vector<std::byte>& bytes, double s) {
    shard.consume(
        **decoder.decode(bytes, static_cast<stream::Position>(next), static_cast<stream::Position>(next + 1), at(s)));
    ++next;
  }
  void sample(const std::string& job, double s, std::string_view source = {}) {
    EntryBuilder b;
    b.about(job);
    const EntryBuilder::Value values[] = {{"loss", 1, {}, false}};
    b.sample(at(s), EntryBuilder::rank(0), values);
    consume(b, s, source);
  }
  void watermark(std::string_view source, double s) {
    EntryBuilder b;
    b.watermark(source, at(s));
    consume(b, s);
  }
  void beat(double s) {
    EntryBuilder b;
    b.beat();
    consume(b, s);
  }
  Collector collector;
  stream::Shard shard;
  schemas::Decoder decoder;
  std::uint64_t next = 1;
};

}  // namespace

TEST_CASE("a watermark costs as much with many jobs of other sources as with few") {
  const auto allocations = [](int jobs) {
    Log log;
    for (int i = 0; i < jobs; ++i) log.sample("job-" + std::to_string(i), 1, "node/" + std::to_string(i % 10));
    for (int i = 0; i < 10; ++i) log.watermark("node/" + std::to_string(i), 2);
    const Heap before = heap();
    for (int i = 0; i < 100; ++i) log.watermark("other", 2 + i / 1000.0);
    return heap().allocations - before.allocations;
  };
  const std::size_t few = allocations(10);
  CHECK(allocations(100) <= few + 50);
}
TEST_CASE("a control record costs as much with many jobs whose sources have ended as with few") {
  const auto allocations = [](int jobs) {
    Log log;
    for (int i = 0; i < jobs; ++i) log.sample("job-" + std::to_string(i), 1, "node/" + std::to_string(i));
    for (int i = 0; i < jobs; ++i) {
      EntryBuilder b;
      b.watermark("node/" + std::to_string(i), stream::source_ended);
      log.consume(b, 1);
    }
    log.beat(2);
    const Heap before = heap();
    for (int i = 0; i < 100; ++i) log.beat(2);
    return heap().allocations - before.allocations;
  };
  const std::size_t few = allocations(10);
  CHECK(allocations(100) <= few + 50);
}
TEST_CASE("a record costs as much among many sources that no signal names as among few") {
  const auto allocated = [](int sources) {
    Log log;
    log.sample("job", 1);
    const Heap before = heap();
    for (int i = 0; i < sources; ++i) {
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Member members[] = {EntryBuilder::rank(0)};
      b.coverage("file-" + std::to_string(i), members);
      log.consume(b, 1);
    }
    return heap().bytes - before.bytes;
  };
  const std::size_t few = allocated(100);
  CHECK(allocated(10'000) <= few + 4096);
}
TEST_CASE("lists of members are remembered within a room, however many a producer makes up") {
  const auto bytes = [](std::uint32_t lists) {
    constexpr std::uint32_t ranks = 64;
    Log log;
    const auto list = [&](std::uint32_t number) {
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Value values[] = {{"unheard_of", 1, {}, false}};
      for (const std::uint32_t rank : {number % ranks, number / ranks % ranks, number / ranks / ranks})
        b.sample(at(1), EntryBuilder::rank(rank), values);
      log.consume(b, 1);
    };
    for (std::uint32_t rank = 0; rank < ranks; ++rank) list(rank * (1 + ranks + ranks * ranks));
    const Heap before = heap();
    for (std::uint32_t number = 0; number < lists; ++number) list(number);
    return heap().bytes - before.bytes;
  };
  const std::size_t few = bytes(2'000);
  CHECK(bytes(20'000) < few + 64 * 1024);
}
TEST_CASE("the estimate of the state that jobs take is right within half and twice") {
  struct Shape {
    int jobs, ranks, seconds;
  };
  for (const auto& [jobs, ranks, seconds] : {Shape{20, 1, 1}, Shape{1, 1, 900}, Shape{4, 8, 900}, Shape{1, 256, 120}}) {
    CAPTURE(ranks);
    CAPTURE(seconds);
    Log log;
    log.sample("warm", 0);
    log.beat(1);
    const std::size_t before = heap().bytes, estimated = log.shard.state_bytes();
    for (int s = 0; s < seconds; ++s) {
      for (int job = 0; job < jobs; ++job) {
        EntryBuilder b;
        b.about("job-" + std::to_string(job));
        for (int rank = 0; rank < ranks; ++rank) {
          std::vector<EntryBuilder::Value> values;
          for (const stream::SignalDefinition& signal : shipped().pack->signals.all())
            if (signal.kind != stream::SignalKind::event && signal.kind != stream::SignalKind::liveness &&
                signal.owner != stream::Level::job && !signal.textual() && (seconds > 1 || signal.name == "step"))
              values.push_back({signal.name, s + rank / 100.0, signal.unit, false});
          const std::string node = "n" + std::to_string(rank / 8), gpu = std::to_string(rank % 8);
          b.sample(at(s + 2), {stream::Level::rank, static_cast<std::uint32_t>(rank), node, gpu}, values);
        }
        log.consume(b, s + 2);
      }
      log.beat(s + 2.5);
    }
    for (int s = 0; s < 60; ++s) log.beat(seconds + 3 + s);
    const std::size_t taken = heap().bytes - before, held = log.shard.state_bytes() - estimated;
    CHECK(held > taken / 2);
    CHECK(held < taken * 2);
  }
}
TEST_CASE("a job's state grows with its age by the means of ten rows that its windows look back on") {
  constexpr unsigned ranks = 24;
  const bench::Load load{ranks, bench::gpu_signals, bench::rank_signals};
  struct Bytes {
    double saved, held;  // a rank
  };
  Log log{{}};
  unsigned second = 1;
  const Heap before = heap();
  const auto bytes_after = [&](unsigned seconds) -> Bytes {
    for (; second < seconds; ++second) {
      for (const auto& message : load.second_of(second)) log.consume(message, second);
      log.beat(second + 0.5);
    }
    const auto sections = log.shard.take_sections(true);
    return {static_cast<double>(sections.at("job").bytes().size()) / ranks,
            static_cast<double>(heap().bytes - before.bytes) / ranks};
  };
  for (const auto& message : load.start()) log.consume(message, 0);
  const Bytes young = bytes_after(200), grown = bytes_after(45 * 60), old = bytes_after(2 * 60 * 60);
  // The shipped rules look back 17 min on two signals of one row a second, and 36 min on two. Of a pane: a sum and a
  // count for each rank, and 48 bytes for all.
  constexpr double panes = 2 * (17 + 36) * 6;
  CHECK(old.saved - young.saved < panes * (8 + 1 + 48.0 / ranks));
  CHECK(old.saved - grown.saved < 100);
  CHECK(old.held - grown.held < 1'000);
}
TEST_CASE("a job of one record takes at most 200 KiB, however many there are") {
  const auto bytes = [](int jobs) {
    Log log;
    log.sample("warm", 0);
    for (int s = 0; s < 40; ++s) log.beat(s);
    const Heap before = heap();
    for (int i = 0; i < jobs; ++i) log.sample("job-" + std::to_string(i), 40);
    for (int s = 41; s < 120; ++s) log.beat(s);
    return (heap().bytes - before.bytes) / static_cast<std::size_t>(jobs);
  };
  CHECK(bytes(10) < 200 * 1024);
  CHECK(bytes(100) < 200 * 1024);
}
TEST_CASE("a second of a job of 8 ranks computes few nodes, and one in silence next to none") {
  Log log;
  const bench::Load load{8, bench::gpu_signals, bench::rank_signals};
  for (const auto& message : load.start()) log.consume(message, 0);
  unsigned second = 0;
  const auto nodes_in = [&](unsigned seconds, bool training) {
    const std::uint64_t before = log.shard.counters().nodes;
    for (const unsigned end = second + seconds; second < end;) {
      ++second;
      for (const auto& message : training ? load.second_of(second) : decltype(load.start()){})
        log.consume(message, second + 0.001);
      log.beat(second + 1);
    }
    return (log.shard.counters().nodes - before) / seconds;
  };
  (void)nodes_in(240, true);
  CHECK(nodes_in(60, true) <= 45);
  (void)nodes_in(3600, false);
  CHECK(nodes_in(60, false) <= 10);
}
