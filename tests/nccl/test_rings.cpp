// Files that the reader does not read, and why; and what keeps the plugin from writing one.

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>

#include "adapters/nccl/environment.h"
#include "adapters/nccl/reader.h"
#include "adapters/nccl/ring.h"
#include "doctest/doctest.h"
#include "played.h"
#include "tests/seed.h"

using namespace tocsin;
using adapters::nccl::read_ring, adapters::nccl::read_rings, stream::Errc, test::Player, test::Scratch;

namespace {

std::vector<std::string> records_in(const Scratch& scratch) { return {"TOCSIN_NCCL_DIR=" + scratch.path().string()}; }

std::filesystem::path file_of(const Scratch& scratch, const Player& rank) {
  return scratch.path() / ("nccl-" + std::to_string(rank.pid()) + "-0.ring");
}

constexpr std::string_view some =
    "comm world 5 4 1\n coll world a AllReduce 64 1\n begin a 0\n coll world b Send 4 1\n"
    "proxy a out 3 2 send 8\n run out\n step out 0\n state out 0 8\n";

// Writes into the file of a process that lives, as nobody else would.
void write_at(const std::filesystem::path& path, std::size_t offset, std::string_view bytes) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("the file of a process that has ended is found to be so, however it ended") {
  Scratch scratch;
  std::filesystem::path file;
  {
    Player rank{6, records_in(scratch)};
    rank.play(some);
    file = file_of(scratch, rank);
    CHECK(read_ring(file, {}));
    rank.kill();
  }
  CHECK(read_ring(file, {}).error().code == Errc::not_found);
  const auto rings = read_rings(scratch.path());
  CHECK(rings.processes.empty());
  CHECK(rings.unread.empty());
  CHECK(rings.ended == std::vector{file});
}

TEST_CASE("the file is its owner's alone") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(some);
  struct stat about {};
  REQUIRE(::stat(file_of(scratch, rank).c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  CHECK(about.st_size == sizeof(adapters::nccl::Ring));
}

TEST_CASE("a file that is cut short, of another version or of something else is not read, with its reason") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(some);
  const auto file = file_of(scratch, rank);

  write_at(file, offsetof(adapters::nccl::RingHead, version), std::string_view{"\x02\0\0\0", 4});
  CHECK(read_ring(file, {}).error().code == Errc::unknown_version);
  write_at(file, offsetof(adapters::nccl::RingHead, version), std::string_view{"\x01\0\0\0", 4});
  CHECK(read_ring(file, {}));
  write_at(file, 0, "something");
  CHECK(read_ring(file, {}).error().code == Errc::malformed);
  std::filesystem::create_symlink(file, scratch.path() / "nccl-1-0.ring");
  CHECK(read_ring(scratch.path() / "nccl-1-0.ring", {}).error().code == Errc::io);
  std::filesystem::create_directory(scratch.path() / "nccl-2-0.ring");
  CHECK(read_ring(scratch.path() / "nccl-2-0.ring", {}).error().code == Errc::malformed);
  std::ofstream{scratch.path() / "nccl-3-0.ring"} << "short";
  CHECK(read_ring(scratch.path() / "nccl-3-0.ring", {}).error().code == Errc::torn);
  CHECK(read_rings(scratch.path()).unread.size() == 4);
  CHECK(read_rings(scratch.path() / "absent").unread.size() == 1);
}

TEST_CASE("a file that is cut off while its process lives is an error") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(some);
  std::filesystem::resize_file(file_of(scratch, rank), 20000);
  CHECK(read_ring(file_of(scratch, rank), {}).error().code == Errc::torn);
  rank.kill();
}

TEST_CASE("a file with random bytes never does harm") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(some);
  const auto file = file_of(scratch, rank);
  std::mt19937_64 random{test::seed()};
  for (int i = 0; i < 100; ++i) {
    // Behind the head: at the communicators, at the operations and connections of the first, or anywhere.
    const std::size_t places[] = {sizeof(adapters::nccl::RingHead), offsetof(adapters::nccl::Ring, parts),
                                  offsetof(adapters::nccl::Ring, parts) + random() % sizeof(adapters::nccl::RingPart)};
    std::string bytes(64 + random() % 3000, '\0');
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random() % 4 == 0 ? random() : 0); });
    write_at(file, places[random() % 3], bytes);
    if (const auto ring = read_ring(file, std::chrono::hours{1})) (void)ring->collectives();
  }
}

TEST_CASE("a file of an earlier process with the same number is replaced, and another process' is left alone") {
  Scratch scratch;
  std::string stale;
  {
    Player rank{6, records_in(scratch)};
    rank.play(some);
    stale = file_of(scratch, rank);
    // The same number elsewhere: the player finds this file under its own name, held by another process.
    Player other{6, records_in(scratch)};
    const auto taken = file_of(scratch, other);
    std::filesystem::create_hard_link(stale, taken);
    other.play(some);
    CHECK(std::filesystem::hard_link_count(stale) == 2);
    CHECK(read_ring(stale, {}));
    CHECK(read_ring(stale, {})->pid == rank.pid());
    const auto own = scratch.path() / ("nccl-" + std::to_string(other.pid()) + "-1.ring");
    REQUIRE(read_ring(own, {}));
    CHECK(read_ring(own, {})->pid == other.pid());
  }
  Player later{6, records_in(scratch)};
  std::filesystem::rename(stale, file_of(scratch, later));
  later.play("comm world 5 4 1\n");
  REQUIRE(read_ring(file_of(scratch, later), {}));
  CHECK(read_ring(file_of(scratch, later), {})->collectives().launched == 0);
}

