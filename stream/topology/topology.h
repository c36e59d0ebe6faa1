#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/copy_on_write.h"
#include "stream/values/record.h"
#include "stream/values/result.h"
#include "stream/values/signal.h"

namespace tocsin::stream {

// The position of a member in the columns of its level. Slots are never reused within an attempt. At level rank, slot 0
// is the reserved member "job" (values of rank-owned signals whose rank is unknown) and rank r has slot r + 1. At the
// other levels, slots follow the order of first appearance. Level job has only slot 0.
using Slot = std::uint32_t;
inline constexpr Slot no_slot = 0xFFFFFFFFu;
inline constexpr Slot reserved_slot = 0;

class GpuName;

// A partition of the members of a level. The members of a group ascend; members that do not exist are in no group.
struct Groups {
  std::vector<std::uint32_t> offsets;  // of group g: members[offsets[g] .. offsets[g + 1])
  std::vector<Slot> members;
  std::vector<std::uint32_t> group_of;  // of each slot of the finer level; no_slot: in none
  [[nodiscard]] std::size_t count() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  [[nodiscard]] std::span<const Slot> of(std::size_t group) const {
    return std::span{members}.subspan(offsets[group], offsets[group + 1] - offsets[group]);
  }
};

// The members of one attempt: its ranks, their GPUs and nodes, and which contains which. Learned from events and
// labels. In the cluster, members that are not seen for long are retired. Owned by its Attempt. Derived data (groups,
// spread maps) is rebuilt on first use after a change; spans, references and names last until the next change.
class Topology {
 public:
  static constexpr std::uint32_t most_ranks = 262'144, most_nodes = 65'536, most_gpus = 262'144, most_racks = 65'536;

  static constexpr Slot most_slots = 262'145;  // of any level

  Topology();

  // Slots, created on first use. Over a limit, or without a name: nullopt and no_slot; the caller counts it.
  std::optional<Slot> rank(std::uint32_t rank);
  Slot node(std::string_view name);
  // By PCI address (any notation), index or UUID. An empty `node`: the GPU's node is unknown.
  Slot gpu(std::string_view node, std::string_view gpu);
  // At the key's own level; learns the place of a rank if the key gives it. A key of level rack has no slot.
  std::optional<Slot> slot(const MemberKey& key);
  [[nodiscard]] std::optional<Slot> find(const MemberKey& key) const;

  void expect_ranks(std::uint32_t world_size);  // ranks 0 to world_size - 1 exist and are expected
  void place(std::uint32_t rank, std::string_view node, std::string_view gpu);
  void rack(std::string_view node, std::string_view rack);
  void coordinate(Level owner, Slot slot, std::string_view name, std::string_view value);
  // Merges two names of one GPU, which is shown under its PCI address, else under `name`. If both have slots, the older
  // slot stays and inherits what is known of either; the newer stops to exist, and its values in windows count for no
  // member. Two PCI addresses, or two UUIDs, are never one GPU: the alias moves to the GPU `name`.
  void alias_gpu(std::string_view node, std::string_view name, std::string_view alias);
  void same_gpu(std::string_view node, std::span<const std::string_view> names);  // all that are not empty
  void exited(std::uint32_t rank);
  // The entry that is being read. Placements record it, so that a backfill can restore the placement at an earlier
  // entry.
  void reading(Position entry);
  [[nodiscard]] Position last_read() const noexcept { return reading_; }
  // Restores the placement of each rank before the entry at `position` was read. All names keep their slots.
  void go_back_to(Position position);
  void forget_placements_before(Position position);
  void refuse_ranks() noexcept { ranks_refused_ = true; }  // of the cluster, which has none
  // The member is gone; one that comes under its name is another. Of a node, all its GPUs as well.
  void retire(Level level, Slot slot);
  void use_reserved();  // the reserved member has a value: "job" includes it

