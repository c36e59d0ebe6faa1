#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "adapters/journal/journal.h"
#include "adapters/wrap/run_directory.h"
#include "doctest/doctest.h"

using namespace tocsin;
using namespace tocsin::adapters::wrap;
using std::chrono::system_clock;
namespace fs = std::filesystem;

namespace {

struct Home {
  fs::path path;
  Home() {
    char name[] = "/tmp/tocsin-home-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Home() { fs::remove_all(path); }
  fs::path file(const fs::path& name, std::size_t size) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream{path / name} << std::string(size, 'x');
    return path / name;
  }
};

}  // namespace

TEST_CASE("a run is kept under its start in UTC and its pid") {
  const auto start = tocsin::stream::at_nanoseconds(1'700'000'000'000'000'000);
  CHECK(run_directory("/s", start, 42) == "/s/20231114T221320Z-42");
}

TEST_CASE("what leads to a run is made for the user alone") {
  Home home;
  REQUIRE(make_run_directory(home.path / "a/b/c"));
  struct stat about {};
  REQUIRE(::stat((home.path / "a/b").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0700);
  CHECK(make_run_directory(home.path / "a/b/c"));

  home.file("plain", 1);
  const auto failed = make_run_directory(home.path / "plain/below");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.find("--journal") != std::string::npos);
}

TEST_CASE("a directory of all users in which others may write is refused for runs, and so is another user's") {
  Home home;
  const fs::path shared = home.path / "shared";
  REQUIRE(make_run_directory(shared / "run", shared));
  fs::permissions(shared, fs::perms::others_write, fs::perm_options::add);
  const auto refused = make_run_directory(shared / "other", shared);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("/shared is another user's, or others may write it: remove it") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(shared / "other"));
  CHECK(make_run_directory(shared / "other", home.path / "else"));  // the user's own choice
  fs::permissions(shared, fs::perms::others_write, fs::perm_options::remove);
  if (::geteuid() == 0) {
    REQUIRE(::chown(shared.c_str(), 12345, 12345) == 0);
    CHECK_FALSE(make_run_directory(shared / "third", shared));
    const fs::path link = home.path / "link";  // of another user, to a directory of ours
    fs::create_directory(home.path / "ours");
    fs::create_directory_symlink(home.path / "ours", link);
    CHECK(make_run_directory(link / "run", link));
    REQUIRE(::lchown(link.c_str(), 12345, 12345) == 0);
    CHECK_FALSE(make_run_directory(link / "other", link));
  }
}

TEST_CASE("the oldest runs go first, and only runs that have ended") {
  Home home;
  const std::string alive =
      run_directory("", stream::Time{system_clock::now().time_since_epoch()}, ::getpid()).filename();
  const std::string written = "20240101T000000Z-99999990", reused = "20240101T000001Z-" + std::to_string(::getpid());
  home.file(alive + "/a", 1000);
  home.file(reused + "/a", 1000);
  const auto writer = adapters::journal::Writer::open(home.path / written);
  REQUIRE(writer);
  home.file(written + "/a", 1000);
  home.file("20240102T000000Z-99999991/a", 1000);
  home.file("20240103T000000Z-99999992/a", 1000);
  home.file("20240104T000000Z-99999993/a", 1000);
  home.file("notes/a", 5000);

  CHECK(is_running(home.path / alive));
  CHECK(is_running(home.path / written));       // by a process that we cannot see: of another container
  CHECK_FALSE(is_running(home.path / reused));  // our pid, and the run of a process long before us
  CHECK(remove_oldest_runs(home.path, 3500) == 3);

  CHECK(fs::exists(home.path / alive));
  CHECK(fs::exists(home.path / written));
  CHECK_FALSE(fs::exists(home.path / reused));
  CHECK_FALSE(fs::exists(home.path / "20240102T000000Z-99999991"));
  CHECK_FALSE(fs::exists(home.path / "20240103T000000Z-99999992"));
  CHECK(fs::exists(home.path / "20240104T000000Z-99999993"));
  CHECK(fs::exists(home.path / "notes"));
  CHECK(remove_oldest_runs(home.path, 3500) == 0);
}