TEST_CASE("a child that uses NCCL has a file of its own, and leaves its parent's as it is") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(some);
  rank.play("fork\n");
  const auto rings = read_rings(scratch.path());
  REQUIRE(rings.processes.size() == 1);
  CHECK(rings.processes[0].pid == rank.pid());
  CHECK(rings.processes[0].collectives().launched == 2);
  CHECK(rings.processes[0].communicators.size() == 1);
  CHECK(rings.ended.size() == 1);
}

TEST_CASE("a process that runs another program has left what it recorded before") {
  Scratch scratch;
  Player rank{6, records_in(scratch)};
  rank.play(some);
  CHECK(rank.play("exec 5\n") == "version 5");
  CHECK(read_rings(scratch.path()).processes.empty());
  CHECK(read_rings(scratch.path()).ended.size() == 1);
  rank.play("comm world 6 4 1\n coll world a AllReduce 64 1\n");
  const auto rings = read_rings(scratch.path());
  REQUIRE(rings.processes.size() == 1);
  CHECK(rings.processes[0].collectives().launched == 1);
  CHECK(rings.ended.empty());
}

TEST_CASE("events of several threads are counted exactly, while the file is read") {
  Scratch scratch;
  auto environment = records_in(scratch);
  environment.push_back("TOCSIN_NCCL_KERNELS=1");
  Player rank{6, environment};
  rank.play("comm world 5 4 1\n");
  std::atomic<bool> over = false;
  std::thread reads{[&] {
    while (!over) {
      const auto ring = read_ring(file_of(scratch, rank), std::chrono::hours{100000});
      if (!ring) continue;
      std::uint64_t before = 0;
      for (const auto& it : ring->communicators.at(0).open) {
        CHECK(it.position > before);
        CHECK(it.is.function == "all_reduce");
        before = it.position;
      }
    }
  }};
  rank.play("threads world 4 50000\n");
  over = true;
  reads.join();
  const auto ring = read_ring(file_of(scratch, rank), std::chrono::hours{100000});
  REQUIRE(ring);
  CHECK(ring->collectives().launched == 200000);
  CHECK(ring->collectives().done == 200000);
}

TEST_CASE("without a directory NCCL is left alone, with one line in its log") {
  for (const int version : {4, 5, 6}) {
    Player unset{version, {}}, absent{version, {"TOCSIN_NCCL_DIR=/nowhere/at/all"}};
    CHECK(unset.play("comm world 5 4 1\n").find("TOCSIN_NCCL_DIR is not set") != std::string::npos);
    CHECK(unset.play("mask\n") == "0");
    CHECK(absent.play("comm world 5 4 1\n").find("No such file or directory") != std::string::npos);
    CHECK(absent.play("comm again 6 4 1\n") == "ok");
    CHECK(absent.play("mask\n") == "0");
    CHECK(absent.play("coll world a AllReduce 64 1\n begin a 0\n finish a 0\n finalize world\n") == "ok");
  }
}

TEST_CASE("a limit on the size of files leaves NCCL alone") {
  Scratch scratch;
  rlimit before{}, small{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  small = before;
  small.rlim_cur = 1 << 20;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  Player rank{6, records_in(scratch)};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(rank.play("comm world 5 4 1\n").find("ulimit -f") != std::string::npos);
  CHECK(rank.play("coll world a AllReduce 64 1\n begin a 0\n") == "ok");
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("the environment of a command names our plugin, unless another is chosen") {
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  const auto plain = adapters::nccl::nccl_environment("/tmp/run");
  REQUIRE(plain.variables.size() == 2);
  CHECK(plain.variables[0].first == "NCCL_PROFILER_PLUGIN");
  CHECK(std::filesystem::exists(plain.variables[0].second));
  CHECK(plain.variables[1] == std::pair<std::string, std::string>{"TOCSIN_NCCL_DIR", "/tmp/run"});
  CHECK(plain.note.empty());

  ::setenv("NCCL_PROFILER_PLUGIN", "inspector", 1);
  const auto other = adapters::nccl::nccl_environment("/tmp/run");
  CHECK(other.variables.empty());
  CHECK(other.note.find("TOCSIN_NCCL_NEXT=inspector") != std::string::npos);

  ::setenv("NCCL_PROFILER_PLUGIN", "/opt/libnccl-profiler-tocsin.so", 1);
  const auto chained = adapters::nccl::nccl_environment("/tmp/run");
  REQUIRE(chained.variables.size() == 1);
  CHECK(chained.variables[0].first == "TOCSIN_NCCL_DIR");

  ::setenv("NCCL_PROFILER_PLUGIN", "none", 1);
  CHECK(adapters::nccl::nccl_environment("/tmp/run").variables.empty());
  ::unsetenv("NCCL_PROFILER_PLUGIN");
}
