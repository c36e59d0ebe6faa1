// A pack that was traced before is read as it was.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "adapters/packs/compile.h"
#include "adapters/packs/pattern_cache.h"
#include "stream/values/archive.h"
#include "tests/packs/small_pack.h"

using namespace tocsin;
using namespace tocsin::adapters::packs;
using stream::NodeId;

namespace {

const dsl::PackFiles some_files{
    {"signals.lua", R"lua(signals { duty = { kind = "gauge", unit = "ratio", owner = "gpu" } })lua"},
    {"busy.lua", R"lua(
rule "busy" {
  family = "D3", severity = "info", summary = "Busy", shows = "busy", per = "job", every = "10s",
  needs = { duty = signal "duty" { over = "30s" } },
  evaluate = function(job) return job.duty:mean():mean("job"):above(0.9) end,
}
)lua"}};

std::string bytes_of(const stream::Pack& pack) {
  stream::Writer out;
  pack.save(out);
  const auto bytes = out.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_same(const stream::Graph& a, const stream::Graph& b) {
  REQUIRE(a.size() == b.size());
  CHECK(std::ranges::equal(a.groupings(), b.groupings()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const stream::NodeStep &x = a.step(id), &y = b.step(id);
    CHECK(a.describe(id) == b.describe(id));
    CHECK(a[id].attributes == b[id].attributes);
    CHECK(x.op == y.op);
    CHECK(x.source == y.source);
    CHECK(x.arity == y.arity);
    CHECK(x.in_place == y.in_place);
    CHECK(x.reading == y.reading);
    CHECK(x.grouping == y.grouping);
    CHECK(x.column == y.column);
    CHECK(x.mask == y.mask);
    CHECK(x.arguments == y.arguments);
    CHECK(x.forms == y.forms);
    CHECK(std::ranges::equal(a.users(id), b.users(id)));
    CHECK(a.leaves().has(id) == b.leaves().has(id));
  }
}

// The cache of this process in a directory of its own.
struct Cache {
  std::filesystem::path directory;
  Cache() {
    std::string name = (std::filesystem::temp_directory_path() / "tocsin-known-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory = name;
    ::setenv("TOCSIN_CACHE", name.c_str(), 1);
  }
  ~Cache() { std::filesystem::remove_all(directory); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  [[nodiscard]] bool holds(const dsl::PackFiles& files) const {
    return std::filesystem::exists(directory / name_of(files));
  }
  void keep(const dsl::PackFiles& files, std::string_view bytes) const {
    PatternCache{directory}.keep(name_of(files), bytes);
  }

 private:
  static std::string name_of(const dsl::PackFiles& files) {
    return "patterns-pack-" + dsl::pack_hash(dsl::pack_text(files));
  }
};

}  // namespace

TEST_CASE("the shipped pack is read as it was traced") {
  const auto files = dsl::read_pack(std::filesystem::path{TOCSIN_SOURCE_DIR} / "rules");
  REQUIRE(files);
  const dsl::Loaded loaded = dsl::load(*files);
  REQUIRE(loaded.pack);
  const stream::Pack& traced = *loaded.pack;
  const std::string bytes = bytes_of(traced);
  stream::Pack read;
  stream::Reader in{std::as_bytes(std::span{bytes})};
  read.load(in);
  REQUIRE(in.ok());

  check_same(*traced.graph, *read.graph);
  CHECK(bytes_of(read) == bytes);
  CHECK(read.hash == traced.hash);
  REQUIRE(read.rules.size() == traced.rules.size());
  for (std::size_t i = 0; i < read.rules.size(); ++i)
    CHECK(std::ranges::equal(read.rules[i].hot_set.parts(), traced.rules[i].hot_set.parts(),
                             [](const auto& a, const auto& b) { return a.word == b.word && a.nodes == b.nodes; }));
  for (const auto& signal : traced.signals.all()) {
    CHECK(read.signals.find(signal.name) == traced.signals.find(signal.name));
    CHECK(read.signals.any_of_source(signal.source));
    for (const auto& alias : signal.aliases) CHECK(read.signals.factor(alias.name) == alias.factor);
  }
}

TEST_CASE("a pack that a log names is read from the cache; rules that are loaded from their files never are") {
  const Cache cache;
  const PackOutcome traced = compile(some_files);
  REQUIRE(traced.pack);
  REQUIRE(cache.holds(some_files));
  stream::Pack other;
  const std::string bytes = bytes_of(*traced.pack->pack);
  stream::Reader in{std::as_bytes(std::span{bytes})};
  other.load(in);
  other.alert_limit = 7;
  cache.keep(some_files, bytes_of(other));

  const PackOutcome known = compile(some_files, {}, Origin::log);
  REQUIRE(known.pack);
  CHECK(known.pack->pack->alert_limit == 7);
  CHECK(known.pack->pack->text == traced.pack->pack->text);
  CHECK(known.pack->extraction == traced.pack->extraction);
  CHECK(compile(some_files).pack->pack->alert_limit == 1000);
  dsl::Budgets budgets;
  budgets.all_scripted = true;
  CHECK(compile(some_files, budgets, Origin::log).pack->pack->alert_limit == 1000);

  other.hash = "another";
  cache.keep(some_files, bytes_of(other));
  CHECK(compile(some_files, {}, Origin::log).pack->pack->alert_limit == 1000);
  for (std::size_t size : {bytes.size() - 1, bytes.size() / 2, std::size_t{0}}) {
    cache.keep(some_files, std::string_view{bytes}.substr(0, size));
    CHECK(compile(some_files, {}, Origin::log).pack->pack->rules.size() == 1);
  }

  const auto scripted = dsl::pack_files(tests::small_pack("0.5"));
  REQUIRE(scripted);
  CHECK(compile(*scripted).pack);
  CHECK(!cache.holds(*scripted));
}
