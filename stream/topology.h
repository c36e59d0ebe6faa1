#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stream/graph.h"
#include "stream/record.h"
#include "stream/signal.h"

namespace tocsin::stream {

// The place of a member in the columns of its level. Slots are never reused within an attempt. At level rank, slot 0 is the
// reserved member "job" (values of rank-owned signals whose rank is unknown) and rank r has slot r + 1; at the others slots are
// given in the order of first appearance. Level job has the one slot 0.
using Slot = std::uint32_t;
inline constexpr Slot no_slot = 0xFFFFFFFFu;
inline constexpr Slot reserved_slot = 0;

// A partition of the members of a level. Members of a group are ascending; members that do not exist are in none.
struct Groups {
  std::vector<std::uint32_t> offsets;   // of group g: members[offsets[g] .. offsets[g + 1])
  std::vector<Slot> members;
  std::vector<std::uint32_t> group_of;  // of each slot of the finer level; no_slot: in none
  [[nodiscard]] std::size_t count() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  [[nodiscard]] std::span<const Slot> of(std::size_t group) const {
    return std::span{members}.subspan(offsets[group], offsets[group + 1] - offsets[group]);
  }
};

// The members of one attempt: its ranks, their GPUs and nodes, and how they lie in each other; learned from events and labels.
// Owned by its Attempt. Everything that is derived (groups, spread maps) is rebuilt after a change, at the next look.
class Topology {
 public:
  static constexpr std::uint32_t most_ranks = 262'144;

  Topology();

  // Slots, learned on demand; nullopt for a rank over the limit.
  std::optional<Slot> rank(std::uint32_t rank);
  Slot node(std::string_view name);
  Slot gpu(std::string_view node, std::string_view gpu);   // any alias of it
  std::optional<Slot> slot(const MemberKey& key);          // of the key's own level
  [[nodiscard]] std::optional<Slot> find(const MemberKey& key) const;

  void expect_ranks(std::uint32_t world_size);             // ranks 0 to world_size - 1 exist and are expected
  void place(std::uint32_t rank, std::string_view node, std::string_view gpu);
  void rack(std::string_view node, std::string_view rack);
  void coordinate(Level owner, Slot slot, std::string_view name, std::string_view value);
  void alias_gpu(std::string_view node, std::string_view pci, std::string_view alias);
  void exited(std::uint32_t rank);
  void speak_reserved();                                   // the reserved member has a value: "job" includes it

  [[nodiscard]] std::size_t size(Level level) const noexcept;            // slots, existing or not
  [[nodiscard]] bool exists(Level level, Slot slot) const noexcept;
  [[nodiscard]] bool expected(Level level, Slot slot) const noexcept;    // exists, and has not exited
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  // For each slot of `fine` the slot of `coarse` that contains it, or no_slot. fine is finer than coarse.
  [[nodiscard]] std::span<const Slot> containing(Level fine, Level coarse) const;
  // The slots of `fine` by the slot of `coarse`. Over the job the reserved member takes part where it has spoken.
  [[nodiscard]] const Groups& groups(Level fine, Level coarse) const;
  // Ranks (or GPUs) that share every one of these coordinates; one that no member has is left out.
  [[nodiscard]] const Groups& peers(Level level, std::span<const std::string> coordinates) const;

  [[nodiscard]] std::string_view node_name(Slot node) const;
  [[nodiscard]] std::string_view gpu_name(Slot gpu) const;
  [[nodiscard]] std::string_view rack_name(Slot rack) const;
  // The key of a member, with what contains it (a rank's node and GPU).
  [[nodiscard]] MemberKey key(Level level, Slot slot) const;
  [[nodiscard]] std::uint32_t world_size() const noexcept { return world_size_; }

 private:
  friend class TopologySnapshot;
  struct Gpu { Slot node; std::string name; std::vector<std::string> aliases; };
  void changed() noexcept { ++version_; derived_.reset(); }
  Slot rack_slot(std::string_view name);

  std::uint32_t world_size_ = 0;
  std::vector<std::uint8_t> rank_exists_, rank_exited_;   // by slot
  std::vector<Slot> rank_node_, rank_gpu_;
  std::vector<std::string> nodes_, racks_;
  std::vector<Slot> node_rack_;
  std::vector<Gpu> gpus_;
  std::unordered_map<std::string, Slot> node_slots_, gpu_slots_, rack_slots_;
  // coordinate name, then value per slot of its owner's level
  std::map<std::string, std::pair<Level, std::vector<std::string>>, std::less<>> coordinates_;
  std::uint64_t version_ = 1;

  struct Derived {
    std::map<std::pair<Level, Level>, std::vector<Slot>> containing;
    std::map<std::pair<Level, Level>, Groups> groups;
    std::map<std::pair<Level, std::string>, Groups> peers;
  };
  mutable std::optional<Derived> derived_;
};

}  // namespace tocsin::stream
