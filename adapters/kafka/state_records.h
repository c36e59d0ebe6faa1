#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/ports.h"
#include "stream/values/result.h"

// The state of a shard as records of a compacted topic. Keys: PARTITION/section/PART/NAME, PARTITION/pack/HASH and
// PARTITION/manifest, which is written last: what a bundle changes is one transaction, so what stands there up to a
// manifest belongs together.
namespace tocsin::adapters::kafka {

struct StateRecord {
  std::string key;
  std::vector<std::byte> value;
  bool tombstone = false;
};

// What of the state is in the topic.
struct StateIndex {
  struct Section {
    std::uint64_t checksum = 0;
    std::uint32_t parts = 0;
    std::set<std::string> packs;  // hashes: of the bundle that it came with
  };
  std::uint64_t generation = 0;
  std::map<std::string, Section> sections;
  std::set<std::string, std::less<>> packs;
};

// The records that bring the topic from `index` to what it is with this bundle; `index` then says what that is. An
// error where a pack that the topic lacks comes without its text.
stream::Result<std::vector<StateRecord>> write_state(const stream::Bundle& bundle, int partition, StateIndex& index);

// Puts a shard's state together from its records, in the order of the topic.
// Owned by whoever restores the shard.
class StateAssembler {
 public:
  explicit StateAssembler(int partition) : prefix_(std::to_string(partition) + '/') {}
  stream::Result<void> add(std::string_view key, std::span<const std::byte> value, bool tombstone);
  // Of the last manifest; nullopt: there is none.
  [[nodiscard]] std::optional<stream::Position> position() const noexcept;
  // nullopt: nothing was ever kept. An error where something of what the manifest counts is missing or torn.
  stream::Result<std::optional<stream::Stored>> take(StateIndex& index) &&;

 private:
  std::string prefix_;
  std::map<std::string, std::vector<std::byte>, std::less<>> values_;  // by what stands behind the partition
};

}  // namespace tocsin::adapters::kafka
