#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "stream/values/packed.h"
#include "stream/values/value.h"
#include "tests/seed.h"

using namespace tocsin::stream;

namespace {

struct Element {
  Time at{};
  std::uint32_t slot = 0;
  double value = 0;
  bool late = false;
  friend bool operator==(const Element& a, const Element& b) {
    return a.at == b.at && a.slot == b.slot && a.late == b.late &&
           std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  }
};

std::vector<std::byte> written(const std::vector<Element>& elements) {
  Writer out;
  pack_columns(out, 1, elements, &Element::at, &Element::slot, &Element::value, &Element::late);
  return std::move(out).take();
}
bool read(std::span<const std::byte> bytes, std::vector<Element>& elements, std::size_t most = most_of_column) {
  Reader in{bytes};
  unpack_columns(in, 1, elements, most, &Element::at, &Element::slot, &Element::value, &Element::late);
  return in.ok();
}

}  // namespace

TEST_CASE("columns of any numbers are read back to the bit") {
  std::mt19937_64 random{tocsin::test::seed(1)};
  const double odd[] = {absent, measured_nan, 0.0, -0.0, 0.1, 1e300, std::numeric_limits<double>::infinity(), 0.5};
  for (int round = 0; round < 300; ++round) {
    std::vector<Element> elements(random() % 40);
    const auto kinds = random();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      Element& e = elements[i];
      e.at = kinds & 1 ? (random() % 2 ? never : long_ago) : at_nanoseconds(1'790'000'000'000'000'000 + int(i / 7));
      e.slot = static_cast<std::uint32_t>(kinds & 2 ? random() : i % 5);
      e.value = kinds & 4 ? odd[random() % std::size(odd)] : kinds & 8 ? 7.0 : static_cast<float>(i) / 3;
      e.late = (kinds & 16) != 0 && random() % 2 == 0;
    }
    std::vector<Element> again{{}, {}};
    REQUIRE(read(written(elements), again));
    CHECK((again == elements));
  }
}

TEST_CASE("what members have in common takes few bytes, and floats take four") {
  std::vector<Element> elements(16'384);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = {at_nanoseconds(5), static_cast<std::uint32_t>(i), static_cast<float>(i) / 3, false};
  CHECK(written(elements).size() < 4 * elements.size() + 200);
  for (Element& e : elements) e.value = 0.1;
  CHECK(written(elements).size() < 200);
}

TEST_CASE("torn columns are refused or read as others, and never take more memory than they may") {
  std::mt19937_64 random{tocsin::test::seed(2)};
  std::vector<Element> elements(20), again;
  for (Element& e : elements) e = {at_nanoseconds(5), static_cast<std::uint32_t>(random() % 3), 0.1, false};
  const auto whole = written(elements);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    auto bytes = whole;
    for (auto changes = 1 + random() % 3; changes > 0; --changes)
      bytes[8 + random() % (bytes.size() - 8)] = random() % 2 ? static_cast<std::byte>(random()) : std::byte{0xFF};
    refused += read(bytes, again) ? 0 : 1;
  }
  CHECK(refused > 0);
}

TEST_CASE("a column of more numbers than there can be members is refused before it takes memory") {
  for (const std::size_t count : {most_of_column, most_of_column + 1, std::size_t{1} << 40}) {
    const bool possible = count == most_of_column;
    const auto append = [](std::vector<std::byte>& bytes, std::size_t value) {
      for (; value >= 128; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 128));
      bytes.push_back(static_cast<std::byte>(value));
    };
    std::vector<std::byte> integers{std::byte{0}}, reals{std::byte{1}};  // one run of zeros; one number for all
    append(integers, count), append(integers, count), append(integers, 0);
    append(reals, count), reals.resize(reals.size() + sizeof(double));
    Writer out;
    out(1, integers), out(2, reals);
    const auto section = std::move(out).take();
    Reader whole{section}, real{section};
    std::vector<std::uint32_t> numbers;
    std::vector<double> values;
    unpack(whole, 1, numbers), unpack(real, 2, values);
    CHECK(whole.ok() == possible);
    CHECK(real.ok() == possible);
    CHECK(numbers.size() == (possible ? count : 0));
    CHECK(values.size() == (possible ? count : 0));
    if (!possible)
      CHECK(whole.status().error().message.find("more than the 262145 that there can be") != std::string::npos);
  }
  std::vector<Element> elements(9), again;
  CHECK(read(written(elements), again, 9));
  CHECK_FALSE(read(written(elements), again, 8));
}
