// Messages whose parts name more than there is, or more than a message may hold.
#include <algorithm>
#include <cstring>

#include "tests/schemas/blocks.h"

using namespace tocsin;
using namespace tocsin::schemas;
using namespace tocsin::tests;

TEST_CASE("a line of a member that its block does not have costs the block") {
  EntryBuilder builder;
  for (std::uint32_t i = 0; i < 3; ++i) builder.line(at(i), EntryBuilder::rank(100 + i), "x");
  auto message = encode(builder.entry());
  const std::array<std::uint32_t, 3> whose{0, 1, 2}, beyond{0, 1, 3};
  const auto* begin = reinterpret_cast<const std::byte*>(whose.data());
  const auto place = std::search(message.begin(), message.end(), begin, begin + sizeof whose);
  REQUIRE(place != message.end());
  Decoder decoder;
  CHECK((*decoder.decode(message, {}, {}, at(9)))->lines.size() == 3);
  std::memcpy(&*place, beyond.data(), sizeof beyond);
  const auto read = decoder.decode(message, {}, {}, at(9));
  REQUIRE(read);
  CHECK((*read)->lines.empty());
  CHECK((*read)->rejected_blocks == 1);
}

TEST_CASE("ends of lines that fall, or that leave text over, cost their block") {
  EntryBuilder builder;
  for (std::uint32_t i = 0; i < 3; ++i) builder.line(at(i), EntryBuilder::rank(0), std::string(10 + i, 'x'));
  auto message = encode(builder.entry());
  const std::array<std::uint32_t, 3> ends{10, 21, 33};
  const auto* begin = reinterpret_cast<const std::byte*>(ends.data());
  const auto place = std::search(message.begin(), message.end(), begin, begin + sizeof ends);
  REQUIRE(place != message.end());
  for (const auto& [given, lines] : {std::pair{ends, 3u}, std::pair{std::array<std::uint32_t, 3>{10, 10, 33}, 3u},
                                     std::pair{std::array<std::uint32_t, 3>{21, 10, 33}, 0u},
                                     std::pair{std::array<std::uint32_t, 3>{10, 21, 32}, 0u}}) {
    std::memcpy(&*place, given.data(), sizeof given);
    Decoder decoder;
    const auto read = decoder.decode(message, {}, {}, at(9));
    REQUIRE(read);
    CHECK((*read)->lines.size() == lines);
    CHECK((*read)->rejected_blocks == (lines == 0 ? 1 : 0));
  }
}

TEST_CASE("a control of a kind that a newer program writes is rejected, not guessed") {
  stream::ControlRecord control;
  control.kind = static_cast<stream::ControlRecord::Kind>(static_cast<int>(stream::ControlRecord::Kind::seal) + 1);
  const stream::ControlRecord beat, controls[] = {control, beat};
  stream::Entry entry;
  entry.controls = controls;
  Decoder decoder;
  const auto read = decoder.decode(encode(entry), {}, {}, at(1));
  REQUIRE(read);
  CHECK((*read)->controls.size() == 1);
  CHECK((*read)->rejected_blocks == 1);
}

TEST_CASE("a layout of as many signals as a block may have is read, and one of more is refused") {
  for (const std::size_t count : {4'096u, 4'097u}) {
    CAPTURE(count);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("s" + std::to_string(i));
    std::vector<stream::SampleBlock::Signal> signals;
    for (const auto& name : names) signals.push_back({name, "", stream::SignalKind::gauge});
    const std::vector<float> values(4 * count, 1.f);
    auto block = a_block();
    block.signals = signals;
    block.narrow = values;
    CHECK(rejected(block) == (count > 4'096 ? 1 : 0));
  }
}

TEST_CASE("what a message names several times is read once: its bytes pay for one block") {
  std::vector<stream::SampleBlock> blocks(64, a_block());
  const std::vector<float> values(2 * 2 * 500, 1.f);
  std::vector<stream::Time> times(1000, at(3));
  blocks[0].times = times, blocks[0].narrow = values;
  stream::Entry entry;
  entry.samples = blocks;
  const auto whole = encode(entry);
  const auto number = [&](const std::vector<std::byte>& bytes, std::size_t place, std::size_t size) {
    std::uint32_t read = 0;
    std::memcpy(&read, bytes.data() + place, size);
    return read;
  };
  const std::size_t table = number(whole, 0, 4), fields = table - static_cast<std::int32_t>(number(whole, table, 4));
  constexpr std::size_t samples = 10;  // the field's number in the table of an envelope
  const std::size_t pointer = table + number(whole, fields + 4 + 2 * samples, 2),
                    list = pointer + number(whole, pointer, 4);
  REQUIRE(number(whole, list, 4) == blocks.size());
  auto lying = whole;
  const std::size_t first = list + 4 + number(whole, list + 4, 4);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t at_place = list + 4 + 4 * i;
    const auto offset = static_cast<std::uint32_t>(first - at_place);
    std::memcpy(lying.data() + at_place, &offset, sizeof offset);
  }
  Decoder decoder;
  CHECK((*decoder.decode(whole, {}, {}, at(9)))->samples.size() == blocks.size());
  const auto read = decoder.decode(lying, {}, {}, at(9));
  REQUIRE(read);
  CHECK((*read)->samples.size() == 1);
  CHECK((*read)->rejected_blocks == blocks.size() - 1);
}

TEST_CASE("a run of as many members as a message may have is read, and one of more is refused") {
  for (const std::size_t count : {262'144u, 262'145u}) {
    CAPTURE(count);
    std::vector<stream::MemberKey> ranks(count);
    for (std::uint32_t i = 0; i < count; ++i) ranks[i] = {stream::Level::rank, i, {}, {}};
    const stream::CoverageRecord covered[] = {{"log", ranks}};
    stream::Entry entry;
    entry.coverage = covered;
    Decoder decoder;
    const auto message = encode(entry);
    const auto read = decoder.decode(message, {}, {}, at(1));
    REQUIRE(read);
    CHECK((*read)->rejected_blocks == (count > 262'144 ? 1 : 0));
    CHECK((*read)->coverage.size() == (count > 262'144 ? 0 : 1));
  }
}
