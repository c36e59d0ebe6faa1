#include "stream/topology/topology.h"

#include <doctest/doctest.h>

#include <random>
#include "tests/seed.h"

using namespace tocsin::stream;

namespace {

std::vector<Slot> slots(std::span<const Slot> all) { return {all.begin(), all.end()}; }
std::vector<std::vector<Slot>> members(const Groups& groups) {
  std::vector<std::vector<Slot>> all;
  for (std::size_t g = 0; g < groups.count(); ++g) all.push_back(slots(groups.of(g)));
  return all;
}
using Lists = std::vector<std::vector<Slot>>;

// Two nodes of two GPUs, a rank on each, both nodes in one rack.
Topology small() {
  Topology topology;
  topology.place(0, "n1", "0000:3b:00.0");
  topology.place(1, "n1", "0000:5e:00.0");
  topology.place(2, "n2", "0000:3b:00.0");
  topology.place(3, "n2", "0000:5e:00.0");
  topology.rack("n1", "r7");
  topology.rack("n2", "r7");
  return topology;
}

}  // namespace

TEST_CASE("rank r has slot r + 1, and the reserved member is no member") {
  Topology topology;
  CHECK(topology.size(Level::rank) == 1);
  CHECK_FALSE(topology.exists(Level::rank, reserved_slot));
  CHECK(topology.rank(5) == Slot{6});
  CHECK(topology.size(Level::rank) == 7);
  CHECK_FALSE(topology.exists(Level::rank, 3));
  CHECK(topology.exists(Level::rank, 6));
  CHECK_FALSE(topology.rank(Topology::most_ranks).has_value());
  CHECK_FALSE(topology.find({.level = Level::rank, .rank = 2, .node = {}, .gpu = {}}).has_value());
  CHECK(topology.key(Level::rank, 6) == MemberKey{.level = Level::rank, .rank = 5, .node = {}, .gpu = {}});
}

TEST_CASE("every level of a topology knows what contains it") {
  const Topology topology = small();
  CHECK(slots(topology.containing(Level::rank, Level::gpu)) == std::vector<Slot>{no_slot, 0, 1, 2, 3});
  CHECK(slots(topology.containing(Level::rank, Level::node)) == std::vector<Slot>{no_slot, 0, 0, 1, 1});
  CHECK(slots(topology.containing(Level::gpu, Level::node)) == std::vector<Slot>{0, 0, 1, 1});
  CHECK(slots(topology.containing(Level::rank, Level::rack)) == std::vector<Slot>{no_slot, 0, 0, 0, 0});
  CHECK(slots(topology.containing(Level::rank, Level::job)) == std::vector<Slot>{no_slot, 0, 0, 0, 0});
  CHECK(members(topology.groups(Level::rank, Level::node)) == Lists{{1, 2}, {3, 4}});
  CHECK(members(topology.groups(Level::node, Level::rack)) == Lists{{0, 1}});
  CHECK(topology.key(Level::rank, 4) ==
        MemberKey{.level = Level::rank, .rank = 3, .node = "n2", .gpu = "0000:5e:00.0"});
}

TEST_CASE("the reserved member counts to the job once it has a value, and to nothing else") {
  Topology topology = small();
  CHECK(members(topology.groups(Level::rank, Level::job)) == Lists{{1, 2, 3, 4}});
  topology.use_reserved();
  CHECK(members(topology.groups(Level::rank, Level::job)) == Lists{{0, 1, 2, 3, 4}});
  CHECK(members(topology.groups(Level::rank, Level::node)) == Lists{{1, 2}, {3, 4}});
  CHECK(members(topology.peers(Level::rank, {})) == Lists{{1, 2, 3, 4}});
  CHECK(topology.containing(Level::rank, Level::job)[reserved_slot] == no_slot);
}

