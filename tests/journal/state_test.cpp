#include "adapters/journal/state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include "adapters/journal/directory.h"
#include "tests/journal/directory.h"
#include "tests/journal/full_disk.h"

using namespace tocsin;
using namespace tocsin::adapters::journal;
namespace fs = std::filesystem;
using stream::Errc;

namespace {

const std::string odd_name("odd\0/name", 9);
const stream::PackText first_pack{"0123456789abcdef", "rule"}, second_pack{"fedcba9876543210", "other rule"};

std::vector<std::byte> content(std::size_t size, int seed) {
  std::mt19937 random{static_cast<unsigned>(seed)};
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

stream::Bundle bundle(std::uint64_t position, std::map<std::string, int> seeds,
                      std::vector<stream::PackText> packs = {first_pack}) {
  stream::Bundle made;
  made.position = stream::Position{position};
  for (const auto& [name, seed] : seeds) made.sections[name] = content(seed == 0 ? 0 : 10'000, seed);
  made.packs = std::move(packs);
  return made;
}

struct Directory : TestDirectory {
  Directory() { fs::create_directories(path()); }
  [[nodiscard]] fs::path state() const { return path() / "state"; }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& file : fs::recursive_directory_iterator{state()}) all.insert(fs::relative(file.path(), state()));
    return all;
  }
  // The file of the only section that is as the predicate wants it.
  [[nodiscard]] fs::path section() const {
    for (const auto& file : fs::directory_iterator{state()})
      if (file.path().filename().string().starts_with("section-")) return file.path();
    return {};
  }
};

}  // namespace

