// A store of packs: compiled once, away from whoever asks, and refused with a reason.
#include "adapters/packs/pack_store.h"

#include "adapters/packs/compile.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/packs/small_pack.h"

using namespace tocsin;
using adapters::packs::PackStore;
using tests::small_pack;

namespace {

struct Reports {
  std::vector<std::string> hashes, reasons;
  PackStore::Report report = [this](std::string_view hash, const stream::Error& why) {
    hashes.emplace_back(hash);
    reasons.push_back(why.message);
  };
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a text that arrives twice is compiled once, and all who ask get the same pack") {
  PackStore store;
  const std::string text = small_pack("0.9"), hash = dsl::pack_hash(text);
  store.prepare(hash, text);
  store.prepare(hash, text);
  std::vector<stream::PackPtr> given(4);
  std::vector<std::thread> threads;
  for (auto& mine : given)
    threads.emplace_back([&] {
      store.prepare(hash, text);
      if (auto loaded = store.pack(hash)) mine = loaded->pack;
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(given[0]);
  CHECK(given[0]->hash == hash);
  for (const auto& pack : given) CHECK(pack == given[0]);
  CHECK(store.compiled() == 1);
}

TEST_CASE("a broken pack is refused with its file and line, and reported once however many ask") {
  Reports reports;
  PackStore store{reports.report};
  const std::string text = small_pack("0.5 oops"), hash = dsl::pack_hash(text);
  store.prepare(hash, text);
  CHECK(reports.hashes.empty());  // nobody has asked for it
  for (int i = 0; i < 3; ++i) {
    const auto loaded = store.pack(hash);
    REQUIRE_FALSE(loaded);
    CHECK_MESSAGE(has(loaded.error().message, "busy.lua:"), loaded.error().message);
    store.prepare(hash, text);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { CHECK_FALSE(store.pack(hash)); });
  for (auto& thread : threads) thread.join();
  CHECK(reports.hashes == std::vector<std::string>{hash});
  CHECK(store.compiled() == 1);
}

TEST_CASE("a pack with a rule whose alert would say nothing is refused, with place and remedy") {
  for (const auto& [part, remedy] :
       {std::pair{"summary = \"Busy\", ",
                  "summary is missing: its alert would not say what is wrong; write summary = "},
        {"shows = \"busy\", ", "shows is missing: its alert would not say what was seen; write shows = "}}) {
    auto files = dsl::pack_files(small_pack("0.5"));
    REQUIRE(files);
    std::string& text = files->at("busy.lua");
    text.erase(text.find(part), std::string{part}.size());
    const auto outcome = adapters::packs::compile(*files);
    CHECK_FALSE(outcome.pack);
    REQUIRE(outcome.errors().size() == 1);
    CHECK_MESSAGE(has(dsl::describe(outcome.errors()[0]), std::string{"busy.lua:2: [busy] "} + remedy),
                  dsl::describe(outcome.errors()[0]));
    CHECK_MESSAGE(adapters::packs::compile(*files, {}, adapters::packs::Origin::log).pack,
                  "what judged a log before judges it again");
  }
}

TEST_CASE("a pack whose text never came is refused at once, until it comes") {
  Reports reports;
  PackStore store{reports.report};
  const std::string text = small_pack("0.5"), hash = dsl::pack_hash(text);
  store.prepare(hash, "");
  CHECK_FALSE(store.pack(hash));
  CHECK_FALSE(store.pack(hash));
  CHECK(reports.reasons == std::vector<std::string>{"its text did not come with it"});
  store.prepare(hash, text);
  const auto loaded = store.pack(hash);
  REQUIRE(loaded);
  CHECK(loaded->pack->hash == hash);
  CHECK(reports.hashes.size() == 1);
}

TEST_CASE("a text is taken only under its own hash") {
  Reports reports;
  PackStore store{reports.report};
  const std::string text = small_pack("0.5"), hash = dsl::pack_hash(text);
  store.prepare(hash, small_pack("0.6"));
  CHECK_FALSE(store.pack(hash));
  CHECK(reports.reasons.size() == 1);
  CHECK(store.compiled() == 0);
  store.prepare(hash, text);
  store.prepare(hash, small_pack("0.6"));
  CHECK(store.pack(hash));
}

TEST_CASE("a text that is cut is refused, and a pack that was added is had without one") {
  PackStore store;
  std::string text = small_pack("0.5");
  text.pop_back();
  const std::string hash = dsl::pack_hash(text);
  store.prepare(hash, text);
  const auto cut = store.pack(hash);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().code == stream::Errc::malformed);

  const auto files = dsl::pack_files(small_pack("0.7"));
  REQUIRE(files);
  const dsl::Loaded loaded = dsl::load(*files);
  REQUIRE(loaded.pack);
  store.add({loaded.pack, nullptr});
  store.prepare(loaded.pack->hash, "");
  const auto given = store.pack(loaded.pack->hash);
  REQUIRE(given);
  CHECK(given->pack == loaded.pack);
}

namespace {

// A store that has been asked for packs of these limits, in their order.
struct Filled {
  PackStore store;
  PackStore::Hold hold{store};
  std::map<int, std::string> hashes;

