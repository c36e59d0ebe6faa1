#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <map>
#include <random>

#include "stream/values/archive.h"
#include "stream/values/copy_on_write.h"
#include "stream/values/value.h"
#include "tests/seed.h"

using namespace tocsin::stream;

namespace {

struct Small {
  std::uint32_t a = 1, b = 2;
};

struct Of {
  std::int32_t number = 7;
  std::string text = "none";
  std::optional<Time> at;
  std::vector<double> values;
  std::deque<std::uint16_t> queue;
  std::map<std::string, std::vector<Truth>> by_name;
  std::vector<std::pair<Time, std::string>> pairs;
  std::array<std::vector<std::uint8_t>, 3> three;
  std::vector<Small> packed, columns;
  bool flag = false;
  static void fields(auto& self, auto& archive) {
    archive(1, self.number), archive(2, self.text), archive(3, self.at), archive(4, self.values),
        archive(5, self.queue);
    archive(6, self.by_name), archive(7, self.pairs), archive(8, self.three), archive(9, self.packed);
    archive.columns(10, self.columns, &Small::a, &Small::b);
    archive(11, self.flag);
  }
};

Of whole() {
  Of of{-3, "some", at_nanoseconds(5), {1, absent},      {1, 2, 3}, {{"a", {Truth::yes}}, {"b", {}}},
        {}, {},     {{3, 4}},          {{5, 6}, {7, 8}}, true};
  of.pairs = {{at_nanoseconds(1), "x"}, {at_nanoseconds(2), ""}};
  of.three[1] = {9};
  return of;
}

std::vector<std::byte> written(const auto& fill) {
  Writer out;
  fill(out);
  return std::move(out).take();
}
std::vector<std::byte> written(const Of& of) {
  return written([&](Writer& out) { Of::fields(of, out); });
}

}  // namespace

TEST_CASE("what an archive holds is read back, and written again gives the same bytes") {
  const auto bytes = written(whole());
  Of read;
  Reader in{bytes};
  Of::fields(read, in);
  REQUIRE(in.status());
  CHECK(read.number == -3);
  CHECK(read.at == at_nanoseconds(5));
  CHECK(read.columns[1].b == 8);
  CHECK(read.pairs[0].second == "x");
  CHECK(written(read) == bytes);
}

TEST_CASE("fields that are written later are where they would be, had they been written at once") {
  const auto fields = [](auto&& middle, auto&& end) {
    return written([&](Writer& out) {
      out(1, 1);
      out.object(2, [&](Writer& of) {
        of(1, 1), of.object(2, middle), of(3, std::string{"behind"});
        end(of);
      });
      end(out), end(out);
      out(900, 3);
    });
  };
  const auto middle = [](Writer& out) { out(1, std::vector{0.5, absent}), out(2, std::string{"some"}); };
  const auto end = [](Writer& out) { out(7, 8), out(8, whole().by_name); };
  CHECK(fields([&](Writer& out) { out.later(middle); }, [&](Writer& out) { out.later(end); }) == fields(middle, end));
}

TEST_CASE("a value that is lent is copied only where it changes before it is given back") {
  CopyOnWrite<std::vector<int>> value{{1, 2, 3}};
  const int* const first = value->data();
  auto lent = value.lend();
  CHECK(lent == value.lend());
  CHECK(lent->data() == first);
  CHECK(*value == std::vector{1, 2, 3});
  value.own().push_back(4);
  CHECK(*lent == std::vector{1, 2, 3});
  CHECK(*value == std::vector{1, 2, 3, 4});

  const int* const again = value->data();
  (void)value.lend();  // and given back
  value.own()[0] = 5;
  CHECK(value->data() == again);
  lent = value.lend();
  CopyOnWrite<std::vector<int>> copy{value}, moved{std::move(value)};
  moved.own()[0] = 6, copy.own()[0] = 7;
  CHECK(*lent == std::vector{5, 2, 3, 4});
  CHECK(*moved == std::vector{6, 2, 3, 4});
  CHECK(*copy == std::vector{7, 2, 3, 4});
}

TEST_CASE("a field that a reader does not know is skipped, and one that is missing keeps its default") {
  const auto newer = written([](Writer& out) {
    out(900, std::string{"later"});
    out(2, std::string{"known"});
    out.list(901, std::vector{1, 2}, [](Writer& of, int i) { of(1, i); });
    out.object(
        10, [](Writer& columns) { columns(1, std::vector<std::uint32_t>{4}), columns(3, std::vector<double>{0.5}); });
  });
  Of read;
  Reader in{newer};
  Of::fields(read, in);
  REQUIRE(in.status());
  CHECK(read.text == "known");
  CHECK(read.number == 7);
  CHECK_FALSE(read.at);
  REQUIRE(read.columns.size() == 1);
  CHECK(read.columns[0].a == 4);
  CHECK(read.columns[0].b == 2);
}

TEST_CASE("a packed struct may gain members at its end") {
  struct Longer {
    std::uint32_t a, b, c;
  };
  const auto newer = written([](Writer& out) { out(9, std::vector<Longer>{{3, 4, 5}, {6, 7, 8}}); });
  Of read;
  Reader in{newer};
  Of::fields(read, in);
  REQUIRE(read.packed.size() == 2);
  CHECK(read.packed[1].b == 7);
  const auto older = written([](Writer& out) { out(9, std::vector<std::uint32_t>{3, 6}); });
  Reader of_older{older};
  Of::fields(read, of_older);
  REQUIRE(of_older.status());
  CHECK(read.packed[1].a == 6);
  CHECK(read.packed[1].b == 2);
}

TEST_CASE("an archive that is cut anywhere is refused") {
  const auto bytes = written(whole());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Of read;
    Reader in{std::span{bytes}.first(size)};
    Of::fields(read, in);
    CHECK_FALSE(in.status());
  }
}

TEST_CASE("a number of another size, a value that is no enumerator and columns of different lengths are refused") {
  const auto refused = [](const auto& fill) {
    const auto bytes = written(fill);
    Of read;
    Reader in{bytes};
    Of::fields(read, in);
    return !in.status();
  };
  CHECK(refused([](Writer& out) { out(1, std::int64_t{1}); }));
  CHECK(refused([](Writer& out) { out(4, std::vector<float>{1}); }));
  CHECK(refused([](Writer& out) { out(6, std::map<std::string, std::vector<std::uint8_t>>{{"a", {3}}}); }));
  CHECK(refused([](Writer& out) {
    out.object(10, [](Writer& columns) {
      columns(1, std::vector<std::uint32_t>{4}), columns(2, std::vector<std::uint32_t>{1, 2});
    });
  }));
}

TEST_CASE("no bytes crash a reader") {
  const auto bytes = written(whole());
  std::mt19937_64 random{tocsin::test::seed()};
  for (int i = 0; i < 20'000; ++i) {
    auto changed = bytes;
    for (auto n = 1 + random() % 4; n > 0; --n) changed[random() % changed.size()] = static_cast<std::byte>(random());
    Of read;
    Reader in{changed};
    Of::fields(read, in);
    CHECK(written(read).size() < 100 * bytes.size());
  }
}
