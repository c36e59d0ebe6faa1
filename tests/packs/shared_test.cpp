// Shards on threads of their own judge one log by the same packs, which change while they run.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "adapters/packs/pack_store.h"
#include "tests/seed.h"
#include "tests/stream_engine/collector.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::packs::PackStore;

namespace {

// A rule that runs as a script wherever it is loaded; `ratio` makes packs that answer differently.
std::string script(const std::string& ratio) {
  return R"lua(
rule "ahead" {
  family = "D3", severity = "warning", summary = "A rank is ahead of the others", per = "rank", every = "5s",
  needs = { took = signal "compute_time" { over = "20s" } }, state = { seen = 0 },
  shows = "rank {rank} computes {x:.2f} s a step",
  evaluate = function(job, p, state)
    local x = job.took:mean()
    local most = x:max("job"):number() or 0
    local n = 0
    for rank, took in x:each() do if took and took > most * 0.5 then n = n + 1 end end
    state.seen = state.seen + n
    return x:above(x:median("job") * )lua" +
         ratio + R"lua(), { x = x }
  end,
}
)lua";
}

// The shipped rules, scripted, and that one.
std::string pack_text(const std::string& ratio) {
  auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  REQUIRE(files);
  (*files)["ahead.lua"] = script(ratio);
  return dsl::pack_text(*files);
}

void insert_pack(GeneratedLog& log, stream::Duration at, const std::string& hash, const std::string& text) {
  const stream::Time arrival = log.messages.front().arrival + at;
  schemas::EntryBuilder b;
  b.pack(hash, arrival + std::chrono::seconds{5}, text);
  const auto place = std::find_if(log.messages.begin(), log.messages.end(),
                                  [&](const auto& message) { return message.arrival > arrival; });
  log.messages.insert(place, {schemas::encode(b.entry()), arrival, ""});
}

struct Outcome {
  std::map<std::string, std::uint64_t> digests, rows;
  std::vector<std::string> transitions;
  stream::Counters counters;
};

Outcome judge_by(PackStore& store, const std::string& first, const GeneratedLog& log, stream::ShardOptions options) {
  const auto pack = store.pack(first);
  if (!pack) throw std::runtime_error(pack.error().message);
  Collector collector;
  stream::Shard shard{*pack, &store, collector, options};
  schemas::Decoder decoder;
  for (std::size_t i = 0; i < log.messages.size(); ++i) shard.consume(decoded(decoder, log, i));
  return {shard.digests(), shard.row_digests(), collector.reported, shard.counters()};
}

dsl::Budgets scripted() {
  dsl::Budgets budgets;
  budgets.all_scripted = true;
  return budgets;
}

}  // namespace

TEST_CASE("four shards on four threads, by packs of scripts that change as they run, say what one shard says alone") {
  GeneratedLog log = generate({.seed = tocsin::test::seed(), .jobs = 8, .ranks = 3, .seconds = 80});
  const std::string a = pack_text("1.2"), b = pack_text("0.95");  // by b, the median rank is always ahead
  const std::string hash_a = dsl::pack_hash(a), hash_b = dsl::pack_hash(b);
  using std::chrono::seconds;
  insert_pack(log, seconds{20}, hash_b, b);
  insert_pack(log, seconds{40}, hash_a, "");  // its text came before
  insert_pack(log, seconds{55}, "0123456789abcdef0123456789abcdef", "no pack");
  insert_pack(log, seconds{65}, hash_b, b);

  PackStore own{{}, scripted()};
  own.prepare(hash_a, a);
  const Outcome alone = judge_by(own, hash_a, log, {});
  CHECK(alone.digests.size() == 8);
  CHECK(alone.counters.packs_refused == 1);
  CHECK(alone.counters.quarantine_messages.empty());
  CHECK(std::any_of(alone.transitions.begin(), alone.transitions.end(),
                    [](const auto& t) { return t.find(" ahead ") != t.npos; }));

  constexpr std::uint32_t shards = 4;
  std::size_t refusals = 0;
  PackStore store{[&](std::string_view, const stream::Error&) { ++refusals; }, scripted()};
  store.prepare(hash_a, a);
  std::vector<Outcome> parts(shards);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < shards; ++i)
    threads.emplace_back([&, i] { parts[i] = judge_by(store, hash_a, log, {.shard = i, .shards = shards}); });
  for (auto& thread : threads) thread.join();

  Outcome together;
  for (const Outcome& part : parts) {
    CHECK_FALSE(part.digests.empty());
    CHECK(part.counters.packs_refused == 1);
    together.digests.insert(part.digests.begin(), part.digests.end());
    together.rows.insert(part.rows.begin(), part.rows.end());
    together.transitions.insert(together.transitions.end(), part.transitions.begin(), part.transitions.end());
  }
  CHECK(together.digests == alone.digests);
  CHECK(together.rows == alone.rows);
  auto expected = alone.transitions;
  std::sort(expected.begin(), expected.end());
  std::sort(together.transitions.begin(), together.transitions.end());
  CHECK(together.transitions == expected);
  CHECK(store.compiled() == 2);
  CHECK(refusals == 1);
}
