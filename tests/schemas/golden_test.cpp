// Payloads that must decode to the same for ever, and that today's encoder must give byte for byte. After a deliberate
// new form: TOCSIN_WRITE_GOLDEN=1 writes the files that are missing; those that are there are never written over.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "schemas/snapshot.h"
#include "tests/schemas/entries.h"

using namespace tocsin;
using namespace tocsin::schemas;
using namespace tocsin::tests;

namespace {

std::vector<std::byte> golden(const std::string& name, const std::vector<std::byte>& today) {
  const std::filesystem::path path =
      std::filesystem::path{TOCSIN_SOURCE_DIR} / "tests/schemas/golden" / (name + ".bin");
  if (std::getenv("TOCSIN_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(path)) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(today.data()),
                                                static_cast<std::streamsize>(today.size()));
  }
  std::ifstream file{path, std::ios::binary};
  const std::string content{std::istreambuf_iterator<char>{file}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(content.data());
  return {bytes, bytes + content.size()};
}

void holds(const std::string& name, EntryBuilder& builder) {
  CAPTURE(name);
  const auto today = encode(builder.entry());
  const auto stored = golden(name, today);
  CHECK(stored == today);
  Decoder decoder;
  const auto entry = decoder.decode(stored, {}, {}, at(2000));
  REQUIRE(entry);
  CHECK((*entry)->rejected_blocks == 0);
  CHECK(in_words(**entry) == in_words(builder.entry()));
}

}  // namespace

TEST_CASE("envelopes written by the first version decode to the same, and are what is written today") {
  EntryBuilder everything, slice, one, beat, lines;
  fill_with_everything(everything);
  holds("envelope_everything", everything);

  slice.about("llama-70b");
  slice.produced_by("judge/slice", 1, 1);
  for (std::int64_t second = 0; second < 2; ++second)
    for (std::uint32_t rank = 0; rank < 64; ++rank) {
      const std::array values{EntryBuilder::Value{"sm_active", rank / 64.0, {}, false},
                              EntryBuilder::Value{"gpu_power", 300, {}, false}};
      slice.sample(at(1000 + second), EntryBuilder::rank(rank), values, "sampler");
    }
  holds("envelope_slice", slice);

  one.about("llama-70b");
  const EntryBuilder::Value loss{"loss", 2.31, {}, false};
  one.sample(at(1000), EntryBuilder::rank(3), {&loss, 1});
  holds("envelope_one_sample", one);

  beat.beat();
  holds("envelope_beat", beat);

  lines.about("llama-70b", "1");
  for (std::uint32_t i = 0; i < 8; ++i)
    lines.line(at(1000 + i), EntryBuilder::rank(i % 3), "line " + std::to_string(i), i % 2 != 0);
  holds("envelope_lines", lines);

  lines.clear();
  lines.about("llama-70b", "1");
  for (std::uint32_t i = 0; i < 8; ++i)
    lines.line(at(1000 + i), EntryBuilder::rank(i % 3), "line " + std::to_string(i), i % 2 != 0,
               i < 3   ? ""
               : i < 6 ? "kernel_log"
                       : "log");
  holds("envelope_lines_of_sources", lines);
}

TEST_CASE(
    "parts of sections written by the version before are put together to the same, and what is written today stays") {
  std::vector<std::byte> content(100, std::byte{9});
  std::vector<std::byte> today;
  REQUIRE(write_section("llama-70b", content, [&](std::span<const std::byte> message) {
    today.assign(message.begin(), message.end());
    return stream::Result<void>{};
  }));
  CHECK(golden("section_part_of_format_4", today) == today);
  SectionAssembler assembler;
  REQUIRE(assembler.add(golden("section_part", today)));
  CHECK(assembler.section() == "llama-70b");
  CHECK(*std::move(assembler).take() == content);
}
