#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "adapters/wrap/lone_process.h"
#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/process_tree.h"
#include "adapters/wrap/rank_finder.h"
#include "adapters/wrap/unnamed_ranks.h"
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
    std::vector<std::string> reported;
    for (const auto& change : finder.look(processes)) {
      switch (change.kind) {
        case RankFinder::Change::Kind::restarted: reported.push_back("restarted"); break;
        case RankFinder::Change::Kind::world_size:
          reported.push_back("world_size " + std::to_string(legacy.world_size));
          break;
        case RankFinder::Change::Kind::withdrawn:
          reported.push_back(std::to_string(change.pid) + " is not rank " + std::to_string(change.rank));
          break;
        case RankFinder::Change::Kind::appeared:
          reported.push_back("rank " + std::to_string(change.rank) + " is " + std::to_string(change.pid));
      }
    }
    return reported;
  }
  void add(const Process& process) { processes[process.pid] = process; }
  void end(pid_t pid) {
    finder.gone(processes.at(pid).identity->rank);
    processes.erase(pid);
  }
};

using Reported = std::vector<std::string>;

void end_process(pid_t pid) { ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0); }

// A process that is rank 0 of 1; under this pid, where the kernel lets us choose: another may take it before us.
pid_t start_rank(pid_t wanted = 0) {
  char program[] = "/bin/sleep", time[] = "1000", rank[] = "RANK=0", size[] = "WORLD_SIZE=1";
  char *arguments[] = {program, time, nullptr}, *environment[] = {rank, size, nullptr};
  for (int attempt = 0;; ++attempt) {
    if (wanted != 0) std::ofstream{"/proc/sys/kernel/ns_last_pid"} << wanted - 1;
    pid_t pid = 0;
    REQUIRE(::posix_spawn(&pid, program, nullptr, nullptr, arguments, environment) == 0);
    if (wanted == 0 || pid == wanted || attempt == 100) {
      // The spawn returns while the kernel still sets up the program: a look could find no environment.
      const std::string file = "/proc/" + std::to_string(pid) + "/environ";
      for (std::string text; text.find("WORLD_SIZE=1") == std::string::npos; ::sched_yield()) {
        std::ifstream in{file};
        text.assign(std::istreambuf_iterator<char>{in}, {});
      }
      return pid;
    }
    end_process(pid);
  }
}

// Processes that use CPU as asked, looked at every five seconds.
struct Lone {
  LoneProcess lone;
  std::unordered_map<pid_t, Process> processes;
  tocsin::stream::Time now = tocsin::stream::at_nanoseconds(1'000'000'000'000);

  void add(pid_t pid, pid_t parent) {
    processes[pid].pid = pid;
    processes[pid].parent = parent;
  }
  std::optional<pid_t> after(const std::unordered_map<pid_t, double>& seconds_of_cpu) {
    for (const auto& [pid, seconds] : seconds_of_cpu)
      processes.at(pid).cpu_ticks += static_cast<std::uint64_t>(seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)));
    now += std::chrono::seconds{5};
    return lone.look(processes, 100, now);
  }
};

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

  const auto inner =
      identity_in("SLURM_PROCID=0\0OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=4\0"s, "SLURM_PROCID=0\0"s);
  REQUIRE(inner);
  CHECK(inner->rank == 2);

  CHECK_FALSE(identity_in("RANK=1\0"s, "RANK=1\0"s));
  const auto pmi = identity_in("PMI_RANK=3\0PMI_SIZE=4\0"s, "");
  REQUIRE(pmi);
  CHECK(pmi->rank == 3);
  CHECK(pmi->world_size == 4);

  CHECK_FALSE(identity_in("LOCAL_RANK=1\0XRANK=2\0"s, ""));
  CHECK_FALSE(identity_in("RANK=one\0"s, ""));
  CHECK_FALSE(identity_in("RANK=\0"s, ""));
  CHECK_FALSE(identity_in("RANK=99999999999\0"s, ""));
}

TEST_CASE("the rank within a node is the rank on the first node, where the job's size is known") {
  const auto first = identity_in("LOCAL_RANK=1\0WORLD_SIZE=2\0NODE_RANK=0\0"s, "");
  REQUIRE(first);
  CHECK(first->rank == 1);
  CHECK(first->world_size == 2);
  CHECK_FALSE(identity_in("LOCAL_RANK=1\0WORLD_SIZE=4\0NODE_RANK=1\0"s, ""));
  CHECK_FALSE(identity_in("LOCAL_RANK=0\0WORLD_SIZE=1\0"s, ""));
  const auto both = identity_in("LOCAL_RANK=1\0WORLD_SIZE=8\0RANK=5\0"s, "");
  REQUIRE(both);
  CHECK(both->rank == 5);
}