TEST_CASE("peers share every coordinate that anyone has") {
  Topology topology = small();
  for (Slot rank = 1; rank <= 4; ++rank) topology.coordinate(Level::rank, rank, "stage", rank % 2 ? "a" : "b");
  topology.coordinate(Level::node, 0, "zone", "east");
  topology.coordinate(Level::node, 1, "zone", "west");
  const std::vector<std::string> stage{"stage"}, missing{"stage", "nobody_has_it"}, zone{"zone"}, both{"stage", "zone"};
  CHECK(members(topology.peers(Level::rank, stage)) == Lists{{1, 3}, {2, 4}});
  CHECK(members(topology.peers(Level::rank, missing)) == Lists{{1, 3}, {2, 4}});
  CHECK(members(topology.peers(Level::rank, zone)) == Lists{{1, 2}, {3, 4}});
  CHECK(members(topology.peers(Level::rank, both)) == Lists{{1}, {2}, {3}, {4}});
  CHECK(members(topology.peers(Level::gpu, stage)) == Lists{{0, 2}, {1, 3}});  // a GPU has its rank's coordinate
  CHECK(members(topology.peers(Level::node, stage)) == Lists{{0, 1}});         // both hold stages a and b

  topology.coordinate(Level::rank, 2, "stage", "");
  CHECK(members(topology.peers(Level::rank, stage)) == Lists{{1, 3}, {4}});
  CHECK(topology.peers(Level::rank, stage).group_of[2] == no_slot);
}

TEST_CASE("the spellings of a PCI address are one GPU") {
  Topology topology;
  const Slot slot = topology.gpu("n1", "00000000:3B:00.0");
  CHECK(topology.gpu("n1", "0000:3b:00.0") == slot);
  CHECK(topology.gpu("n1", "0000:3B:00") == slot);
  CHECK(topology.gpu("n2", "0000:3b:00.0") != slot);
  CHECK(topology.gpu("n1", "0000:3g:00.0") != slot);
  CHECK(topology.gpu_name(slot) == "0000:3b:00.0");
}

TEST_CASE("an unmapped GPU and the one it turns out to be become one, in the older slot") {
  Topology topology;
  topology.place(0, "n1", "0");
  const Slot pci = topology.gpu("n1", "0000:3b:00.0");
  topology.place(1, "n1", "0000:3b:00.0");
  const auto before = topology.version();
  topology.alias_gpu("n1", "0000:3b:00.0", "0");
  CHECK(topology.version() > before);
  CHECK(topology.gpu("n1", "0") == 0);
  CHECK(topology.gpu("n1", "0000:3b:00.0") == 0);
  CHECK_FALSE(topology.exists(Level::gpu, pci));
  CHECK(topology.gpu_name(0) == "0000:3b:00.0");
  CHECK(members(topology.groups(Level::rank, Level::gpu)) == Lists{{1, 2}, {}});
  CHECK(members(topology.groups(Level::gpu, Level::node)) == Lists{{0}});

  const auto after = topology.version();
  topology.alias_gpu("n1", "0000:3b:00.0", "0");
  CHECK(topology.version() == after);
  topology.alias_gpu("n1", "0000:3b:00.0", "GPU-77");
  CHECK(topology.gpu("n1", "GPU-77") == 0);
}

TEST_CASE("two PCI addresses are two GPUs: an index that they share in turn goes over to the newer") {
  Topology topology;
  topology.alias_gpu("n1", "0000:3b:00.0", "0");
  topology.alias_gpu("n1", "0000:3b:00.0", "GPU-1");
  const Slot first = topology.gpu("n1", "0000:3b:00.0");
  topology.alias_gpu("n1", "0000:af:00.0", "0");
  const Slot second = topology.gpu("n1", "0000:af:00.0");
  CHECK(second != first);
  CHECK(topology.gpu("n1", "0") == second);
  CHECK(topology.gpu("n1", "GPU-1") == first);
  topology.alias_gpu("n1", "GPU-2", "0");  // of one index, and of no other UUID
  CHECK(topology.gpu("n1", "GPU-2") == second);
  topology.alias_gpu("n1", "GPU-1", "0");
  CHECK(topology.gpu("n1", "0") == first);
  CHECK(topology.gpu("n1", "0000:af:00.0") == second);
  CHECK(topology.gpu_name(first) == "0000:3b:00.0");
  CHECK(topology.gpu_name(second) == "0000:af:00.0");
}

TEST_CASE("of names that are one GPU's its PCI address is shown, else its UUID") {
  using Names = std::vector<std::string_view>;
  Topology topology;
  topology.same_gpu("n1", Names{"", "3", "GPU-77", "0000:3b:00.0"});
  CHECK(topology.size(Level::gpu) == 1);
  CHECK(topology.gpu_name(0) == "0000:3b:00.0");
  topology.same_gpu("n1", Names{"4", "GPU-78"});
  CHECK(topology.gpu_name(topology.gpu("n1", "4")) == "GPU-78");
  topology.same_gpu("n1", Names{"5"});
  CHECK(topology.gpu_name(topology.gpu("n1", "5")) == "5");
}

