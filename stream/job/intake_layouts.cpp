// What the names of a block's signals and members mean: signals as the pack has them under which it is read, members as
// the topology has them.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "stream/graph/kernels.h"
#include "stream/job/intake.h"
#include "stream/values/units.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_layouts = 4'096;
// Of lists of members that are remembered, twice: a collector sends the same ones again, each of a few members.
constexpr std::size_t least_membership_bytes = 64u << 10, membership_bytes_a_member = 512;

}  // namespace

void Intake::forget_layouts() {
  write_following();
  layouts_.clear();
  std::ranges::fill(recent_layouts_, nullptr);
}

// A stated unit says what the values are; without one an alias has its factor, and the values of the signal's own name
// their unit. A number is no text: it would be read as the place of one in the block.
std::optional<double> Intake::factor_of(const SampleBlock::Signal& named, const SignalDefinition& definition) const {
  if (named.unit.empty() && definition.textual() && named.kind != SignalKind::state) return std::nullopt;
  if (named.unit.empty()) return factor(named.name);
  return unit_factor(named.unit, definition.unit);
}

void Intake::Layout::note_together(SignalId id, Level owner, std::uint32_t place) {
  auto with = std::ranges::find(together, owner, &Together::owner);
  if (with == together.end()) with = together.insert(with, {owner, {}, {}});
  if (std::ranges::find(with->ids, id) != with->ids.end()) return;  // under another name
  with->places.push_back(place);
  with->ids.push_back(id);
}

// Each signal is there once, its arrivals are noted together, or it is `step`, and no value depends on those of other
// signals: step_gap is made of the steps as they are written.
void Intake::look_at_following(Layout& layout) const {
  std::vector<SignalId> ids;
  layout.lateness = never - Time{};
  for (const auto* places : {&layout.plain, &layout.others})
    for (const std::uint32_t s : *places) {
      const auto& signal = layout.signals[s];
      ids.push_back(signal.id);
      layout.lateness = std::min(layout.lateness, pack_->signals[signal.id].lateness);
      if (std::ranges::find(layout.levels, signal.owner) == layout.levels.end()) layout.levels.push_back(signal.owner);
    }
  std::ranges::sort(ids);
  if (const auto gap = pack_->signals.find("step_gap"); gap && layout.step != npos)
    layout.lateness = std::min(layout.lateness, pack_->signals[*gap].lateness);
  layout.follows = !ids.empty() && std::ranges::adjacent_find(ids) == ids.end() &&
                   std::ranges::all_of(ids, [&](SignalId id) { return id == step_ || history_->arrives_with(id); }) &&
                   std::ranges::all_of(
                       layout.plain, [&](std::uint32_t s) { return history_->keeps_rows_alone(layout.signals[s].id); });
}

Intake::Layout& Intake::layout_of(const SampleBlock& block) {
  const std::size_t hash = (reinterpret_cast<std::uintptr_t>(block.layout.data()) * 0x9e3779b97f4a7c15u) >> 56;
  Layout*& recent = recent_layouts_[hash & (recent_layouts_.size() - 1)];
  if (recent != nullptr && recent->names == block.layout && recent->source == block.source) return *recent;
  key_.assign(block.layout).push_back('\0');
  key_ += block.source;
  if (const auto known = layouts_.find(key_); known != layouts_.end()) return *(recent = &known->second);
  if (layouts_.size() > most_layouts) forget_layouts();
  Layout layout;
  layout.names = block.layout, layout.source = block.source;
  for (const auto& named : block.signals) {
    auto& signal = layout.signals.emplace_back();
    if (named.name == "gpu_pci" || named.name == "gpu_uuid" || named.name == "gpu_index")
      layout.gpu_names.push_back(static_cast<std::uint32_t>(layout.signals.size() - 1));
    const auto id = pack_->signals.find(named.name);
    if (!id) {
      ++layout.unknown;
      continue;
    }
    const SignalDefinition& definition = pack_->signals[*id];
    const bool step = id == step_;
    if (step) layout.step = layout.signals.size() - 1;
    const auto factor = factor_of(named, definition);
    if (!factor) {
      layout.refused = true;
      continue;
    }
    signal = {*id,   *factor,         history_->wants(*id) || step, definition.textual(), definition.points,
              false, definition.owner};
    signal.plain = signal.wanted && !step && !signal.textual && !signal.points && !definition.wide();
    const auto place = static_cast<std::uint32_t>(layout.signals.size() - 1);
    const bool alone = signal.textual || (signal.points && signal.owner == Level::job);
    if (!signal.wanted) ++layout.unwanted;
    else (signal.plain ? layout.plain : alone ? layout.one_by_one : layout.others).push_back(place);
    if (signal.wanted && !alone && history_->arrives_with(*id)) layout.note_together(*id, definition.owner, place);
    const std::string_view source = block.source.empty() ? std::string_view{definition.source} : block.source;
    if (!source.empty() && std::find(layout.sources.begin(), layout.sources.end(), source) == layout.sources.end())
      layout.sources.emplace_back(source);
  }
  look_at_following(layout);
  Layout& made = layouts_.emplace(key_, std::move(layout)).first->second;
  constexpr std::size_t most_recent = 256;
  if (const std::size_t room = 4 * layouts_.size() + 2; recent_layouts_.size() < std::min(room, most_recent))
    recent_layouts_.assign(std::bit_ceil(room), nullptr);
  else recent = &made;
  return made;
}

