// Torn, flipped, random and lying messages: refused or counted, never a crash, never more work than their size pays
// for.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "schemas/layout.h"
#include "schemas/snapshot.h"
#include "tests/schemas/blocks.h"
#include "tests/schemas/entries.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::schemas;
using namespace tocsin::tests;

namespace {

std::vector<std::byte> everything() {
  EntryBuilder builder;
  fill_with_everything(builder);
  return encode(builder.entry());
}

}  // namespace

TEST_CASE("a message cut at any length is refused, or reads as an entry with rejected blocks") {
  const auto message = everything();
  Decoder decoder;
  for (std::size_t size = 0; size < message.size(); ++size) {
    const auto entry = decoder.decode(std::span{message}.first(size), {}, {}, at(1));
    if (entry) touch(**entry);
  }
}

TEST_CASE("a message with any bit flipped is refused, or reads as some entry") {
  const auto message = everything();
  Decoder decoder;
  std::size_t whole = 0;
  for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
    auto flipped = message;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    const auto entry = decoder.decode(flipped, {}, {}, at(1));
    if (entry) touch(**entry), ++whole;
  }
  CHECK(whole > 0);
}

TEST_CASE("random bytes are no message, and random damage no crash") {
  std::mt19937_64 random{tocsin::test::seed(20240817)};
  Decoder decoder;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 300);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    if (bytes.size() > 8) std::memcpy(bytes.data() + 4, "TOCE", 4);
    if (bytes.size() > 8) bytes[1] = bytes[2] = bytes[3] = std::byte{0};
    const auto entry = decoder.decode(bytes, {}, {}, at(1));
    if (entry) touch(**entry);
  }
  const auto message = everything();
  for (int round = 0; round < 20'000; ++round) {
    auto damaged = message;
    for (auto i = random() % 8; i-- > 0;) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const auto entry = decoder.decode(damaged, {}, {}, at(1));
    if (entry) touch(**entry);
  }
}

TEST_CASE("a decoder that has read messages like it reads a message as a new one does, damaged or not") {
  std::mt19937 generator{tocsin::test::seed(1303)};
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  Decoder warm;
  std::vector<std::vector<std::byte>> read;
  const char* const names[] = {"loss", "gain", "sm_active"};
  for (int round = 0; round < 6000; ++round) {
    std::vector<std::byte> message;
    if (round % 3 != 0 && !read.empty()) {  // one of before, with a byte or two changed
      message = read[random() % read.size()];
      for (std::size_t n = random() % 3; n > 0; --n)
        message[random() % message.size()] ^= static_cast<std::byte>(1 << random() % 8);
    } else {
      EntryBuilder b;
      b.about("job-" + std::to_string(random() % 3), {}, random() % 2 ? "n1" : "");
      if (random() % 2) b.produced_by("p" + std::to_string(random() % 4), random() % 3, 1 + random() % 1000);
      for (std::size_t blocks = 1 + random() % 2; blocks > 0; --blocks) {
        const EntryBuilder::Value values[] = {
            {names[random() % 3], random() % 8 == 0 ? stream::absent : random() / 7.0, {}, false},
            {"step", static_cast<double>(random() % 50), {}, false}};
        b.sample(at(random() % 100), EntryBuilder::rank(random() % 300), std::span{values, 1 + random() % 2},
                 random() % 2 ? "log" : "");
      }
      if (random() % 5 == 0) b.line(at(1), EntryBuilder::rank(1), "a line");
      stream::Entry entry = b.entry();
      if (random() % 4 == 0)
        entry.origin_source = "raw/1", entry.origin_offset = random(), entry.arrival = at(random() % 100);
      message = encode(entry);
      read.push_back(message);
    }
    Decoder fresh;
    const auto expected = fresh.decode(message, {}, {}, at(7));
    const auto got = warm.decode(message, {}, {}, at(7));
    REQUIRE(static_cast<bool>(got) == static_cast<bool>(expected));
    if (!got) continue;
    REQUIRE((*got)->rejected_blocks == (*expected)->rejected_blocks);
    REQUIRE((*got)->arrival == (*expected)->arrival);
    REQUIRE(in_words(**got) == in_words(**expected));
  }
}

TEST_CASE("a message whose fields lie over one another is read by a warm decoder as by a new one") {
  EntryBuilder b;
  b.about("job", "1", "n1");
  b.produced_by("p", 2, 7);
  const EntryBuilder::Value value[] = {{"loss", 2.5, {}, false}};
  b.sample(at(5), EntryBuilder::rank(3), value, "log");
  const std::vector<std::byte> whole = encode(b.entry());
  const auto number = [](const std::vector<std::byte>& bytes, std::size_t place, std::size_t size) {
    std::uint32_t read = 0;
    std::memcpy(&read, bytes.data() + place, size);
    return read;
  };
  const std::size_t table = number(whole, 0, 4), fields = table - static_cast<std::int32_t>(number(whole, table, 4));
  const std::size_t end = fields + number(whole, fields, 2);
  std::size_t reported = 0;
  for (std::size_t one = fields + 4; one < end; one += 2)
    for (std::size_t other = fields + 4; other < end; other += 2) {
      if (number(whole, other, 2) == 0) continue;
      std::vector<std::byte> lying = whole;
      std::memcpy(lying.data() + one, whole.data() + other, 2);
      Decoder warm;
      (void)warm.decode(lying, {}, {}, at(7));
      for (std::size_t i = 0; i < 8; ++i) {
        std::vector<std::byte> changed = lying;
        changed[table + number(whole, other, 2) + i % 4] ^= static_cast<std::byte>(i < 4 ? 1 : 4);
        Decoder fresh;
        const auto expected = fresh.decode(changed, {}, {}, at(7));
        const auto got = warm.decode(changed, {}, {}, at(7));
        REQUIRE(static_cast<bool>(got) == static_cast<bool>(expected));
        if (!got) continue;
        REQUIRE((*got)->rejected_blocks == (*expected)->rejected_blocks);
        REQUIRE(in_words(**got) == in_words(**expected));
        ++reported;
      }
    }
  CHECK(reported > 20);
}

