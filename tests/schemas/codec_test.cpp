#include "schemas/codec.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <type_traits>

#include "tests/schemas/entries.h"

using namespace tocsin;
using namespace tocsin::schemas;
using namespace tocsin::tests;

TEST_CASE("an entry comes out of encode and decode as it went in") {
  EntryBuilder builder;
  fill_with_everything(builder);
  const auto& before = builder.entry();
  Decoder decoder;
  const auto message = encode(before);
  const auto after = decoder.decode(message, stream::Position{7}, stream::Position{9}, at(2000));
  REQUIRE(after);
  CHECK((*after)->position == stream::Position{7});
  CHECK((*after)->next == stream::Position{9});
  CHECK((*after)->arrival == at(2000));
  CHECK((*after)->rejected_blocks == 0);
  CHECK(in_words(**after) == in_words(before));
  CHECK(encode(**after) == message);
}

TEST_CASE("records stand in the order in which they were added, whatever their kinds") {
  const auto words_of = [](const stream::Entry& entry) {
    std::string words;
    in_order(entry, [&](const auto& record) {
      using Record = std::remove_cvref_t<decltype(record)>;
      if constexpr (std::is_same_v<Record, stream::SampleBlock>) words += "s" + std::to_string(record.size());
      else if constexpr (std::is_same_v<Record, stream::LineRecord>) words += record.text;
      else if constexpr (std::is_same_v<Record, stream::EventRecord>) words += record.name;
      else words += record.source;
      words += ' ';
    });
    return words;
  };
  const auto as_read = [&](EntryBuilder& builder) {
    Decoder decoder;
    const auto bytes = encode(builder.entry());
    const auto entry = decoder.decode(bytes, {}, {}, at(1));
    REQUIRE(entry);
    CHECK(words_of(**entry) == words_of(builder.entry()));
    return words_of(**entry);
  };
  const std::array value{EntryBuilder::Value{"x", 1, {}, false}};
  EntryBuilder mixed;
  mixed.line(at(1), EntryBuilder::rank(0), "a");
  for (const std::int64_t second : {1, 2})
    for (std::uint32_t rank = 0; rank < 2; ++rank) mixed.sample(at(second), EntryBuilder::rank(rank), value);
  mixed.sample(at(3), EntryBuilder::rank(0), value);  // its row lacks a member
  mixed.event(at(1), EntryBuilder::rank(0), "boom", {});
  mixed.sample(at(3), EntryBuilder::rank(1), value);
  mixed.coverage("log", {});
  mixed.line(at(1), EntryBuilder::rank(0), "b");
  mixed.event(at(1), EntryBuilder::rank(0), "member", {});
  CHECK(as_read(mixed) == "a s4 s1 boom s1 log b member ");
  EntryBuilder usual;
  usual.event(at(1), EntryBuilder::job(), "start", {});
  usual.sample(at(1), EntryBuilder::rank(0), value);
  usual.line(at(1), EntryBuilder::rank(0), "a");
  usual.event(at(1), EntryBuilder::job(), "end", {});
  usual.event(at(1), EntryBuilder::rank(0), "boom", {});
  usual.coverage("log", {});
  CHECK(as_read(usual) == "start s1 a boom log end ");
  CHECK(usual.entry().order.empty());
  EntryBuilder moved;  // a rank between nodes is one member
  for (const char* node : {"n1", "n2"}) moved.sample(at(1), {stream::Level::rank, 0, node, {}}, value);
  CHECK(as_read(moved) == "s1 s1 ");
  stream::Entry torn = mixed.entry();  // it does not name all records
  torn.order = torn.order.first(torn.order.size() - 1);
  Decoder decoder;
  CHECK((*decoder.decode(encode(torn), {}, {}, at(1)))->order.empty());
}

