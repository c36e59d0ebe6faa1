// Databases of expressions that were compiled before.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "dsl/text/scanner.h"
#include "tests/seed.h"
#include "tests/text/map_store.h"

using namespace tocsin::dsl::text;

namespace {

using Store = tocsin::test::MapStore;

const std::vector<std::string> some{R"(loss[:=] NUM)", "CUDA out of memory", R"(rank \d+ died)"};

std::vector<std::uint32_t> found(const std::unique_ptr<Scanner>& scanner, std::string_view text) {
  REQUIRE(scanner != nullptr);
  auto scratch = scanner->make_scratch();
  std::vector<std::uint32_t> all;
  scanner->scan(text, scratch, all);
  return all;
}

std::unique_ptr<Scanner> compile(const std::vector<std::string>& expressions, Store& store) {
  std::vector<Scanner::Refusal> refused;
  auto scanner = Scanner::compile(expressions, refused, &store);
  CHECK(refused.empty());
  return scanner;
}

}  // namespace

TEST_CASE("a database that was compiled before is read, and finds the same") {
  Store store;
  const auto first = compile(some, store);
  CHECK(store.kept == 1);
  const auto again = compile(some, store);
  CHECK(store.kept == 1);
  for (const char* text : {"loss: 2.31", "CUDA out of memory; loss= 1", "rank 12 died", "nothing"})
    CHECK(found(again, text) == found(first, text));
  CHECK(found(again, "rank 3 died, loss: nan") == std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("a database of other expressions is not taken, also where it stands under the same name and is as long") {
  Store store, other;
  (void)compile({"one of them"}, store);
  (void)compile({"two of them"}, other);
  other.files.begin()->second = store.files.begin()->second;
  CHECK(found(compile({"two of them"}, other), "two of them") == std::vector<std::uint32_t>{0});
  CHECK(other.kept == 2);
}

TEST_CASE("a database that is cut or damaged is compiled anew") {
  Store store;
  (void)compile(some, store);
  const std::string whole = store.files.begin()->second;
  std::mt19937 random{tocsin::test::seed(7)};
  const auto holds = [&](std::string bytes) {
    Store damaged;
    damaged.files.emplace(store.files.begin()->first, std::move(bytes));
    CHECK(found(compile(some, damaged), "rank 3 died, loss: nan") == std::vector<std::uint32_t>{0, 2});
  };
  for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / tocsin::test::tries(60)) {
    CAPTURE(cut);
    holds(whole.substr(0, cut));
  }
  for (std::uint32_t i = 0; i < tocsin::test::tries(200); ++i) {
    std::string bytes = whole;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    CAPTURE(at);
    holds(std::move(bytes));
  }
}

TEST_CASE("expressions that are refused are refused with a store as well, and nothing is kept") {
  Store store;
  std::vector<Scanner::Refusal> refused;
  CHECK(Scanner::compile(std::vector<std::string>{"a*"}, refused, &store) == nullptr);
  CHECK(refused.size() == 1);
  CHECK(store.kept == 0);
}
