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

}  // namespace

TEST_CASE("however often rules are reloaded, a shard holds few packs compiled, and a restart goes on from what it has kept") {
  constexpr int reloads = 60;
  schemas::Decoder decoder;
  std::vector<std::weak_ptr<const stream::Pack>> made;
  const auto compiled = [&] { return std::count_if(made.begin(), made.end(), [](const auto& pack) { return !pack.expired(); }); };
  PackStore store;
  PackStore::Hold hold{store};
  Silent sink;
  store.add(first_pack());
  stream::Shard shard{first_pack(), &store, sink};
  std::uint64_t position = 0;
  stream::Shard::Sections kept;
  const auto at = [](int second) { return stream::at_nanoseconds(1'790'000'000'000'000'000) + std::chrono::seconds{second}; };
  const auto consume = [&](stream::Shard& by, schemas::EntryBuilder& builder, int second, std::uint64_t number) {
    const auto bytes = schemas::encode(builder.entry());
    CHECK(by.consume(**decoder.decode(bytes, stream::Position{number}, stream::Position{number + 1}, at(second))));
  };
  const auto duty = [&](int second) {
    schemas::EntryBuilder builder;
    builder.about("job");
    const schemas::EntryBuilder::Value value[] = {{"duty", 0.5, {}, false}};
    builder.sample(at(second), {stream::Level::gpu, 0, "n0", "0"}, value);
    builder.beat();
    return builder;
  };
  for (int second = 1; second <= reloads; ++second) {
    const std::string text = small_pack(std::to_string(second)), hash = dsl::pack_hash(text);
    schemas::EntryBuilder reload;
    reload.pack(hash, at(second + 3), text);
    consume(shard, reload, second, ++position);
    made.push_back(store.pack(hash)->pack);  // what the store did not need any more is destroyed before it is compiled
    CHECK(compiled() <= 7);                  // three seconds' worth wait, one is in force, one was, one is asked for, and this one
    auto sample = duty(second);
    consume(shard, sample, second, ++position);
    for (auto& [name, bytes] : shard.take_sections()) kept.insert_or_assign(name, std::move(bytes));
    hold.needs(shard.packs_in_use(), shard.packs_to_come());
  }
  CHECK(store.compiled() == reloads);

  for (auto& [name, bytes] : shard.take_sections(true)) kept.insert_or_assign(name, std::move(bytes));
  PackStore other;
  for (const std::string& hash : shard.packs_in_use()) other.remember(hash, *store.text(hash));
  stream::Shard restored{first_pack(), &other, sink};
  const auto from = restored.load(kept, stream::Position{position + 1});
  REQUIRE(from);
  CHECK(other.compiled() <= 2);
  CHECK(restored.digests() == shard.digests());
}