TEST_CASE("samples of one layout become one block where they fill a grid, and blocks of their own where not") {
  EntryBuilder builder;
  const auto add = [&](std::int64_t second, std::uint32_t rank, const char* name = "x") {
    const EntryBuilder::Value value{name, static_cast<double>(rank), {}, false};
    builder.sample(at(second), EntryBuilder::rank(rank), {&value, 1});
  };
  const auto shapes = [&] {
    std::vector<std::pair<std::size_t, std::size_t>> out;
    for (const auto& block : builder.entry().samples) {
      CHECK(block.size() == block.narrow.size() + block.wide.size());
      out.emplace_back(block.times.size(), block.members.size());
    }
    return out;
  };
  using Shapes = std::vector<std::pair<std::size_t, std::size_t>>;

  SUBCASE("members of one time") {
    for (std::uint32_t rank = 0; rank < 1024; ++rank) add(1, rank);
    CHECK(shapes() == Shapes{{1, 1024}});
  }
  SUBCASE("times of one member") {
    for (std::int64_t second = 0; second < 60; ++second) add(second, 5);
    CHECK(shapes() == Shapes{{60, 1}});
  }
  SUBCASE("times of several members") {
    for (std::int64_t second = 0; second < 3; ++second)
      for (std::uint32_t rank = 0; rank < 4; ++rank) add(second, rank);
    CHECK(shapes() == Shapes{{3, 4}});
  }
  SUBCASE("a last row that is not full") {
    for (std::int64_t second = 0; second < 3; ++second)
      for (std::uint32_t rank = 0; rank < 4; ++rank)
        if (second < 2 || rank < 3) add(second, rank);
    CHECK(shapes() == Shapes{{2, 4}, {1, 3}});
  }
  SUBCASE("a row that lacks a member in the middle") {
    for (const auto rank : {0u, 1u, 2u}) add(1, rank);
    for (const auto rank : {0u, 2u}) add(2, rank);
    add(3, 0);
    CHECK(shapes() == Shapes{{1, 3}, {1, 2}, {1, 1}});  // the third second could not continue the second
  }
  SUBCASE("a row whose members have different times") {
    add(1, 0), add(1, 1), add(2, 0), add(3, 1);
    CHECK(shapes() == Shapes{{1, 2}, {1, 1}, {1, 1}});
  }
  SUBCASE("the same member and time twice") {
    add(1, 0), add(1, 1), add(1, 0);
    CHECK(shapes() == Shapes{{1, 2}, {1, 1}});
  }
  SUBCASE("other signals") {
    add(1, 0, "x"), add(1, 0, "y"), add(1, 1, "y");
    CHECK(shapes() == Shapes{{1, 1}, {1, 2}});
  }
}

