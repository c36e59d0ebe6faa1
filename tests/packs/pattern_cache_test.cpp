// Compiled patterns as files.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "adapters/packs/pattern_cache.h"

using tocsin::adapters::packs::PatternCache;
namespace fs = std::filesystem;

namespace {

// A directory of the test's own, and the cache's in it, which is not there yet.
struct Place {
  fs::path top, cache;
  Place() {
    std::string name = (fs::temp_directory_path() / "tocsin-cache-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    top = name, cache = top / "a" / "b";
  }
  ~Place() { fs::remove_all(top); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{cache}, fs::directory_iterator{}));
  }
};

constexpr const char* name = "patterns-0123456789abcdef";

}  // namespace

TEST_CASE("what a cache keeps is found by another one, and is for this user alone") {
  const Place place;
  PatternCache{place.cache}.keep(name, std::string("bytes\0more", 10));
  CHECK(PatternCache{place.cache}.find(name) == std::string("bytes\0more", 10));
  CHECK(PatternCache{place.cache}.find("patterns-other") == std::nullopt);
  struct stat found {};
  REQUIRE(::stat(place.cache.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0700);
  REQUIRE(::stat((place.cache / name).c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  CHECK(place.files() == 1);
}

TEST_CASE("a newer one takes the place of the one before") {
  const Place place;
  PatternCache cache{place.cache};
  cache.keep(name, "first"), cache.keep(name, "second");
  CHECK(cache.find(name) == "second");
  CHECK(place.files() == 1);
}

TEST_CASE("a directory or a file that others can write, and a link, are not read") {
  const Place place;
  PatternCache cache{place.cache};
  cache.keep(name, "bytes");
  fs::permissions(place.cache, fs::perms::group_write, fs::perm_options::add);
  CHECK(cache.find(name) == std::nullopt);
  fs::permissions(place.cache, fs::perms::group_write, fs::perm_options::remove);
  CHECK(cache.find(name) == "bytes");
  fs::permissions(place.cache / name, fs::perms::others_write, fs::perm_options::add);
  CHECK(cache.find(name) == std::nullopt);
  fs::rename(place.cache / name, place.top / "elsewhere");
  fs::permissions(place.top / "elsewhere", fs::perms::others_write, fs::perm_options::remove);
  fs::create_symlink(place.top / "elsewhere", place.cache / name);
  CHECK(cache.find(name) == std::nullopt);
}

TEST_CASE("a directory that others could replace is not read, nor is anything kept in it") {
  const Place place;
  PatternCache cache{place.cache};
  cache.keep(name, "bytes");
  for (const fs::path& above : {place.top, place.top / "a"})
    for (const auto others : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(above, others, fs::perm_options::add);
      CHECK(cache.find(name) == std::nullopt);
      cache.keep("patterns-other", "bytes");
      CHECK(place.files() == 1);
      fs::permissions(above, others, fs::perm_options::remove);
      CHECK(cache.find(name) == "bytes");
    }
  fs::create_directory_symlink(place.cache, place.top / "link");
  CHECK(PatternCache{place.top / "link"}.find(name) == "bytes");
  if (::geteuid() == 0) {
    REQUIRE(::chown((place.top / "a").c_str(), 12345, 12345) == 0);
    CHECK(cache.find(name) == std::nullopt);
  }
}

TEST_CASE("what is not whole, or was kept by another program, is not used") {
  const Place place;
  PatternCache cache{place.cache};
  CHECK(tocsin::adapters::packs::program_hash().size() >= 16);
  PatternCache{place.cache, "another build"}.keep(name, "bytes");
  CHECK(cache.find(name) == std::nullopt);
  cache.keep(name, "bytes");
  CHECK(cache.find(name) == "bytes");
  const auto size = fs::file_size(place.cache / name);
  for (std::uintmax_t at = 0; at < size; ++at) {
    std::fstream file{place.cache / name, std::ios::binary | std::ios::in | std::ios::out};
    const auto flip = [&] {
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 1)).flush();
    };
    flip();
    CHECK(cache.find(name) == std::nullopt);
    flip();
    CHECK(cache.find(name) == "bytes");
  }
  for (std::uintmax_t left = size; left-- > 0;) {
    fs::resize_file(place.cache / name, left);
    CHECK(cache.find(name) == std::nullopt);
  }
}

TEST_CASE("what comes with the program is read first, and never written") {
  const Place place;
  PatternCache{place.top / "shipped"}.keep(name, "shipped");
  PatternCache{place.cache}.keep(name, "ours");
  PatternCache cache{place.cache, tocsin::adapters::packs::program_hash(), place.top / "shipped"};
  CHECK(cache.find(name) == "shipped");
  cache.keep(name, "newer");
  cache.keep("patterns-other", "ours");
  CHECK(cache.find(name) == "shipped");
  CHECK(cache.find("patterns-other") == "ours");
  CHECK(PatternCache{place.cache}.find(name) == "newer");
}

TEST_CASE("what came with another build, or others can write, is not read") {
  const Place place;
  PatternCache{place.top / "shipped", "another build"}.keep(name, "shipped");
  PatternCache cache{place.cache, tocsin::adapters::packs::program_hash(), place.top / "shipped"};
  CHECK(cache.find(name) == std::nullopt);
  PatternCache{place.top / "shipped"}.keep(name, "shipped");
  CHECK(cache.find(name) == "shipped");
  fs::permissions(place.top / "shipped", fs::perms::group_write, fs::perm_options::add);
  CHECK(cache.find(name) == std::nullopt);
}

TEST_CASE("only the last few are kept, those that were used last") {
  const Place place;
  PatternCache cache{place.cache};
  for (std::size_t i = 0; i < PatternCache::most_files; ++i) {
    cache.keep("patterns-" + std::to_string(i), "x");
    const timespec old[2] = {{1000 + static_cast<time_t>(i), 0}, {1000 + static_cast<time_t>(i), 0}};
    REQUIRE(::utimensat(AT_FDCWD, (place.cache / ("patterns-" + std::to_string(i))).c_str(), old, 0) == 0);
  }
  CHECK(cache.find("patterns-0") == "x");  // used: 1 is the oldest now
  cache.keep("patterns-new", "x");
  CHECK(place.files() == PatternCache::most_files);
  CHECK(cache.find("patterns-0") == "x");
  CHECK(cache.find("patterns-1") == std::nullopt);
}

TEST_CASE("where nothing can be written, nothing is kept and nothing fails") {
  PatternCache none{fs::path{}};
  none.keep(name, "bytes");
  CHECK(none.find(name) == std::nullopt);
  PatternCache nowhere{"/proc/nowhere/tocsin"};
  nowhere.keep(name, "bytes");
  CHECK(nowhere.find(name) == std::nullopt);
}
