#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "stream/graph/evaluator.h"
#include "tests/oracle/graph.h"
#include "tests/stream_kernels/random_values.h"

namespace tocsin::stream {

// A cluster that is drawn at random, kept beside the Topology that learns the same.
struct World : oracle::Members {
  struct Rank {
    bool exists = false;
    int gpu = -1, node = -1;
    std::string stage;
  };
  struct Gpu {
    int node = -1;
  };
  struct Machine {
    int rack = -1;
    std::string zone;
  };
  std::vector<Rank> ranks;  // by number
  std::vector<Gpu> gpus;
  std::vector<Machine> nodes;
  int racks = 0;
  bool reserved = false;
  Topology topology;

  void grow(RandomValues& random) {
    const auto more = 1 + random.below(3);
    for (std::size_t i = 0; i < more; ++i) {
      const int node = static_cast<int>(nodes.size());
      const std::string host = "n" + std::to_string(node);
      (void)topology.node(host);
      nodes.emplace_back();
      if (random.below(4)) {
        nodes.back().rack = static_cast<int>(random.below(2));
        if (nodes.back().rack >= racks) nodes.back().rack = racks++;
        topology.rack(host, "r" + std::to_string(nodes.back().rack));
      }
      if (random.below(3)) {
        nodes.back().zone = random.below(2) ? "east" : "west";
        topology.coordinate(Level::node, static_cast<Slot>(node), "zone", nodes.back().zone);
      }
      const auto here = random.below(5);
      for (std::size_t g = 0; g < here; ++g) {
        const int gpu = static_cast<int>(gpus.size());
        (void)topology.gpu(host, "GPU-" + std::to_string(gpu));
        gpus.push_back({node});
        if (random.below(8) == 0) ranks.emplace_back();  // a rank that nobody has seen
        Rank rank{true, random.below(6) ? gpu : -1, node, ""};
        const auto number = static_cast<std::uint32_t>(ranks.size());
        topology.place(number, host, rank.gpu < 0 ? "" : "GPU-" + std::to_string(gpu));
        if (random.below(10)) {
          rank.stage = random.below(2) ? "first" : "last";
          topology.coordinate(Level::rank, number + 1, "stage", rank.stage);
        }
        ranks.push_back(rank);
      }
    }
    if (!reserved && random.below(2)) {
      reserved = true;
      topology.use_reserved();
    }
  }

  std::size_t size(Level level) const override {
    return std::array<std::size_t, 6>{
        1, 1, static_cast<std::size_t>(racks), nodes.size(), gpus.size(), last_rank() + 2}[static_cast<std::size_t>(
        level)];
  }
  std::size_t last_rank() const {
    for (std::size_t r = ranks.size(); r > 0; --r)
      if (ranks[r - 1].exists) return r - 1;
    return std::size_t(-1);
  }
  oracle::Place in(Level fine, std::size_t slot, Level coarse) const override {
    const int at = container(fine, static_cast<int>(slot), coarse);
    return at < 0 ? oracle::Place{} : oracle::Place{static_cast<std::size_t>(at)};
  }
  bool reserved_used() const override { return reserved; }
  std::string coordinate(Level level, std::size_t slot, const std::string& name) const override {
    if (name == "stage") return level == Level::rank && slot > 0 ? ranks[slot - 1].stage : "";
    const oracle::Place node = name == "zone" ? in(level, slot, Level::node) : oracle::Place{};
    return node ? nodes[*node].zone : "";
  }