TEST_CASE("a row that becomes a block of its own takes only its own texts with it") {
  EntryBuilder builder;
  builder.about("llama");
  const auto state = [&](std::int64_t second, std::uint32_t rank, const std::string& text) {
    const std::array values{EntryBuilder::Value{"phase", 0, text, true}};
    builder.sample(at(second), EntryBuilder::rank(rank), values);
  };
  for (std::uint32_t rank = 0; rank < 8; ++rank) state(1, rank, std::string(1000, static_cast<char>('a' + rank)));
  for (std::int64_t second = 2; second < 100; ++second) {  // rows that each lack other ranks
    state(second, 0, "train");
    state(second, second % 2 == 0 ? 5 : 7, "save");
  }
  const auto message = schemas::encode(builder.entry());
  CHECK(message.size() < 40'000);
  schemas::Decoder decoder;
  const auto entry = decoder.decode(message, {}, {}, at(1000));
  REQUIRE(entry);
  CHECK(in_words(**entry) == in_words(builder.entry()));
  CHECK((*entry)->rejected_blocks == 0);
}

TEST_CASE("values that a float holds exactly are sent as floats, all others as doubles") {
  EntryBuilder builder;
  const EntryBuilder::Value half{"a", 0.5, {}, false}, third{"b", 1.0 / 3, {}, false},
      absent{"c", stream::absent, {}, false};
  builder.sample(at(1), EntryBuilder::job(), {&half, 1});
  builder.sample(at(1), EntryBuilder::job(), {&third, 1});
  builder.sample(at(1), EntryBuilder::job(), {&absent, 1});
  const auto& entry = builder.entry();
  REQUIRE(entry.samples.size() == 3);
  CHECK(entry.samples[0].narrow.size() == 1);
  CHECK(entry.samples[1].wide.size() == 1);
  CHECK(entry.samples[1].value(0) == 1.0 / 3);
  CHECK(entry.samples[2].present.size() == 1);
  CHECK_FALSE(entry.samples[2].has(0));
}

TEST_CASE("ranks with gaps between them, and lines of any length, come out as they went in") {
  EntryBuilder builder;
  const EntryBuilder::Value value{"a", 1, {}, false};
  for (const std::uint32_t rank : {3, 5, 6, 7, 9, 20}) builder.sample(at(1), EntryBuilder::rank(rank), {&value, 1});
  const std::string text(100'000, 'x');
  builder.line(at(1), EntryBuilder::rank(0), text);
  Decoder decoder;
  const auto entry = decoder.decode(encode(builder.entry()), {}, {}, at(1));
  REQUIRE(entry);
  std::vector<std::uint32_t> ranks;
  for (const auto& member : (*entry)->samples[0].members) ranks.push_back(member.rank);
  CHECK(ranks == std::vector<std::uint32_t>{3, 5, 6, 7, 9, 20});
  CHECK((*entry)->lines[0].text == text);
}

TEST_CASE("times and arrivals years off are moved within bounds, not refused") {
  EntryBuilder builder;
  const EntryBuilder::Value value{"a", 1, {}, false};
  builder.sample(stream::long_ago, EntryBuilder::job(), {&value, 1});
  builder.sample(stream::never, EntryBuilder::rank(0), {&value, 1});
  builder.line(stream::never, EntryBuilder::job(), "x");
  builder.event(stream::never, EntryBuilder::job(), "e", {});
  builder.watermark("s", stream::never, stream::long_ago);
  Decoder decoder;
  const auto entry = decoder.decode(encode(builder.entry()), {}, {}, stream::long_ago);
  REQUIRE(entry);
  CHECK((*entry)->rejected_blocks == 0);
  CHECK(stream::nanoseconds((*entry)->samples[0].times[0]) == 0);
  CHECK(stream::nanoseconds((*entry)->samples[1].times[0]) == std::int64_t{1} << 62);
  CHECK(stream::nanoseconds((*entry)->lines[0].time) == std::int64_t{1} << 62);
  CHECK(stream::nanoseconds((*entry)->events[0].time) == std::int64_t{1} << 62);
  CHECK(stream::nanoseconds((*entry)->controls[0].read_up_to) == std::int64_t{1} << 62);
  CHECK(stream::nanoseconds((*entry)->controls[0].gap_from) == 0);
  CHECK(stream::nanoseconds((*entry)->arrival) == 0);
}

TEST_CASE("of a re-keyed record the arrival is that at its source") {
  stream::Entry entry;
  entry.subject = "job";
  entry.origin_source = "raw/7";
  entry.origin_offset = 42;
  entry.arrival = at(100);
  Decoder decoder;
  const auto after = decoder.decode(encode(entry), {}, {}, at(500));
  REQUIRE(after);
  CHECK((*after)->arrival == at(100));
  CHECK((*after)->origin_source == "raw/7");
  CHECK((*after)->origin_offset == 42);
}

TEST_CASE("a warm decoder gives the same for the same message, whatever it read between") {
  EntryBuilder builder;
  fill_with_everything(builder);
  const auto message = encode(builder.entry());
  Decoder decoder;
  const std::string first = in_words(**decoder.decode(message, {}, {}, at(1)));
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    EntryBuilder other;
    const EntryBuilder::Value value{"signal ", static_cast<double>(i), {}, false};
    for (std::uint32_t rank = 0; rank < 8; ++rank)
      other.sample(at(1), {stream::Level::gpu, 0, "node" + std::to_string(i), std::to_string(rank)}, {&value, 1});
    const auto entry = decoder.decode(encode(other.entry()), {}, {}, at(1));
    REQUIRE(entry);
    CHECK((*entry)->samples[0].members[7].node == "node" + std::to_string(i));
  }
  CHECK(in_words(**decoder.decode(message, {}, {}, at(1))) == first);
}

TEST_CASE("lists of members that come in turn are remembered, however many nodes send them") {
  Decoder decoder;
  const std::array value{EntryBuilder::Value{"x", 1, {}, false}};
  const auto remembered = [&] {
    int count = 0;
    for (int node = 0; node < 4'096; ++node) {
      EntryBuilder builder;
      for (int gpu = 0; gpu < 8; ++gpu)
        builder.sample(at(1), {stream::Level::gpu, 0, "n" + std::to_string(node), std::to_string(gpu)}, value);
      const auto bytes = encode(builder.entry());
      const auto entry = decoder.decode(bytes, {}, {}, at(1));
      REQUIRE(entry);
      count += (*entry)->samples.front().remembered;
    }
    return count;
  };
  CHECK(remembered() == 0);
  CHECK(remembered() > 3'300);
  CHECK(remembered() > 4'000);
}
