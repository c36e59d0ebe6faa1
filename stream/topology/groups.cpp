// What a topology derives from its members: which level contains which, which members are peers, and where all ranks
// have left.
#include <algorithm>
#include <cassert>

#include "stream/topology/topology.h"

namespace tocsin::stream {
namespace {

constexpr std::uint32_t no_group = no_slot;

Groups grouped(std::vector<std::uint32_t> group_of, std::size_t count) {
  Groups groups;
  groups.offsets.assign(count + 1, 0);
  for (const auto group : group_of)
    if (group != no_group) ++groups.offsets[group + 1];
  for (std::size_t g = 0; g < count; ++g) groups.offsets[g + 1] += groups.offsets[g];
  groups.members.resize(groups.offsets[count]);
  auto next = groups.offsets;
  for (Slot slot = 0; slot < group_of.size(); ++slot)
    if (group_of[slot] != no_group) groups.members[next[group_of[slot]]++] = slot;
  groups.group_of = std::move(group_of);
  return groups;
}

}  // namespace

void Topology::find_left() const {
  // 0: no rank is there; 1: all ranks there have exited; 2: at least one has not.
  const auto look = [&](Level level, std::vector<std::uint8_t>& left) {
    left.assign(size(level), 0);
    for (Slot rank = 1; rank < rank_exists_.size(); ++rank) {
      const Slot at = rank_exists_[rank] ? container(Level::rank, rank, level) : no_slot;
      if (at != no_slot) left[at] = std::max<std::uint8_t>(left[at], rank_exited_[rank] ? 1 : 2);
    }
    for (auto& state : left) state = state == 1;
  };
  look(Level::node, derived_.left_nodes);
  look(Level::gpu, derived_.left_gpus);
  derived_.left_known = true;
}

Slot Topology::container(Level fine, Slot slot, Level coarse) const noexcept {
  if (!exists(fine, slot)) return no_slot;
  if (coarse == fine) return slot;
  if (coarse == Level::job || coarse == Level::none) return 0;
  if (fine == Level::rank) {
    const Slot gpu = rank_gpu_[slot];
    if (coarse == Level::gpu) return gpu;
    Slot node = rank_node_[slot];
    if (node == no_slot && gpu != no_slot) node = (*gpus_)[gpu].node;
    return coarse == Level::node || node == no_slot ? node : node_rack_[node];
  }
  if (fine == Level::gpu) {
    const Slot node = (*gpus_)[slot].node;
    return coarse == Level::node || node == no_slot ? node : node_rack_[node];
  }
  return fine == Level::node ? node_rack_[slot] : no_slot;
}

std::span<const Slot> Topology::containing(Level fine, Level coarse) const {
  assert(fine >= coarse);
  auto [found, fresh] = derived_.containing.try_emplace({fine, coarse});
  if (fresh) {
    found->second.resize(size(fine));
    for (Slot slot = 0; slot < found->second.size(); ++slot) found->second[slot] = container(fine, slot, coarse);
  }
  return found->second;
}

const Groups& Topology::groups(Level fine, Level coarse) const {
  auto [found, fresh] = derived_.groups.try_emplace({fine, coarse});
  if (fresh) {
    const auto in = containing(fine, coarse);
    std::vector<std::uint32_t> group_of(in.begin(), in.end());
    if (fine == Level::rank && coarse == Level::job && reserved_used_) group_of[reserved_slot] = 0;
    found->second = grouped(std::move(group_of), size(coarse));
  }
  return found->second;
}

std::vector<std::string> Topology::coordinate_of_members(Level level, const Coordinate& coordinate) const {
  std::vector<std::string> of(size(level));
  const auto value = [&](Slot owner) {
    return owner < coordinate.values.size() ? std::string_view{coordinate.values[owner]} : "";
  };
  if (coordinate.owner <= level) {
    for (Slot slot = 0; slot < of.size(); ++slot)
      if (const Slot owner = container(level, slot, coordinate.owner); owner != no_slot) of[slot] = value(owner);
    return of;
  }
  std::vector<std::vector<std::string_view>> values(of.size());
  for (Slot owner = 0; owner < coordinate.values.size(); ++owner)
    if (const Slot slot = container(coordinate.owner, owner, level); slot != no_slot && !value(owner).empty())
      values[slot].push_back(value(owner));
  for (Slot slot = 0; slot < of.size(); ++slot) {
    std::sort(values[slot].begin(), values[slot].end());
    values[slot].erase(std::unique(values[slot].begin(), values[slot].end()), values[slot].end());
    for (const auto one : values[slot]) of[slot].append(one).push_back('\0');
  }
  return of;
}

const Groups& Topology::peers(Level level, std::span<const std::string> coordinates) const {
  std::string key(1, static_cast<char>(level));
  for (const auto& name : coordinates) key.append(name).push_back('\0');
  auto [found, fresh] = derived_.peers.try_emplace(std::move(key));
  if (!fresh) return found->second;

  // Refines the partition by one coordinate after the other.
  std::vector<std::uint32_t> group_of(size(level), no_group);
  for (Slot slot = 0; slot < group_of.size(); ++slot)
    if (exists(level, slot)) group_of[slot] = 0;
  for (const auto& name : coordinates) {
    const auto known = coordinates_->find(name);
    if (known == coordinates_->end()) continue;
    const auto values = coordinate_of_members(level, known->second);
    bool anyone = false;
    for (Slot slot = 0; slot < values.size() && !anyone; ++slot) anyone = exists(level, slot) && !values[slot].empty();
    if (!anyone) continue;
    std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> numbers;
    const auto number = [&](std::pair<std::uint32_t, std::string_view> place) {
      return numbers.try_emplace(place, static_cast<std::uint32_t>(numbers.size())).first->second;
    };
    for (Slot slot = 0; slot < values.size(); ++slot) {
      if (group_of[slot] == no_group) continue;
      if (values[slot].empty()) group_of[slot] = no_group;
      else group_of[slot] = number({group_of[slot], values[slot]});
    }
  }
  // Numbers the groups by their first members.
  std::map<std::uint32_t, std::uint32_t> in_order;
  for (auto& group : group_of)
    if (group != no_group)
      group = in_order.try_emplace(group, static_cast<std::uint32_t>(in_order.size())).first->second;
  found->second = grouped(std::move(group_of), in_order.size());
  return found->second;
}

}  // namespace tocsin::stream
