#include <string>
#include <vector>

#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/process_tree.h"
#include "adapters/wrap/rank_finder.h"
#include "doctest/doctest.h"

using namespace tocsin::adapters::wrap;
using namespace std::string_literals;

namespace {

Process rank_process(pid_t pid, std::uint32_t rank, std::uint32_t world_size = 0) {
  Process process;
  process.pid = pid;
  process.start = static_cast<std::uint64_t>(pid) * 10;
  process.identity = Identity{rank, world_size, 0};
  process.rank = true;
  return process;
}

struct Finder {
  Legacy legacy;
  RankFinder finder{legacy};
  std::unordered_map<pid_t, Process> processes;

  std::vector<std::string> look() {
    std::vector<std::string> said;
    for (const auto& change : finder.look(processes)) {
      switch (change.kind) {
        case RankFinder::Change::Kind::restarted: said.push_back("restarted"); break;
        case RankFinder::Change::Kind::world_size: said.push_back("world_size " + std::to_string(legacy.world_size)); break;
        case RankFinder::Change::Kind::appeared: said.push_back("rank " + std::to_string(change.rank) + " is " + std::to_string(change.pid));
      }
    }
    return said;
  }
  void add(const Process& process) { processes[process.pid] = process; }
  void end(pid_t pid) {
    finder.gone(processes.at(pid).identity->rank);
    processes.erase(pid);
  }
};

using Said = std::vector<std::string>;

}  // namespace

TEST_CASE("a rank is named by the first launcher's variable that was not in the air before") {
  const auto own = identity_in("PATH=/bin\0RANK=3\0WORLD_SIZE=8\0"s, "PATH=/bin\0"s);
  REQUIRE(own);
  CHECK(own->rank == 3);
  CHECK(own->world_size == 8);

  const auto slurm = identity_in("SLURM_PROCID=5\0SLURM_NTASKS=6\0"s, "");
  REQUIRE(slurm);
  CHECK(slurm->rank == 5);
  CHECK(slurm->world_size == 6);

  const auto inner = identity_in("SLURM_PROCID=0\0OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=4\0"s, "SLURM_PROCID=0\0"s);
  REQUIRE(inner);
  CHECK(inner->rank == 2);

  CHECK_FALSE(identity_in("RANK=1\0"s, "RANK=1\0"s));
  CHECK_FALSE(identity_in("LOCAL_RANK=1\0XRANK=2\0"s, ""));
  CHECK_FALSE(identity_in("RANK=one\0"s, ""));
  CHECK_FALSE(identity_in("RANK=\0"s, ""));
  CHECK_FALSE(identity_in("RANK=99999999999\0"s, ""));
}

TEST_CASE("ranks are told with their world size when they appear") {
  Finder job;
  job.add(rank_process(101, 1, 2));
  job.add(rank_process(100, 0, 2));
  CHECK(job.look() == Said{"world_size 2", "rank 0 is 100", "rank 1 is 101"});
  CHECK(job.look().empty());
  CHECK(job.finder.complete());
}

TEST_CASE("when all rank processes are replaced the ranks were restarted, once") {
  Finder job;
  job.add(rank_process(100, 0));
  job.add(rank_process(101, 1));
  (void)job.look();
  job.end(100);
  job.end(101);
  job.add(rank_process(200, 0));
  CHECK(job.look() == Said{"restarted", "rank 0 is 200"});
  job.add(rank_process(201, 1));
  CHECK(job.look() == Said{"rank 1 is 201"});
  CHECK(job.legacy.attempt == 2);
}

TEST_CASE("one rank replaced while others live is the same attempt") {
  Finder job;
  job.add(rank_process(100, 0));
  job.add(rank_process(101, 1));
  (void)job.look();
  job.end(101);
  job.add(rank_process(201, 1));
  CHECK(job.look() == Said{"rank 1 is 201"});
  CHECK(job.legacy.attempt == 1);
}

TEST_CASE("a second process of a rank that lives waits until the first has gone") {
  Finder job;
  job.add(rank_process(100, 0));
  job.add(rank_process(101, 1));
  (void)job.look();
  job.add(rank_process(150, 0));
  CHECK(job.look().empty());
  job.end(100);
  CHECK(job.look() == Said{"rank 0 is 150"});
}

TEST_CASE("a recorder that is started again knows the ranks of the one before") {
  Finder job;
  job.add(rank_process(100, 0));
  (void)job.look();
  RankFinder next{job.legacy};
  CHECK(next.look(job.processes).empty());
  CHECK(next.ranks().size() == 1);
}

TEST_CASE("the name of a process may look like anything") {
  const auto stat = parse_stat(
      "812 (a) b (c) S 77 812 812 0 -1 4194304 127 0 0 0 30 12 0 0 20 0 1 0 147795 2990080 419 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 "
      "0 0 0 0 0 0 0 0 0 0 4711 0 0\n");
  REQUIRE(stat);
  CHECK(stat->name == "a) b (c");
  CHECK(stat->parent == 77);
  CHECK(stat->state == 'S');
  CHECK(stat->cpu_ticks == 42);
  CHECK(stat->start_ticks == 147795);
  CHECK(stat->resident_pages == 419);
  CHECK(stat->environment == 4711);
  CHECK_FALSE(parse_stat("812 (x) S 1"));
  CHECK_FALSE(parse_stat(""));
}
