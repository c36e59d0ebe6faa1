#include "schemas/snapshot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace tocsin;
using namespace tocsin::schemas;

namespace {

using Message = std::vector<std::byte>;

std::vector<Message> messages(std::string_view section, std::span<const std::byte> bytes) {
  std::vector<Message> all;
  REQUIRE(write_section(section, bytes, [&](std::span<const std::byte> message) {
    all.emplace_back(message.begin(), message.end());
    return stream::Result<void>{};
  }));
  return all;
}

std::vector<std::byte> content(std::size_t size, unsigned seed = 1) {
  std::mt19937 random{seed};
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace

TEST_CASE("a section of any size is put together from its messages in any order, none above a mebibyte") {
  const std::string name(700, 'n');
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << 20) - 956,
                                 (std::size_t{1} << 20) - 955, std::size_t{5} << 20}) {
    CAPTURE(size);
    const auto bytes = content(size);
    auto parts = messages(name, bytes);
    for (const auto& part : parts) CHECK(part.size() <= most_part_bytes);
    CHECK(parts.size() == std::max<std::size_t>((size + (1 << 20) - 957) / ((1 << 20) - 956), 1));
    std::shuffle(parts.begin(), parts.end(), std::mt19937{2});
    SectionAssembler assembler;
    for (const auto& part : parts) REQUIRE(assembler.add(part));
    CHECK(assembler.section() == name);
    CHECK(assembler.checksum() == section_checksum(name, bytes));
    CHECK(*std::move(assembler).take() == bytes);
  }
}

TEST_CASE("a section with a part missing, or with one of another version or section, is refused") {
  const auto before = messages("job", content(3 << 20)), after = messages("job", content(3 << 20, 7)),
             other = messages("other", content(3 << 20));
  SectionAssembler missing;
  for (const std::size_t part : {0, 1, 3}) REQUIRE(missing.add(before[part]));
  CHECK(std::move(missing).take().error().code == stream::Errc::torn);
  SectionAssembler mixed;
  REQUIRE(mixed.add(before[0]));
  CHECK(mixed.add(after[1]).error().code == stream::Errc::torn);
  CHECK(mixed.add(other[1]).error().code == stream::Errc::torn);
  CHECK(std::move(SectionAssembler{}).take().error().code == stream::Errc::torn);
}

TEST_CASE("a snapshot's format that is newer, or was never released, is refused") {
  CHECK(check_snapshot_format(snapshot_format));
  CHECK(check_snapshot_format(snapshot_format + 1).error().code == stream::Errc::unknown_version);
  CHECK(check_snapshot_format(oldest_snapshot_format - 1).error().code == stream::Errc::unknown_version);
}
