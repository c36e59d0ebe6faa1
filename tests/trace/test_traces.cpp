#include <doctest/doctest.h>

#include <cstring>

#include "adapters/trace/traces.h"

using namespace tocsin::adapters::trace;
using namespace std::chrono_literals;

namespace {

constexpr Life rank{100, 5}, other{200, 6};

kernel::object_key key_of(const Life& life, std::uint64_t object, std::uint32_t kind = kernel::kind_c10d) {
  return {object, life.second, life.first, kind};
}

kernel::group group_of(std::uint64_t order, std::uint32_t size, const char* name = "") {
  kernel::group group{};
  group.order = order;
  group.size = size;
  std::strncpy(group.name, name, sizeof group.name);
  return group;
}

// A work that was entered at `start`; a send or receive that is waited for since then, if so.
kernel::work work_of(std::uint64_t group, std::uint64_t sequence, std::uint64_t start, bool peer = false,
                     std::uint64_t waiting = 0) {
  kernel::work work{};
  work.group = group;
  work.sequence = sequence;
  work.start = start;
  work.function = 1;
  work.peer = peer ? 1 : 0;
  work.waiting = waiting;
  return work;
}

Tables tables_of(const Life& life) {
  kernel::process process{};
  process.born = life.second;
  process.launched = 12;
  process.done = 11;
  Tables tables;
  tables.processes.push_back({{1, life.first, 1}, process});
  return tables;
}

ProcessTrace only(const Tables& tables, std::uint64_t now = 10'000'000'000) {
  auto traces = traces_of(tables, {rank}, now);
  REQUIRE(traces.size() == 1);
  return traces.begin()->second;
}

}  // namespace

TEST_CASE("the oldest operation that is not completed is open since it was entered, over all groups") {
  Tables tables = tables_of(rank);
  tables.groups = {{key_of(rank, 1), group_of(1, 4, "0")}, {key_of(rank, 2), group_of(2, 2, "1")}};
  tables.works = {{key_of(rank, 11), work_of(1, 8, 7'000'000'000)}, {key_of(rank, 12), work_of(2, 3, 6'000'000'000)}};
  const auto trace = only(tables);
  REQUIRE(trace.collectives.oldest);
  CHECK(trace.collectives.oldest->sequence == 3);
  CHECK(trace.collectives.oldest->group == "1");
  CHECK(trace.collectives.oldest->group_size == 2);
  CHECK(trace.collectives.oldest->open == 4s);
  CHECK(trace.collectives.done == 11);
  CHECK(trace.complete);
}

TEST_CASE("a send or receive is open only while it is waited for, and since then") {
  Tables tables = tables_of(rank);
  tables.groups = {{key_of(rank, 1), group_of(1, 4)}};
  tables.works = {{key_of(rank, 11), work_of(1, 1, 1'000'000'000, true)}};
  CHECK(!only(tables).collectives.oldest);
  tables.works.front().second.waiting = 8'000'000'000;
  CHECK(only(tables).collectives.oldest->open == 2s);
}

TEST_CASE("an operation of a group that has gone, or of another process, is not open") {
  Tables tables = tables_of(rank);
  tables.groups = {{key_of(other, 1), group_of(1, 4)}};
  tables.works = {{key_of(rank, 11), work_of(1, 1, 1)}, {key_of(other, 11), work_of(1, 1, 1)}};
  const auto trace = only(tables);
  CHECK(!trace.collectives.oldest);
  CHECK(trace.groups.empty());
}

TEST_CASE("a group without a name goes by its place among those of its size") {
  Tables tables = tables_of(rank);
  tables.groups = {
      {key_of(rank, 3), group_of(3, 2)}, {key_of(rank, 1), group_of(1, 4)}, {key_of(rank, 2), group_of(2, 2)}};
  const auto groups = only(tables).groups;
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name == "4 ranks, no. 1");
  CHECK(groups[1].name == "2 ranks, no. 1");
  CHECK(groups[2].name == "2 ranks, no. 2");
}

TEST_CASE("a group that is older than the tracer has no name and makes the trace incomplete") {
  Tables tables = tables_of(rank);
  tables.groups = {{key_of(rank, 1), group_of(0, 0)}};
  const auto trace = only(tables);
  CHECK(!trace.complete);
  CHECK(trace.groups[0].name.empty());
}

TEST_CASE("where NCCL was called nothing says how many are completed, and its last call is described") {
  Tables tables = tables_of(rank);
  tables.processes[0].second.unfinished = 3;
  kernel::group communicator = group_of(1, 8);
  communicator.identity = 0xab;
  communicator.last_function = 2;
  communicator.last_count = 1024;
  communicator.last_type = 9;
  communicator.last_root = 3;
  tables.groups = {{key_of(rank, 1, kernel::kind_nccl), communicator}};
  auto trace = only(tables);
  CHECK(!trace.collectives.done);
  CHECK(trace.groups[0].library == GroupTrace::Library::nccl);
  CHECK(trace.groups[0].name == "00000000000000ab");
  CHECK(trace.groups[0].last == "broadcast 1024 x bfloat16, root 3");
  tables.groups[0].second.last_type = 99;  // of a newer version
  CHECK(only(tables).groups[0].last == "broadcast 1024, root 3");
}

TEST_CASE("the longest wait of a process's threads counts, and none is negative") {
  Tables tables = tables_of(rank);
  tables.waits = {{{rank.second, 1, rank.first, 0}, {9'000'000'000, 0, 1}},
                  {{rank.second, 2, rank.first, 0}, {5'000'000'000, 0, 2}}};
  CHECK(only(tables).gpu.waiting->function == "cuEventSynchronize");
  CHECK(only(tables).gpu.waiting->open == 5s);
  CHECK(only(tables, 1'000'000'000).gpu.waiting->open == 0s);
}

TEST_CASE("names that use all of their place are read to its end") {
  Tables tables = tables_of(rank);
  kernel::group group = group_of(1, 2);
  std::memset(group.name, 'x', sizeof group.name);
  tables.groups = {{key_of(rank, 1), group}};
  CHECK(only(tables).groups[0].name.size() == sizeof group.name);
}