  [[nodiscard]] std::size_t size(Level level) const noexcept;  // slots, existing or not; of `none` one
  [[nodiscard]] bool exists(Level level,
                            Slot slot) const noexcept;  // the reserved member never exists: no alert is about it
  // Exists, and its rank (of a GPU or node: at least one of the ranks there, if there are any) has not exited.
  [[nodiscard]] bool expected(Level level, Slot slot) const noexcept;
  // The same for all slots of a level: 1 or 0.
  [[nodiscard]] std::span<const std::uint8_t> existing(Level level) const;
  [[nodiscard]] std::span<const std::uint8_t> all_expected(Level level) const;
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  // The slot of `coarse` that contains this slot of `fine`, or no_slot. Nothing contains the reserved member.
  [[nodiscard]] Slot container(Level fine, Slot slot, Level coarse) const noexcept;
  // The same for each slot of `fine`. Rebuilt after each change: while members are being learned, use container() for a
  // single one.
  [[nodiscard]] std::span<const Slot> containing(Level fine, Level coarse) const;
  // The slots of `fine` by the slot of `coarse`. The job's group includes the reserved member once it has a value.
  [[nodiscard]] const Groups& groups(Level fine, Level coarse) const;
  // Groups of members that share all of these coordinates. A coordinate that no member has is ignored; a member that
  // lacks a coordinate which others have is in no group. A coordinate of a coarser owner is spread; for one of a finer
  // owner (a rank's, asked of GPUs) a member has the values of all that it contains. Groups are ordered by their first
  // members.
  [[nodiscard]] const Groups& peers(Level level, std::span<const std::string> coordinates) const;

  [[nodiscard]] std::string_view node_name(Slot node) const;
  [[nodiscard]] std::string_view gpu_name(Slot gpu) const;
  [[nodiscard]] std::string_view gpu_uuid(Slot gpu) const;  // empty: it is not known, or the GPU is gone
  [[nodiscard]] std::string_view rack_name(Slot rack) const;
  // The key of a member, with what contains it (a rank's node and GPU).
  [[nodiscard]] MemberKey key(Level level, Slot slot) const;
  [[nodiscard]] std::uint32_t world_size() const noexcept { return world_size_; }

  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  struct Gpu {
    Slot node = no_slot;
    std::vector<std::string> names;  // the first is shown; none: merged into another
    static void fields(auto& self, auto& archive) { archive(1, self.node), archive(2, self.names); }
  };
  struct Coordinate {
    Level owner{};
    std::vector<std::string> values;  // by slot of the owner's level; "" where unknown
    static void fields(auto& self, auto& archive) { archive(1, self.owner), archive(2, self.values); }
  };

  struct Move {  // the place of a rank before this entry
    Position at{};
    Slot rank = no_slot, node = no_slot, gpu = no_slot;
  };
  struct Renaming {  // of which GPU a name was before this entry, and is since; no_slot: of none
    Position at{};
    std::string name;
    Slot from = no_slot, to = no_slot;
    static void fields(auto& self, auto& archive) {
      archive(1, self.at), archive(2, self.name), archive(3, self.from), archive(4, self.to);
    }
  };

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  using Slots = std::unordered_map<std::string, Slot, TextHash, std::equal_to<>>;

  struct Derived {
    std::map<std::pair<Level, Level>, std::vector<Slot>> containing;
    std::map<std::pair<Level, Level>, Groups> groups;
    std::map<std::string, Groups> peers;              // by level and coordinates
    std::vector<std::uint8_t> left_nodes, left_gpus;  // every rank there has exited
    bool left_known = false;
    std::array<std::vector<std::uint8_t>, level_count> existing, expected;
  };

  static void fields(auto& self, auto& archive);
  void changed() noexcept;
  Slot rack_slot(std::string_view name);
  void put_rank(Slot rank, Slot node, Slot gpu);
  void merge_gpus(Slot older, Slot newer);
  void name_gpu(Slot gpu, std::string name, Slot from);
  void move_name(const std::string& name, Slot from, Slot to);
  [[nodiscard]] bool contradicts(Slot gpu, const GpuName& name) const;
  [[nodiscard]] Slot find_gpu(Slot node, std::string_view name) const;
  [[nodiscard]] std::vector<std::string> coordinate_of_members(Level level, const Coordinate& coordinate) const;
  void find_left() const;

  std::uint32_t world_size_ = 0;
  bool reserved_used_ = false, ranks_refused_ = false;
  std::vector<std::uint8_t> rank_exists_, rank_exited_;  // by slot
  std::vector<Slot> rank_node_, rank_gpu_;
  std::vector<std::string> nodes_, racks_;
  std::vector<Slot> node_rack_;
  CopyOnWrite<std::vector<Gpu>> gpus_;
  Slots node_slots_, rack_slots_, gpu_slots_;  // GPUs by node and name
  CopyOnWrite<std::map<std::string, Coordinate, std::less<>>> coordinates_;
  CopyOnWrite<std::vector<Move>> moves_;  // in the order of the log
  std::vector<Renaming> renamed_;         // likewise
  std::vector<Renaming> to_leave_;  // gone back over: names of GPUs that left behind this entry, the first at the end
  Position reading_{};
  std::uint64_t version_ = 1;
  mutable Derived derived_;
};

}  // namespace tocsin::stream