TEST_CASE("established connections are read of the kernel's tables, a mapped address as the plain one") {
  const auto plain = tcp_sockets(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:73A0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0\n"
      "   1: 0100007F:9C40 0100007F:73A0 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 20 4 30 10 "
      "-1\n");
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].inode == 12);
  const auto other = tcp_sockets(
      "  sl  local_address                         remote_address                        st tx_queue rx_queue tr "
      "tm->when retrnsmt   uid  "
      "timeout inode\n"
      "   0: 0000000000000000FFFF00000100007F:73A0 0000000000000000FFFF00000100007F:9C40 01 00000000:00000000 "
      "00:00000000 00000000     0   "
      "  "
      "   0 13 1 0 20 0 0 10 -1\n");
  REQUIRE(other.size() == 1);
  CHECK(other[0].local == plain[0].remote);
  CHECK(other[0].remote == plain[0].local);
  CHECK(tcp_sockets("").empty());
  CHECK(tcp_sockets("\n   0: 0100007F:73A0").empty());
}

TEST_CASE("command lines of one loop differ in numbers only") {
  CHECK(without_numbers("python\0-c\0main(fd=5, pipe=17)\0"s) == without_numbers("python\0-c\0main(fd=12, pipe=9)\0"s));
  CHECK(without_numbers("python\0a.py\0"s) != without_numbers("python\0b.py\0"s));
}

TEST_CASE("what a launcher has is not the rank of what it starts, unless the rank has more") {
  const std::string node = "RANK=0\0WORLD_SIZE=2\0"s;  // Kubeflow's torchrun of the first of two nodes
  CHECK_FALSE(identity_in("HOME=/\0RANK=0\0WORLD_SIZE=2\0"s, node));
  CHECK(identity_in("RANK=0\0WORLD_SIZE=16\0LOCAL_RANK=0\0"s, node) == Identity{0, 16, 0});
  CHECK(identity_in("RANK=0\0WORLD_SIZE=2\0LOCAL_RANK=0\0"s, node) == Identity{0, 2, 0});
  const std::string all = "A=1\0WORLD_SIZE=2\0RANK=0\0"s;
  CHECK(identity_in(all, {}).has_value());
  CHECK_FALSE(identity_in(all, rank_variables(all)));
}

TEST_CASE("a rank beyond its own world size is not one, and the next launcher's variables decide") {
  std::string why;
  CHECK_FALSE(identity_in("RANK=5\0WORLD_SIZE=4\0LOCAL_RANK=1\0NODE_RANK=1\0"s, "", &why));
  CHECK(why == "RANK=5 and WORLD_SIZE=4");
  CHECK_FALSE(identity_in("RANK=4\0WORLD_SIZE=4\0"s, ""));
  CHECK(identity_in("RANK=5\0WORLD_SIZE=4\0SLURM_PROCID=2\0SLURM_NTASKS=8\0"s, "", &why) == Identity{2, 8, 1});
  CHECK(why.empty());
}

TEST_CASE("ranks are reported with their world size when they appear") {
  Finder job;
  job.add(rank_process(101, 1, 2));
  job.add(rank_process(100, 0, 2));
  CHECK(job.look() == Reported{"world_size 2", "rank 0 is 100", "rank 1 is 101"});
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
  CHECK(job.look() == Reported{"restarted", "rank 0 is 200"});
  job.add(rank_process(201, 1));
  CHECK(job.look() == Reported{"rank 1 is 201"});
  CHECK(job.legacy.attempt == 2);
}

