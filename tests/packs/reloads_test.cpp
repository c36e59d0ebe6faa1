// How many compiled packs are alive while rules are reloaded.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/packs/pack_store.h"
#include "schemas/codec.h"
#include "stream/job/shard.h"
#include "tests/packs/small_pack.h"

using namespace tocsin;
using adapters::packs::PackStore;
using tests::small_pack;

namespace {

class Silent final : public stream::AlertSink {
 public:
  void transition(const stream::AlertTransition&) override {}
  void verdict(const stream::Verdict&) override {}
};

stream::LoadedPack first_pack() {
  const std::string text = small_pack("0"), hash = dsl::pack_hash(text);
  PackStore store;
  store.prepare(hash, text);
  return *store.pack(hash);
}

// A job, and its rules that change every second.
struct Reloaded {
  void read(const stream::Entry& entry, int second) {
    const auto bytes = schemas::encode(entry);
    ++position;
    CHECK(
        shard.consume(**decoder.decode(bytes, stream::Position{position}, stream::Position{position + 1}, at(second))));
  }
  void reload(int second) {
    const std::string text = small_pack(std::to_string(second)), hash = dsl::pack_hash(text);
    schemas::EntryBuilder entry;
    entry.pack(hash, at(second + 3), text);
    read(entry.entry(), second);
    made.push_back(store.pack(hash)->pack);  // what the store did not need any more is destroyed before it is compiled
  }
  // Of one second, `behind` seconds later: a source's own records, or copies of another's.
  void sample(int second, int behind = 0) {
    schemas::EntryBuilder builder;
    builder.about("job");
    const schemas::EntryBuilder::Value value[] = {{"duty", 0.5, {}, false}};
    builder.sample(at(second), {stream::Level::gpu, 0, "n0", "0"}, value);
    stream::Entry entry = builder.entry();
    if (behind != 0)
      entry.origin_source = "node/0", entry.origin_offset = static_cast<std::uint64_t>(second),
      entry.arrival = at(second);
    read(entry, second + behind);
    schemas::EntryBuilder controls;
    controls.beat();
    if (behind != 0) controls.watermark("node/0", at(second));
    read(controls.entry(), second + behind);
  }
  void save() {
    for (auto& [name, content] : shard.take_sections()) kept.insert_or_assign(name, std::move(content));
    hold.needs(shard.packs_in_use(), shard.packs_to_come());
  }
  [[nodiscard]] auto compiled() const {
    return std::count_if(made.begin(), made.end(), [](const auto& pack) { return !pack.expired(); });
  }
  static stream::Time at(int second) {
    return stream::at_nanoseconds(1'790'000'000'000'000'000) + std::chrono::seconds{second};
  }

  schemas::Decoder decoder;
  std::vector<std::weak_ptr<const stream::Pack>> made;
  PackStore store;
  PackStore::Hold hold{store};
  Silent sink;
  stream::Shard shard{[this] { return store.add(first_pack()), first_pack(); }(), &store, sink};
  std::uint64_t position = 0;
  stream::Shard::Sections kept;
};

}  // namespace

TEST_CASE(
    "however often rules are reloaded, a shard holds few packs compiled, and a restart goes on from what it has kept") {
  constexpr int reloads = 60;
  Reloaded r;
  for (int second = 1; second <= reloads; ++second) {
    r.reload(second);
    CHECK(r.compiled() <= 7);  // three seconds' worth wait, one is in force, one was, one is asked for, and this one
    r.sample(second);
    r.save();
  }
  CHECK(r.store.compiled() == reloads);

  for (auto& [name, content] : r.shard.take_sections(true)) r.kept.insert_or_assign(name, std::move(content));
  PackStore other;
  for (const std::string& hash : r.shard.packs_in_use()) other.remember(hash, *r.store.text(hash));
  stream::Shard restored{first_pack(), &other, r.sink};
  const auto from = restored.load(r.kept, stream::Position{r.position + 1});
  REQUIRE(from);
  CHECK(other.compiled() <= 2);
  CHECK(restored.digests() == r.shard.digests());
}

TEST_CASE("a job whose source is a minute behind holds few packs compiled, and goes through all that came meanwhile") {
  constexpr int reloads = 90, behind = 60;
  Reloaded r;
  for (int second = 1; second <= reloads; ++second) {
    r.reload(second);
    CHECK(r.compiled() <=
          13);  // the one in force, the one that judges and the four behind it, some that wait, and this one
    if (second > behind) r.sample(second - behind, behind);
    r.save();
  }
  for (int second = reloads - behind + 1; second <= reloads + 4; ++second) {
    r.sample(second, behind);
    r.save();
    CHECK(r.compiled() <= 13);
  }
  CHECK(r.shard.packs_to_come() == std::vector<std::string>{dsl::pack_hash(small_pack(std::to_string(reloads)))});
}
