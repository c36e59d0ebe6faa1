#include "adapters/kafka/state_records.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "schemas/snapshot.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::adapters::kafka;

namespace {

std::vector<std::byte> bytes(std::size_t size, int fill) {
  return std::vector<std::byte>(size, static_cast<std::byte>(fill));
}

// A compacted topic: of each key the last record.
class Topic {
 public:
  void write(const std::vector<StateRecord>& records) {
    for (const auto& record : records) {
      CHECK((record.tombstone || record.value.size() <= schemas::most_part_bytes));
      if (record.tombstone) CHECK(records_.erase(record.key) == 1);
      else records_[record.key] = record.value;
    }
  }
  [[nodiscard]] stream::Result<std::optional<stream::Stored>> read(int partition, StateIndex& index) const {
    StateAssembler state{partition};
    for (const auto& [key, value] : records_)
      if (auto added = state.add(key, value, false); !added) return added.error();
    return std::move(state).take(index);
  }
  std::map<std::string, std::vector<std::byte>> records_;
};

stream::Bundle bundle(stream::Sections sections, std::uint64_t position,
                      std::vector<stream::PackText> packs = {{"abc", "text"}}) {
  return {{}, std::move(sections), std::move(packs), stream::Position{position}};
}

void store(Topic& topic, StateIndex& index, const stream::Bundle& what) {
  const auto records = write_state(what, 4, index);
  REQUIRE(records);
  REQUIRE_FALSE(records->empty());
  CHECK(records->back().key == "4/manifest");
  topic.write(*records);
}

stream::Stored stored(const Topic& topic) {
  StateIndex index;
  const auto read = topic.read(4, index);
  REQUIRE(read);
  REQUIRE(*read);
  return **read;
}

}  // namespace

TEST_CASE("a topic without a manifest holds no state") {
  StateIndex index;
  const auto read = Topic{}.read(4, index);
  REQUIRE(read);
  CHECK_FALSE(*read);
}

TEST_CASE("what bundles stored is read back, large sections and strange names too") {
  Topic topic;
  StateIndex index;
  const stream::Sections first{{"", bytes(10, 1)}, {"a/b", bytes(3u << 20, 2)}, {std::string{"n\0\n", 3}, bytes(5, 3)}};
  store(topic, index, bundle(first, 100));
  CHECK(stored(topic).sections == first);
  CHECK(static_cast<std::uint64_t>(stored(topic).position) == 100);
  CHECK(topic.records_.contains("4/section/3/a/b"));

  store(topic, index, bundle({{"", bytes(11, 1)}, {"a/b", bytes(7, 2)}}, 200));  // three parts less
  CHECK_FALSE(topic.records_.contains("4/section/1/a/b"));
  CHECK(stored(topic).sections.at("a/b") == bytes(7, 2));
  CHECK(stored(topic).sections.size() == 3);

  store(topic, index, bundle({{"a/b", {}}}, 300));
  CHECK(stored(topic).sections.size() == 2);
  CHECK(static_cast<std::uint64_t>(stored(topic).position) == 300);
}

TEST_CASE("a section that did not change is not written again") {
  Topic topic;
  StateIndex index;
  store(topic, index, bundle({{"", bytes(10, 1)}, {"job", bytes(9, 1)}}, 1));
  const auto again = write_state(bundle({{"", bytes(10, 1)}, {"job", bytes(9, 1)}}, 2), 4, index);
  REQUIRE(again);
  CHECK(again->size() == 1);
}

TEST_CASE("a pack stays as long as a section came with it") {
  Topic topic;
  StateIndex index;
  store(topic, index, bundle({{"", bytes(1, 1)}, {"job", bytes(1, 1)}}, 1, {{"old", "old text"}}));
  store(topic, index, bundle({{"", bytes(1, 2)}}, 2, {{"new", "new text"}}));
  CHECK(stored(topic).packs.size() == 2);
  store(topic, index, bundle({{"job", bytes(1, 2)}}, 3, {{"new", "new text"}}));
  const auto packs = stored(topic).packs;
  REQUIRE(packs.size() == 1);
  CHECK(packs.front().hash == "new");
  CHECK(packs.front().text == "new text");
  CHECK_FALSE(topic.records_.contains("4/pack/old"));
}

TEST_CASE("a pack that the topic has is named without its text, and one that it lacks must come with it") {
  Topic topic;
  StateIndex index;
  CHECK_FALSE(write_state(bundle({{"", bytes(1, 1)}}, 1, {{"abc", ""}}), 4, index));
  index = {};
  store(topic, index, bundle({{"", bytes(1, 1)}, {"job", bytes(1, 1)}}, 1));
  store(topic, index, bundle({{"", bytes(1, 2)}}, 2, {{"abc", ""}, {"new", "new text"}}));
  store(topic, index, bundle({{"job", bytes(1, 2)}}, 3, {{"abc", ""}}));
  REQUIRE(stored(topic).packs.size() == 2);
  CHECK(stored(topic).packs.front().text == "text");
  CHECK(index.packs.contains("abc"));
}

TEST_CASE("what is missing, torn or another's is an error, never a smaller state") {
  Topic whole;
  StateIndex index, read;
  store(whole, index, bundle({{"", bytes(10, 1)}, {"job", bytes(3u << 20, 2)}, {"other", bytes(4, 3)}}, 9));
  for (const auto& [key, value] : whole.records_) {
    CAPTURE(key);
    Topic damaged = whole;
    damaged.records_[key][value.size() / 2] ^= std::byte{1};
    if (key != "4/pack/abc") CHECK_FALSE(damaged.read(4, read));  // a pack is known by its hash
    damaged = whole;
    damaged.records_.erase(key);
    const auto without = damaged.read(4, read);
    if (key == "4/manifest") CHECK((without && !*without));
    else CHECK_FALSE(without);
  }
  CHECK_FALSE(whole.read(5, read));
}

TEST_CASE("after any order of bundles and restarts, what is read is what was stored") {
  const std::uint64_t seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  Topic topic;
  StateIndex index;
  stream::Sections expected;
  for (std::uint64_t step = 1; step <= 200; ++step) {
    stream::Sections changed{{"", bytes(1 + random() % 50, static_cast<int>(step))}};
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      const std::string name = "job" + std::to_string(random() % 6);
      const bool gone = random() % 4 == 0;
      if (gone && !expected.contains(name)) continue;
      changed[name] = gone ? std::vector<std::byte>{}
                           : bytes(random() % 8 == 0 ? (2u << 20) + random() % 1000 : 1 + random() % 100,
                                   static_cast<int>(random()));
    }
    store(topic, index, bundle(changed, step));
    for (const auto& [name, content] : changed) {
      if (content.empty()) expected.erase(name);
      else expected[name] = content;
    }
    if (random() % 5 == 0) {
      StateIndex restarted;
      const auto read = topic.read(4, restarted);
      REQUIRE(read);
      REQUIRE(*read);
      REQUIRE((*read)->sections == expected);
      index = restarted;
    }
  }
}