TEST_CASE("a block whose parts do not fit each other costs itself, not its neighbours") {
  CHECK(rejected(a_block()) == 0);
  auto block = a_block();
  const std::array<float, 5> five{};
  const std::array<double, 4> four{};
  const std::array<std::uint8_t, 3> present{};
  SUBCASE("too many values") { block.narrow = five; }
  SUBCASE("too few values") { block.narrow = block.narrow.first(3); }
  SUBCASE("no values") { block.narrow = {}; }
  SUBCASE("narrow and wide values") { block.wide = four; }
  SUBCASE("no times") { block.times = {}; }
  SUBCASE("no members") { block.members = {}; }
  SUBCASE("presence bits of another size") { block.present = present; }
  SUBCASE("a torn layout") { block.layout = "\x01\x05"; }
  SUBCASE("a kind that nobody knows") { block.layout = std::string_view{"\x09\x01\x00x\x00\x00", 6}; }
  SUBCASE("members of no level") { block.membership = std::string_view{"\x07", 1}; }
  SUBCASE("a run of members that no values stand behind") {
    block.membership = std::string_view{"\x25\x00\x00\x00\x00\xff\xff\xff\x7f", 9};
  }
  SUBCASE("a run over the last rank") {
    block.membership = std::string_view{"\x25\xff\xff\xff\xff\x02\x00\x00\x00", 9};
  }
  SUBCASE("more members than values, behind a long name") {
    static const std::string long_name = std::string{"\x0b\x20\x00", 3} + std::string(32, 'n');
    block.membership = long_name;
  }
  CHECK(rejected(block) == 1);
}

TEST_CASE("values of text signals must be indices of texts") {
  const stream::SampleBlock::Signal signal{"state", "text", stream::SignalKind::state};
  const std::array<std::string_view, 2> texts{"R", "D"};
  auto block = a_block();
  block.signals = {&signal, 1};
  block.texts = texts;
  const auto with = [&](float value) {
    const std::array values{0.f, 1.f, value, 0.f};
    block.narrow = values;
    return rejected(block);
  };
  CHECK(with(1) == 0);
  for (const float value :
       {2.f, -1.f, 0.5f, 1e30f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    CHECK(with(value) == 1);
  const std::array<std::uint8_t, 1> present{0b1011};  // the third is absent: what stands there does not matter
  block.present = present;
  CHECK(with(7) == 0);
}

TEST_CASE("members that no values stand behind are limited for the whole message") {
  std::vector<stream::CoverageRecord> coverage;
  std::vector<stream::MemberKey> ranks(200'000);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) ranks[i] = {stream::Level::rank, i, {}, {}};
  for (int i = 0; i < 100; ++i) coverage.push_back({"log", ranks});
  stream::Entry entry;
  entry.coverage = coverage;
  const auto message = encode(entry);
  CHECK(message.size() < 10'000);  // a run is short, what it names is not
  Decoder decoder;
  const auto read = decoder.decode(message, {}, {}, at(1));
  REQUIRE(read);
  CHECK((*read)->coverage.size() == 1);
  CHECK((*read)->rejected_blocks == 99);
}

TEST_CASE("an envelope of another form, of a newer program, or over the limit is refused with its reason") {
  auto message = everything();
  Decoder decoder;
  CHECK(decoder.decode({}, {}, {}, at(1)).error().code == stream::Errc::torn);
  CHECK(decoder.decode(std::vector<std::byte>((64u << 20) + 1), {}, {}, at(1)).error().code == stream::Errc::too_large);
  auto other = everything();
  other[4] ^= std::byte{1};  // the form's identifier
  CHECK(decoder.decode(other, {}, {}, at(1)).error().code == stream::Errc::malformed);
  // The only 16-bit 1 in the envelope's table is its format.
  stream::Entry empty;
  auto small = encode(empty);
  bool refused = false;
  for (std::size_t i = 8; i + 1 < small.size(); ++i) {
    auto newer = small;
    if (newer[i] != std::byte{1} || newer[i + 1] != std::byte{0}) continue;
    newer[i] = std::byte{2};
    const auto read = decoder.decode(newer, {}, {}, at(1));
    refused = refused || (!read && read.error().code == stream::Errc::unknown_version);
  }
  CHECK(refused);
}

TEST_CASE("torn and flipped snapshots are refused, or read as some") {
  std::mt19937_64 random{tocsin::test::seed(20240817)};
  std::vector<std::byte> part;
  const auto keep = [&](std::span<const std::byte> message) {
    return part.assign(message.begin(), message.end()), stream::Result<void>{};
  };
  REQUIRE(write_section("job", std::vector<std::byte>(20, std::byte{1}), keep));
  const auto attack = [&](const std::vector<std::byte>& message, auto read) {
    for (std::size_t size = 0; size < message.size(); ++size) read(std::span{message}.first(size));
    for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
      auto flipped = message;
      flipped[bit / 8] ^= std::byte{1} << bit % 8;
      read(flipped);
    }
    for (int round = 0; round < 5000; ++round) {
      auto damaged = message;
      for (auto i = random() % 8; i-- > 0;) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      read(damaged);
    }
  };
  attack(part, [&](std::span<const std::byte> bytes) {
    SectionAssembler assembler;
    if (assembler.add(bytes))
      CHECK((std::equal(bytes.begin(), bytes.end(), part.begin(), part.end()) || std::move(assembler).take()));
  });
}