TEST_CASE("a GPU of many names keeps to a limit of them") {
  Topology topology;
  for (int i = 0; i < 1000; ++i) topology.alias_gpu("n1", "0000:3b:00.0", "GPU-" + std::to_string(i));
  CHECK(topology.size(Level::gpu) == 1);
  CHECK(topology.gpu_name(0) == "0000:3b:00.0");
  Writer out, forgotten;
  topology.save(out);
  CHECK(out.bytes().size() < 2000);  // each name, and when it came, for a restore that goes back before it
  topology.forget_placements_before(Position{1});
  topology.save(forgotten);
  CHECK(forgotten.bytes().size() < 1000);
}

TEST_CASE("a name beyond the limit is another GPU's, also for a backfill, which knows that GPU from its beginning") {
  Topology topology;
  const auto read = [&] {
    for (int i = 0; i < 20; ++i) {
      topology.reading(static_cast<Position>(i + 1));
      topology.alias_gpu("n1", "GPU-1", std::to_string(i));
    }
    topology.reading(Position{30});
    const Slot other = topology.gpu("n1", "19");
    CHECK(other != topology.gpu("n1", "GPU-1"));
    return other;
  };
  const Slot other = read();
  topology.go_back_to(Position{1});
  CHECK(read() == other);
}

TEST_CASE("a GPU and a node are expected until all their ranks have left") {
  Topology topology = small();
  const Slot idle = topology.gpu("n1", "0000:af:00.0");
  topology.exited(0);
  CHECK_FALSE(topology.expected(Level::rank, 1));
  CHECK_FALSE(topology.expected(Level::gpu, 0));
  CHECK(topology.expected(Level::node, 0));
  CHECK(topology.expected(Level::gpu, idle));
  Topology other = small();
  other.exited(1);
  CHECK(other.expected(Level::node, 0));  // whichever of its ranks is left
  topology.exited(1);
  CHECK_FALSE(topology.expected(Level::node, 0));
  CHECK(topology.exists(Level::node, 0));
}

TEST_CASE("what repeats does not change a topology") {
  Topology topology = small();
  topology.coordinate(Level::rank, 1, "stage", "a");
  const auto version = topology.version();
  topology.place(0, "n1", "00000000:3B:00.0");
  topology.rack("n1", "r7");
  topology.coordinate(Level::rank, 1, "stage", "a");
  (void)topology.slot({.level = Level::rank, .rank = 2, .node = "n2", .gpu = {}});
  CHECK(topology.version() == version);
}

TEST_CASE("a topology is the same after it was saved and loaded, and a torn one is refused") {
  Topology topology = small();
  topology.expect_ranks(6);
  topology.exited(2);
  topology.use_reserved();
  topology.alias_gpu("n1", "0000:3b:00.0", "0");
  topology.coordinate(Level::rank, 2, "stage", "b");
  Writer out;
  topology.save(out);
  Topology loaded;
  Reader in{out.bytes()};
  REQUIRE(loaded.load(in));
  CHECK(loaded.world_size() == 6);
  CHECK(loaded.gpu("n1", "0") == 0);
  CHECK_FALSE(loaded.expected(Level::rank, 3));
  CHECK(members(loaded.groups(Level::rank, Level::job)) == members(topology.groups(Level::rank, Level::job)));
  Writer again;
  loaded.save(again);
  CHECK(std::equal(out.bytes().begin(), out.bytes().end(), again.bytes().begin(), again.bytes().end()));

  for (std::size_t size = 0; size < out.bytes().size(); ++size) {
    Topology torn;
    Reader part{out.bytes().first(size)};
    CHECK_FALSE(torn.load(part));
  }
  std::mt19937 random{tocsin::test::seed(7)};
  for (int i = 0; i < 2000; ++i) {  // a flipped byte may pass, but never crashes what follows
    std::vector<std::byte> bytes(out.bytes().begin(), out.bytes().end());
    bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    Topology flipped;
    Reader part{bytes};
    if (flipped.load(part)) (void)flipped.groups(Level::rank, Level::rack);
  }
}