TEST_CASE("what was stored last comes back: the newest of each section, the position, and the packs that they name") {
  Directory directory;
  StateStore store{directory.path()};
  CHECK_FALSE(*store.newest());
  REQUIRE(store.store(bundle(5, {{"", 1}, {"job", 2}, {odd_name, 3}})));
  REQUIRE(store.store(bundle(9, {{"job", 4}}, {first_pack, second_pack})));
  for (StateStore* reader : {&store, new StateStore{directory.path()}}) {
    const auto stored = reader->newest();
    REQUIRE((stored && *stored));
    CHECK((*stored)->position == stream::Position{9});
    CHECK((*stored)->sections ==
          stream::Sections{{"", content(10'000, 1)}, {"job", content(10'000, 4)}, {odd_name, content(10'000, 3)}});
    REQUIRE((*stored)->packs.size() == 2);
    CHECK((*stored)->packs[0].text == first_pack.text);
    CHECK((*stored)->packs[1].hash == second_pack.hash);
    if (reader != &store) delete reader;
  }
}

TEST_CASE("one store at a time goes on from the state of a journal, and others read it meanwhile") {
  Directory directory, neighbour;
  auto first = std::make_unique<StateStore>(directory.path());
  REQUIRE(first->store(bundle(5, {{"", 1}})));
  REQUIRE(first->lock());
  StateStore second{directory.path()};
  const auto refused = second.lock();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == stream::Errc::refused);
  CHECK(refused.error().message.find(directory.path().string()) != std::string::npos);
  CHECK(second.newest());
  CHECK(StateStore{neighbour.path()}.lock());
  first.reset();
  CHECK(second.lock());
}

TEST_CASE("only the sections that changed are written, and what no section needs any more is removed") {
  Directory directory;
  StateStore store{directory.path()};
  REQUIRE(store.store(bundle(5, {{"", 1}, {"job", 2}, {"other", 3}})));
  const auto before = directory.files();
  REQUIRE(store.store(bundle(9, {{"", 1}, {"job", 4}})));
  const auto after = directory.files();
  std::vector<std::string> kept;
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(kept));
  CHECK(after.size() == before.size());
  CHECK(kept.size() == before.size() - 1);  // all but the job's
  REQUIRE(store.store(bundle(12, {{"job", 0}, {"other", 0}, {"", 5}}, {second_pack})));
  CHECK((*store.newest())->sections == stream::Sections{{"", content(10'000, 5)}});
  CHECK(directory.files().size() == 4);  // a section, the manifest, and packs with one
  CHECK((*store.newest())->packs.size() == 1);
}

TEST_CASE("a store that was cut short anywhere leaves the former state in force, and the next removes what it left") {
  Directory directory;
  REQUIRE(StateStore{directory.path()}.store(bundle(5, {{"", 1}, {"job", 2}})));
  const auto clean = directory.files();
  std::ofstream{directory.state() / "section-00000000000000000000000000000000-2"} << "half";
  std::ofstream{directory.state() / "manifest.new"} << "TOCM";
  std::ofstream{directory.state() / "packs" / (second_pack.hash + ".new")} << "ru";
  StateStore store{directory.path()};
  CHECK((*store.newest())->position == stream::Position{5});
  REQUIRE(store.store(bundle(6, {{"", 1}})));
  CHECK(directory.files() == clean);
}

TEST_CASE("a store on a full disk leaves no litter, and the former state in force") {
  Directory directory;
  StateStore store{directory.path()};
  {
    const FullDisk full{4096};
    CHECK(store.store(bundle(4, {{"", 1}})).error().code == Errc::io);
  }
  CHECK(directory.files() == std::set<std::string>{"packs"});
  CHECK_FALSE(*store.newest());
  REQUIRE(store.store(bundle(5, {{"", 1}, {"job", 2}})));
  const auto clean = directory.files();
  for (const rlim_t bytes : {0, 100, 4096, 10'300}) {
    CAPTURE(bytes);
    {
      const FullDisk full{bytes};
      auto more = bundle(9, {{"", 3}, {"job", 4}}, {first_pack, second_pack});
      more.sections["long"] = content(20'000, 5);
      CHECK_FALSE(store.store(more));
    }
    CHECK(directory.files() == clean);
    CHECK((*store.newest())->position == stream::Position{5});
  }
  REQUIRE(store.store(bundle(9, {{"", 3}})));
  CHECK((*store.newest())->position == stream::Position{9});
}

TEST_CASE("no flipped bit and no cut of a state passes unseen, and the error names the file") {
  Directory directory;
  StateStore store{directory.path()};
  auto small = bundle(5, {});
  small.sections["job"] = content(300, 1);
  REQUIRE(store.store(small));
  for (const fs::path& file :
       {directory.state() / "manifest", directory.section(), directory.state() / "packs" / first_pack.hash}) {
    CAPTURE(file);
    const std::string whole = *read_whole(file);
    std::size_t accepted = 0, unnamed = 0;
    const auto refused = [&](const std::string& text) {
      std::ofstream{file, std::ios::binary | std::ios::trunc} << text;
      const auto stored = StateStore{directory.path()}.newest();
      if (stored && (!*stored || (*stored)->sections != small.sections || (*stored)->position != small.position ||
                     (*stored)->packs.size() != 1 || (*stored)->packs[0].text != first_pack.text))
        ++accepted;
      if (!stored && stored.error().message.find(file.string()) == std::string::npos) ++unnamed;
    };
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 16) refused(whole.substr(0, size));
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 1 + bit % 7) {
      auto flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      refused(flipped);
    }
    CHECK(accepted == 0);
    CHECK(unnamed == 0);
    std::ofstream{file, std::ios::binary | std::ios::trunc} << whole;
    CHECK(StateStore{directory.path()}.newest());
  }
}

TEST_CASE("a state with a file missing is an error, and never a beginning anew") {
  Directory directory;
  REQUIRE(StateStore{directory.path()}.store(bundle(5, {{"", 1}})));
  REQUIRE(StateStore{directory.path()}.store(bundle(6, {{"", 2}})));
  for (const fs::path& file :
       {directory.section(), directory.state() / "manifest", directory.state() / "packs" / first_pack.hash}) {
    CAPTURE(file);
    fs::rename(file, directory.path() / "away");
    const auto stored = StateStore{directory.path()}.newest();
    REQUIRE_FALSE(stored);
    CHECK(stored.error().message.find(file.string()) != std::string::npos);
    fs::rename(directory.path() / "away", file);
  }
}

TEST_CASE("a state of a newer program is refused, and not written over") {
  Directory directory;
  REQUIRE(StateStore{directory.path()}.store(bundle(5, {{"", 1}})));
  {
    std::fstream file{directory.state() / "manifest", std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(4);
    file.put(static_cast<char>(99));
  }
  StateStore store{directory.path()};
  CHECK(store.newest().error().code == Errc::unknown_version);
  CHECK(store.store(bundle(6, {{"", 2}})).error().code == Errc::unknown_version);
}

TEST_CASE("snapshots of an unreleased version beside a journal without a state are an error that names one") {
  Directory directory;
  std::ofstream{directory.path() / "snapshot-00000000000000000005"} << "old";
  StateStore store{directory.path()};
  REQUIRE_FALSE(store.newest());
  CHECK(store.newest().error().message.find("snapshot-00000000000000000005") != std::string::npos);
  CHECK_FALSE(store.store(bundle(6, {{"", 2}})));
}

TEST_CASE("a pack that is stored is named without its text, as long as a section needs it") {
  Directory directory;
  StateStore store{directory.path()};
  CHECK_FALSE(store.has_pack(first_pack.hash));
  CHECK(store.store(bundle(4, {{"", 1}}, {{first_pack.hash, ""}})).error().code == Errc::malformed);
  REQUIRE(store.store(bundle(5, {{"", 1}, {"job", 1}})));
  CHECK(store.has_pack(first_pack.hash));
  REQUIRE(store.store(bundle(6, {{"", 2}}, {{first_pack.hash, ""}, second_pack})));
  REQUIRE(store.store(bundle(7, {{"job", 2}}, {{second_pack.hash, ""}})));
  REQUIRE((*store.newest())->packs.size() == 2);
  CHECK((*store.newest())->packs[0].text == first_pack.text);
  REQUIRE(store.store(bundle(8, {{"", 3}}, {{second_pack.hash, ""}})));
  CHECK_FALSE(store.has_pack(first_pack.hash));
  CHECK((*store.newest())->packs.size() == 1);
  REQUIRE(store.store(bundle(9, {{"", 0}, {"job", 0}}, {{second_pack.hash, ""}})));  // nothing needs it any more
  CHECK_FALSE(store.has_pack(second_pack.hash));
}

TEST_CASE("a pack whose hash is no name of a file is refused") {
  Directory directory;
  StateStore store{directory.path()};
  CHECK(store.store(bundle(5, {{"", 1}}, {{"../../elsewhere", "rule"}})).error().code == Errc::malformed);
}