TEST_CASE("a rank that ends and is started again under the same pid is a new process, and a new attempt") {
  for (const bool noticed : {true, false}) {  // whether its end was; else the pid has another process at the next look
    Descendants kin{::getpid()};
    ProcessTree tree{kin};
    Finder ranks;
    const pid_t first = start_rank();
    tree.look();
    ranks.processes = tree.processes();
    CHECK(ranks.look() == Reported{"world_size 1", "rank 0 is " + std::to_string(first)});
    ::usleep(20'000);  // it lives longer than the hundredth of a second in which starts are counted
    end_process(first);
    ranks.finder.gone(0);
    if (noticed) tree.gone(first);
    const pid_t second = start_rank(first);
    // A newest pid that was not the newest at the look before: without one, nothing would be looked for.
    const pid_t other = noticed ? 0 : start_rank(first + 1000);
    if (second == first) {
      tree.look();
      ranks.processes = tree.processes();
      if (other != 0) ranks.processes.erase(other);
      CHECK(ranks.look() == Reported{"restarted", "rank 0 is " + std::to_string(first)});
      CHECK(ranks.legacy.attempt == 2);
    } else {
      MESSAGE("the kernel gives no pid again on request here");
    }
    end_process(second);
    if (other != 0) end_process(other);
  }
}

TEST_CASE("one rank replaced while others live is the same attempt") {
  Finder job;
  job.add(rank_process(100, 0));
  job.add(rank_process(101, 1));
  (void)job.look();
  job.end(101);
  job.add(rank_process(201, 1));
  CHECK(job.look() == Reported{"rank 1 is 201"});
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
  CHECK(job.look() == Reported{"rank 0 is 150"});
}

TEST_CASE("a process that turns out to be a launcher gives its rank to the one that it started, in the same attempt") {
  Finder job;
  job.add(rank_process(100, 0, 2));
  (void)job.look();
  job.processes.at(100).identity.reset();
  job.processes.at(100).rank = false;
  for (const std::uint32_t rank : {0u, 1u}) job.add(rank_process(static_cast<pid_t>(201 + rank), rank, 16));
  CHECK(job.look() == Reported{"100 is not rank 0", "world_size 16", "rank 0 is 201", "rank 1 is 202"});
  CHECK(job.legacy.attempt == 1);
}

TEST_CASE("a recorder that is started again knows the ranks of the one before") {
  Finder job;
  job.add(rank_process(100, 0));
  (void)job.look();
  RankFinder next{job.legacy};
  CHECK(next.look(job.processes).empty());
  CHECK(next.ranks().size() == 1);
}

TEST_CASE("a command that works is the process of a job without ranks, whatever its loaders do") {
  Lone job;
  job.add(100, 1);
  for (const pid_t loader : {110, 111, 112}) job.add(loader, 100);
  CHECK_FALSE(job.after({{100, 10}, {110, 9}}));  // the first look: since when is not known
  CHECK(job.after({{100, 0.5}, {110, 4}, {111, 4}, {112, 4}}) == 100);
}

TEST_CASE("beneath what only waits the one child at work is it") {
  Lone job;
  job.add(100, 1);
  job.add(101, 100);
  job.add(102, 101);
  job.add(103, 100);
  (void)job.after({{100, 0.1}, {102, 3}});
  CHECK(job.after({{102, 4}}) == 102);
  CHECK_FALSE(job.after({}));                    // at rest: nobody can tell
  CHECK_FALSE(job.after({{102, 4}, {103, 4}}));  // two at work: perhaps ranks without a name
}

TEST_CASE("a client of work elsewhere is nobody's rank") {
  Lone job;
  job.add(100, 1);
  (void)job.after({{100, 0.4}});
  CHECK_FALSE(job.after({{100, 0.3}}));
  CHECK_FALSE(job.after({{100, 0.01}}));
}

TEST_CASE("a process that is stopped is the job's, however little it has worked") {
  Lone job;
  job.add(100, 1);
  job.add(101, 100);
  (void)job.after({{101, 0.4}});
  job.processes.at(101).state = 'T';
  CHECK(job.after({}) == 101);
}

TEST_CASE("looks that come too soon are none") {
  Lone job;
  job.add(100, 1);
  (void)job.after({{100, 3}});
  job.processes.at(100).cpu_ticks += 1000;
  CHECK_FALSE(job.lone.look(job.processes, 100, job.now + std::chrono::seconds{1}));
  CHECK(job.after({}) == 100);
}

TEST_CASE("launchers are known by their name") {
  CHECK(launches_ranks("/usr/bin/python3\0/opt/bin/torchrun\0train.py\0"s));
  CHECK(launches_ranks("python\0-m\0torch.distributed.run\0train.py\0"s));
  CHECK(launches_ranks("srun\0python\0"s));
  CHECK_FALSE(launches_ranks("python\0train.py\0--launcher\0x\0srun\0"s));
  CHECK_FALSE(launches_ranks(""));
}

TEST_CASE("an assumed rank gives way to the first process that calls itself one") {
  Finder job;
  Process command;
  command.pid = 90;
  job.finder.assume(command, {0, 1, Identity::unnamed});
  CHECK(job.finder.complete());
  CHECK(job.look().empty());
  Process same = rank_process(90, 0, 2);  // the command itself, after an exec
  same.start = command.start;
  job.add(same);
  job.add(rank_process(101, 1, 2));
  CHECK(job.look() == Reported{"restarted", "rank 0 is 90", "rank 1 is 101"});
  CHECK(job.legacy.attempt == 2);
  CHECK_FALSE(job.finder.assumed());
}

TEST_CASE("the name of a process may look like anything") {
  const auto stat = parse_stat(
      "812 (a) b (c) S 77 812 812 0 -1 4194304 127 0 0 0 30 12 0 0 20 0 1 0 147795 2990080 419 18446744073709551615 1 "
      "1 0 0 0 0 0 0 0 0 0 "
      "0 17 0 "
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