// What was not used since the room was half full goes first.
Intake::Known<Intake::Membership>::value_type& Intake::remembered(const SampleBlock& block) {
  if (const auto known = memberships_.find(block.membership); known != memberships_.end()) return *known;
  std::size_t room = least_membership_bytes;
  for (const Level level : {Level::rank, Level::gpu, Level::node})
    room += membership_bytes_a_member * topology_.size(level);
  constexpr std::size_t columns = 4;  // of slots: its own, and those of owners at other levels
  const std::size_t bytes = sizeof(Known<Membership>::value_type) + columns * sizeof(Membership::Owners) +
                            block.membership.size() + columns * sizeof(Slot) * block.members.size();
  if (membership_bytes_ + bytes > room) {
    write_following();
    for (auto& known : memberships_) known.second.after = nullptr;  // it may be among those that go
    earlier_memberships_ = std::exchange(memberships_, {});
    membership_bytes_ = 0;
  }
  membership_bytes_ += bytes;
  if (const auto earlier = earlier_memberships_.find(block.membership); earlier != earlier_memberships_.end())
    return *memberships_.insert(earlier_memberships_.extract(earlier)).position;
  return *memberships_.emplace(block.membership, Membership{}).first;
}

Intake::Membership& Intake::membership_of(const SampleBlock& block) {
  Membership* membership = &passing_;
  if (block.membership.empty()) {
    passing_.version = 0;
  } else {
    if (recent_membership_ == nullptr || recent_membership_->first != block.membership) {
      auto* const before = recent_membership_;
      auto* const after = before == nullptr ? nullptr : before->second.after;
      recent_membership_ = after != nullptr && after->first == block.membership ? after : &remembered(block);
      if (before != nullptr) before->second.after = recent_membership_;
    }
    membership = &recent_membership_->second;
  }
  if (membership->version == topology_.version()) return *membership;
  write_following();
  membership->own.resize(block.members.size());
  membership->levels.clear();
  membership->owners.clear();
  membership->without = 0;
  // Whether ranks are known is looked up together, as long as none is learned.
  std::span<const std::uint8_t> ranks;
  std::optional<std::uint64_t> looked_up_at;
  for (std::size_t m = 0; m < block.members.size(); ++m) {
    const MemberKey& key = block.members[m];
    if (membership->levels.empty() || membership->levels.back().first != key.level)
      membership->levels.emplace_back(key.level, m);
    membership->levels.back().second = m + 1;
    const bool plain = key.level == Level::rank && key.node.empty() && key.gpu.empty();
    if (plain && looked_up_at == topology_.version() && key.rank + 1 < ranks.size() && ranks[key.rank + 1] != 0) {
      membership->own[m] = key.rank + 1;
      continue;
    }
    const std::uint64_t before = topology_.version();
    const Slot slot = topology_.slot(key).value_or(no_slot);
    membership->own[m] = slot;
    membership->without += slot == no_slot ? 1 : 0;
    if (plain && slot != no_slot && before == topology_.version() && !looked_up_at)
      ranks = topology_.existing(Level::rank), looked_up_at = before;
  }
  membership->version = topology_.version();  // as it is now that they are learned
  return *membership;
}

const Intake::Membership::Owners& Intake::owners_of(Membership& membership, Level owner, const SampleBlock& block,
                                                    const Provenance& from) {
  const auto recorded = [&](Membership::Owners& owners) -> const Membership::Owners& {
    if (owners.origin == from.origin) return owners;
    owners.origin = from.origin;
    carried(owner, owners.slots, from);
    return owners;
  };
  for (auto& owners : membership.owners)
    if (owners.level == owner) return recorded(owners);
  Membership::Owners owners{owner, {}, true, false, {}};
  if (membership.levels.size() == 1 && membership.levels.front().first == owner) {
    owners.slots = membership.own, owners.all = membership.without == 0;
    owners.in_a_row = kernels().in_a_row(owners.slots.data(), owners.slots.size());
    return recorded(membership.owners.emplace_back(std::move(owners)));
  }
  owners.slots.reserve(block.members.size());
  for (std::size_t m = 0; m < block.members.size(); ++m) {
    const MemberKey& key = block.members[m];
    Slot slot = membership.own[m];
    if (slot != no_slot && owner != key.level) slot = owner_slot(owner, key).value_or(no_slot);
    owners.slots.push_back(slot);
    owners.all = owners.all && slot != no_slot;
  }
  owners.in_a_row = kernels().in_a_row(owners.slots.data(), owners.slots.size());
  return recorded(membership.owners.emplace_back(std::move(owners)));
}

}  // namespace tocsin::stream
