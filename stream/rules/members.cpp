#include "stream/rules/members.h"

namespace tocsin::stream {
namespace {

std::string describe_short(const NamedMember& member) {
  switch (member.level) {
    case Level::rank: return "rank " + (member.rank ? std::to_string(*member.rank) : std::string{"?"});
    case Level::gpu: return "GPU " + member.gpu + (member.node.empty() ? "" : " on " + member.node);
    case Level::node: return "node " + member.node;
    case Level::rack: return "rack " + member.rack;
    default: return "the job";
  }
}

}  // namespace

std::string describe(const NamedMember& member) {
  std::string text = describe_short(member);
  if (member.level == Level::rank && !member.node.empty()) text += " on " + member.node;
  return text;
}

Slot containing_slot(const Topology& topology, Level level, Slot slot, Level coarser) {
  if (level == coarser) return slot;
  if (coarser == Level::job || coarser == Level::none) return 0;
  if (coarser > level) return no_slot;
  const auto map = topology.containing(level, coarser);
  return slot < map.size() ? map[slot] : no_slot;
}

bool overlap(const Topology& topology, Level a, Slot slot_a, Level b, Slot slot_b) {
  if (a > b) return overlap(topology, b, slot_b, a, slot_a);
  return containing_slot(topology, b, slot_b, a) == slot_a;
}

NamedMember named_member(const Topology& topology, Level level, Slot slot) {
  NamedMember member;
  member.level = level;
  if (level == Level::job || level == Level::none) return member;
  if (level == Level::rank && slot != reserved_slot) member.rank = slot - 1;
  const Slot gpu = level >= Level::gpu ? containing_slot(topology, level, slot, Level::gpu) : no_slot;
  const Slot node = level >= Level::node ? containing_slot(topology, level, slot, Level::node) : no_slot;
  const Slot rack = containing_slot(topology, level, slot, Level::rack);
  if (gpu != no_slot) member.gpu = topology.gpu_name(gpu);
  if (node != no_slot) member.node = topology.node_name(node);
  if (rack != no_slot) member.rack = topology.rack_name(rack);
  return member;
}

}  // namespace tocsin::stream
