#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stream/evaluator.h"
#include "tests/stream_kernels/random_values.h"

namespace tocsin::stream {

// A cluster that is drawn at random, kept beside the Topology that it was told to.
struct World {
  struct Rank { bool exists = false; int gpu = -1, node = -1; std::string stage; };
  struct Gpu { int node = -1; };
  struct Machine { int rack = -1; std::string zone; };
  std::vector<Rank> ranks;      // by number
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
        if (random.below(8) == 0) ranks.emplace_back();   // a rank that nobody has seen
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
      topology.speak_reserved();
    }
  }

  std::size_t size(Level level) const {
    return std::array<std::size_t, 6>{1, 1, static_cast<std::size_t>(racks), nodes.size(), gpus.size(), last_rank() + 2}[static_cast<std::size_t>(level)];
  }
  std::size_t last_rank() const {
    for (std::size_t r = ranks.size(); r > 0; --r)
      if (ranks[r - 1].exists) return r - 1;
    return std::size_t(-1);
  }
  // The slot of `coarse` that a slot of `fine` lies in, or -1.
  int in(Level fine, int slot, Level coarse) const {
    if (slot < 0 || (fine == Level::rank && (slot == 0 || !ranks[static_cast<std::size_t>(slot) - 1].exists))) return -1;
    if (fine == coarse) return slot;
    if (coarse == Level::job || coarse == Level::none) return 0;
    const auto s = static_cast<std::size_t>(slot);
    if (fine == Level::rank) return coarse == Level::gpu ? ranks[s - 1].gpu : in(Level::node, ranks[s - 1].node, coarse);
    if (fine == Level::gpu) return in(Level::node, gpus[s].node, coarse);
    if (fine == Level::node) return nodes[s].rack;
    return -1;
  }
  std::string coordinate(Level level, int slot, const std::string& name) const {
    if (name == "stage") return level == Level::rank && slot > 0 ? ranks[static_cast<std::size_t>(slot) - 1].stage : "";
    const int node = name == "zone" ? in(level, slot, Level::node) : -1;
    return node < 0 ? "" : nodes[static_cast<std::size_t>(node)].zone;
  }
};

// What leaves hold: drawn from a number that names node and tick.
class DrawnLeaves : public Leaves {
 public:
  std::uint64_t tick = 0;
  std::vector<double> column(std::uint64_t name, std::size_t n) const { return RandomValues{name * 7919 + tick}.column(n); }
  std::vector<Truth> mask(std::uint64_t name, std::size_t n) const { return RandomValues{name * 7919 + tick}.mask(n); }
  static std::uint64_t name_of(const Node& node) {
    return std::hash<std::string>{}(node.attributes.field) + 31 * static_cast<std::uint64_t>(node.op) + 17 * static_cast<std::uint64_t>(node.type.level);
  }
  static bool held(std::size_t slot) { return slot % 3 == 1; }

  void reduce(const Node& node, const WindowSpec& window, Column other, std::span<double> out) override {
    if (node.op == Op::w_time_to) std::copy(other.begin(), other.end(), out.begin());
    else std::ranges::copy(column(name_of(node) + static_cast<std::uint64_t>(window.signal) * 101, out.size()), out.begin());
  }
  void finding(const Node& node, std::span<Truth> out) override { std::ranges::copy(mask(name_of(node), out.size()), out.begin()); }
  void state(const Node& node, std::span<double> out) override { std::ranges::copy(column(name_of(node), out.size()), out.begin()); }
  void freeze(const Node&, std::span<double> in_out) override {
    for (std::size_t slot = 0; slot < in_out.size(); ++slot)
      if (held(slot)) in_out[slot] = 7.5;
  }
  double symbol(std::string_view text) const override { return text == "a" ? 1 : text == "b" ? 2 : absent; }
};

// Computes a graph again, member by member and without any of the engine's code.
class Naive {
 public:
  Naive(const Graph& graph, const World& world, const DrawnLeaves& leaves) : graph_(graph), world_(world), leaves_(leaves) {}
  const std::vector<double>& column(NodeId id) { return value(id).numbers; }
  const std::vector<Truth>& mask(NodeId id) { return value(id).truths; }

 private:
  struct Value { Level level; std::vector<double> numbers; std::vector<Truth> truths; };

  const Value& value(NodeId id) {
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
    Value made = compute(graph_[id]);
    return values_.emplace(id, std::move(made)).first->second;
  }
  static bool coarse(Level level) { return level == Level::none || level == Level::job; }
  double number(const Node& node, std::size_t i, std::size_t slot) {
    const Value& of = value(node.arguments[i]);
    return of.numbers[coarse(of.level) ? 0 : slot];
  }
  Truth truth_of(const Node& node, std::size_t i, std::size_t slot) {
    const Value& of = value(node.arguments[i]);
    return of.truths[coarse(of.level) ? 0 : slot];
  }

  Value compute(const Node& node);
  double number_of(const Node& node, std::size_t slot);
  Truth mask_of(const Node& node, std::size_t slot);
  std::vector<int> members(const Node& node, std::size_t slot);
  double fold(const Node& node, std::size_t slot);
  Truth fold_truths(const Node& node, std::size_t slot);

  const Graph& graph_;
  const World& world_;
  const DrawnLeaves& leaves_;
  std::map<NodeId, Value> values_;
};

}  // namespace tocsin::stream