  stream::LoadedPack name(int limit) {
    const std::string text = small_pack(std::to_string(limit));
    hashes[limit] = dsl::pack_hash(text);
    store.prepare(hashes[limit], text);
    const auto loaded = store.pack(hashes[limit]);
    REQUIRE(loaded);
    return *loaded;
  }
  // Of the packs up to this limit, those that can be had without a text.
  std::vector<int> had(int last) {
    std::vector<int> had;
    for (int limit = 1; limit <= last; ++limit)
      if (store.pack(hashes[limit])) had.push_back(limit);
    return had;
  }
};

std::vector<int> from_to(int from, int to) {
  std::vector<int> numbers;
  for (int i = from; i <= to; ++i) numbers.push_back(i);
  return numbers;
}

}  // namespace

TEST_CASE("a store keeps the ten newest packs once its shards need no others, and no more however many come") {
  Filled filled;
  for (int limit = 1; limit <= 30; ++limit) filled.name(limit);
  CHECK(filled.store.kept() == 30);  // the shard has not answered for its log yet
  filled.hold.needs({});
  CHECK(filled.store.kept() == 10);
  CHECK(filled.had(30) == from_to(21, 30));
}

TEST_CASE("a pack that a log names, or that somebody uses, stays however many come after it") {
  Filled filled;
  filled.name(1);
  const stream::LoadedPack used = filled.name(2);
  for (int limit = 3; limit <= 20; ++limit) filled.name(limit);
  filled.hold.needs({filled.hashes[1]});
  CHECK(filled.store.kept() == 12);
  const auto named = filled.store.pack(filled.hashes[1]);
  REQUIRE(named);
  CHECK(filled.store.pack(filled.hashes[2])->pack == used.pack);
}

TEST_CASE(
    "a pack that came after a shard answered is kept until the shard answers again, whatever other shards answer") {
  Filled filled;
  PackStore::Hold other{filled.store};
  for (int limit = 1; limit <= 30; ++limit) filled.name(limit);
  other.needs({});
  CHECK(filled.store.kept() == 30);
  {
    const PackStore::Hold late{filled.store};
    filled.hold.needs({});
    CHECK(filled.store.kept() == 10);  // the late one has prepared none of them
  }
}

TEST_CASE("a pack that was forgotten is had again when its text comes again") {
  Filled filled;
  for (int limit = 1; limit <= 20; ++limit) filled.name(limit);
  filled.hold.needs({});
  CHECK_FALSE(filled.store.pack(filled.hashes[1]));
  CHECK(filled.name(1).pack->hash == filled.hashes[1]);
}

TEST_CASE("of a pack that a log only remembers the text is held, and it is compiled again when it is asked for") {
  Filled filled;
  for (int limit = 1; limit <= 30; ++limit) filled.name(limit);
  CHECK(filled.store.compiled_now() == 30);
  std::vector<std::string> all;
  for (const auto& [limit, hash] : filled.hashes) all.push_back(hash);
  filled.hold.needs(all, {filled.hashes[29], filled.hashes[30]});
  CHECK(filled.store.kept() == 30);
  CHECK(filled.store.compiled_now() == 2);
  CHECK(filled.store.compiled() == 30);
  const auto text = filled.store.text(filled.hashes[1]);
  REQUIRE(text);
  CHECK(dsl::pack_hash(*text) == filled.hashes[1]);
  CHECK(filled.store.compiled() == 30);
  const auto again = filled.store.pack(filled.hashes[1]);
  REQUIRE(again);
  CHECK(again->pack->hash == filled.hashes[1]);
  CHECK(filled.store.compiled() == 31);
}

TEST_CASE("a pack that is remembered is compiled when it is asked for, and not before") {
  const std::string text = small_pack("7"), hash = dsl::pack_hash(text);
  PackStore store;
  store.remember(hash, text);
  CHECK(*store.text(hash) == text);
  CHECK(store.compiled() == 0);
  CHECK(store.pack(hash));
  CHECK(store.compiled() == 1);
  store.remember(hash, "another text");
  CHECK(*store.text(hash) == text);
  CHECK_FALSE(store.text("0123456789abcdef"));
}

TEST_CASE("a pack that is remembered is compiled ahead once a shard says that it comes next") {
  const std::string text = small_pack("7"), hash = dsl::pack_hash(text);
  PackStore store;
  PackStore::Hold hold{store};
  store.remember(hash, text);
  hold.needs({hash}, {hash});
  for (int i = 0; i < 1000 && store.compiled() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  CHECK(store.compiled() == 1);
  hold.needs({hash}, {hash});
  CHECK(store.pack(hash));
  CHECK(store.compiled() == 1);
}

TEST_CASE("of packs that are held as texts a file that many have is stored once") {
  const std::string shared(100'000, '-');
  const auto text_of = [&](int version) {
    auto files = dsl::pack_files(small_pack("1"));
    REQUIRE(files);
    files->emplace("shared.lua", "--" + shared);
    files->emplace("site.lua", "-- Version " + std::to_string(version));
    return dsl::pack_text(*files);
  };
  PackStore store;
  PackStore::Hold hold{store};
  std::vector<std::string> all;
  for (int version = 1; version <= 40; ++version) {
    all.push_back(dsl::pack_hash(text_of(version)));
    store.remember(all.back(), text_of(version));
  }
  hold.needs(all);
  CHECK(store.kept() == 40);
  CHECK(store.text_bytes() > 100'000);
  CHECK(store.text_bytes() < 110'000);
  for (int version = 1; version <= 40; ++version)
    CHECK(*store.text(all[static_cast<std::size_t>(version) - 1]) == text_of(version));
  REQUIRE(store.pack(all[6]));
  CHECK(store.pack(all[6])->pack->text == text_of(7));
  const std::size_t before = store.text_bytes();
  hold.needs({});
  CHECK(store.kept() == 10);
  CHECK(store.text_bytes() < before);
}

TEST_CASE("packs whose patterns are the same share what was compiled of them, as long as one is in use") {
  const auto load = [](const std::string& limit, const std::string& expression) {
    auto files = dsl::pack_files(small_pack(limit));
    REQUIRE(files);
    files->emplace("progress/own.lua", "parser \"own\" { line = [[^" + expression +
                                           R"lua( (?P<busy>NUM)]], samples = { duty = "busy" } })lua");
    const auto outcome = adapters::packs::compile(*files);
    REQUIRE_MESSAGE(outcome.pack, dsl::list(outcome.errors()));
    return *outcome.pack;
  };
  stream::LoadedPack first = load("0.5", "busy");
  REQUIRE(first.extraction);
  CHECK(load("0.6", "busy").extraction == first.extraction);
  CHECK(load("0.5", "at work").extraction != first.extraction);
  const std::weak_ptr<const stream::Extraction> used = first.extraction;
  first = {};
  CHECK(used.expired());
  CHECK(load("0.5", "busy").extraction);
}

TEST_CASE("a text that is no pack's is held as it is") {
  PackStore store;
  for (const std::string& text :
       {std::string{"tocsin-pack 1\n5 3\na.luax"}, std::string{"tocsin-pack 1\n"}, std::string{"rule"}}) {
    store.remember(dsl::pack_hash(text), text);
    CHECK(*store.text(dsl::pack_hash(text)) == text);
    CHECK_FALSE(store.pack(dsl::pack_hash(text)));
  }
}

TEST_CASE("a store may close while texts wait for their turn") {
  for (int i = 0; i < 20; ++i) {
    PackStore store;
    for (int limit = 1; limit <= 20; ++limit) {
      const std::string text = small_pack(std::to_string(i * 100 + limit));
      store.prepare(dsl::pack_hash(text), text);
    }
  }
}