 private:
  // The slot of `coarse` that a slot of `fine` lies in, or -1.
  int container(Level fine, int slot, Level coarse) const {
    if (slot < 0 || (fine == Level::rank && (slot == 0 || !ranks[static_cast<std::size_t>(slot) - 1].exists)))
      return -1;
    if (fine == coarse) return slot;
    if (coarse == Level::job || coarse == Level::none) return 0;
    const auto s = static_cast<std::size_t>(slot);
    if (fine == Level::rank)
      return coarse == Level::gpu ? ranks[s - 1].gpu : container(Level::node, ranks[s - 1].node, coarse);
    if (fine == Level::gpu) return container(Level::node, gpus[s].node, coarse);
    if (fine == Level::node) return nodes[s].rack;
    return -1;
  }
};

// What leaves hold: drawn from a number that names node and tick.
class DrawnLeaves : public Leaves {
 public:
  std::uint64_t tick = 0;
  std::vector<double> column(std::uint64_t name, std::size_t n) const {
    return RandomValues{name * 7919 + tick}.column(n);
  }
  // Of a window; those of every other signal are constant but for the first member, which the evaluator is given and
  // this writes out.
  std::vector<double> reduction(const Node& node, const WindowSpec& window, std::size_t n) const {
    const std::uint64_t name = name_of(node) + static_cast<std::uint64_t>(window.signal) * 101;
    auto values = RandomValues{name * 7919 + since(window)}.column(n);
    if (constant(window, n)) std::fill(values.begin() + 2, values.end(), values[1]);
    return values;
  }
  bool constant(const WindowSpec& window, std::size_t n) const {
    return n > 2 && (static_cast<std::uint64_t>(window.signal) + since(window)) % 2 == 0;
  }
  // The tick at which what the window holds has changed last: some windows change at every third.
  std::uint64_t since(const WindowSpec& window) const { return since(static_cast<std::uint32_t>(window.signal)); }
  std::uint64_t since(std::uint32_t signal) const { return signal % 3 == 0 ? tick : tick - tick % 3; }
  Reading reading(const Node&, const WindowSpec& window) override {
    Reading reading;
    reading.signal = static_cast<std::uint16_t>(window.signal);
    reading.content = static_cast<std::uint32_t>(since(window));
    return reading;
  }
  bool same(const Reading& reading) override {
    return reading.content == static_cast<std::uint32_t>(since(reading.signal));
  }
  std::vector<Truth> mask(std::uint64_t name, std::size_t n) const { return RandomValues{name * 7919 + tick}.mask(n); }
  static std::uint64_t name_of(const Node& node) {
    return std::hash<std::string>{}(node.attributes.field) + 31 * static_cast<std::uint64_t>(node.op) +
           17 * static_cast<std::uint64_t>(node.type.level);
  }
  static bool held(std::size_t slot) { return slot % 3 == 1; }

  bool reduce(const Node& node, const WindowSpec& window, Column other, std::span<double> out) override {
    if (node.op == Op::w_time_to) {
      std::copy(other.begin(), other.end(), out.begin());
      return false;
    }
    std::ranges::copy(reduction(node, window, out.size()), out.begin());
    if (!constant(window, out.size())) return false;
    std::fill(out.begin() + 2, out.end(), 12345.0);  // nobody may look there
    return true;
  }
  void finding(const Node& node, std::span<Truth> out) override {
    std::ranges::copy(mask(name_of(node), out.size()), out.begin());
  }
  void state(const Node& node, std::span<double> out) override {
    std::ranges::copy(column(name_of(node), out.size()), out.begin());
  }
  void freeze(const Node&, std::span<double> in_out) override {
    for (std::size_t slot = 0; slot < in_out.size(); ++slot)
      if (held(slot)) in_out[slot] = 7.5;
  }
  double job_age() const override { return 60.0 * static_cast<double>(tick); }
  double symbol(std::string_view text) const override { return text == "a" ? 1 : text == "b" ? 2 : absent; }
};

// The same for the oracle, which has no form of its own for a frozen value.
class DrawnForOracle : public oracle::Leaves {
 public:
  DrawnForOracle(const World& world, const DrawnLeaves& leaves) : world_(world), leaves_(leaves) {}

  oracle::Column window(NodeId, const Node& node, const oracle::Column& goal) override {
    if (node.op == Op::w_time_to) return goal;
    return numbers(leaves_.reduction(node, *node.attributes.window, world_.size(node.type.level)));
  }
  oracle::Mask finding(const Node& node) override {
    oracle::Mask answers;
    for (const Truth truth : leaves_.mask(DrawnLeaves::name_of(node), world_.size(node.type.level)))
      answers.push_back(oracle::answer_of(truth));
    return answers;
  }
  oracle::Column state(const Node& node) override {
    return numbers(leaves_.column(DrawnLeaves::name_of(node), world_.size(node.type.level)));
  }
  oracle::Column freeze(const Node&, oracle::Column values) override {
    for (std::size_t slot = 0; slot < values.size(); ++slot)
      if (DrawnLeaves::held(slot)) values[slot] = 7.5;
    return values;
  }
  double job_age() const override { return leaves_.job_age(); }
  oracle::Number symbol(const std::string& text) const override { return oracle::number_of(leaves_.symbol(text)); }

 private:
  static oracle::Column numbers(const std::vector<double>& values) {
    oracle::Column column;
    for (const double value : values) column.push_back(oracle::number_of(value));
    return column;
  }
  const World& world_;
  const DrawnLeaves& leaves_;
};

}  // namespace tocsin::stream
