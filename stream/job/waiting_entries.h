#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stream/job/pack_timeline.h"
#include "stream/values/record.h"

namespace tocsin::stream {

// Entries of samples that a subject has not taken yet. A subject that takes a second's entries together has its state
// in the cache for all of them but the first. Copies of the entries, in the order in which they came, with the log's
// clock at each. Owned by its Shard; of one subject.
class WaitingEntries {
 public:
  // The memory that the entries of all subjects of a shard wait in, in blocks that are used again.
  class Room {
   public:
    struct Block {
      std::unique_ptr<Block> next;
      std::size_t used = 0;
      alignas(std::max_align_t) std::byte bytes[4'096 - 32];
    };
    [[nodiscard]] std::unique_ptr<Block> take();
    void give_back(std::unique_ptr<Block> blocks);
    [[nodiscard]] bool full() const noexcept { return in_use_ > most_in_use; }

   private:
    static constexpr std::size_t most_in_use = 65'536, most_free = 4'096;  // 256 MiB, 16 MiB

    std::unique_ptr<Block> free_;
    std::size_t count_ = 0, in_use_ = 0;  // of those that are free, and of the others
  };

  // What it takes to keep the entry. 0: it cannot wait, as it has more than a few samples, or something else.
  [[nodiscard]] static std::size_t bytes_to_wait(const Entry& entry) noexcept;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  // More would drive what the subject has out of the cache.
  [[nodiscard]] bool full() const noexcept { return count_ >= most_blocks; }
  // Of the entries, which all have the same.
  [[nodiscard]] std::string_view attempt() const noexcept { return first_->attempt; }
  // `bytes`: what bytes_to_wait() gives.
  void add(const Entry& entry, std::size_t bytes, Time clock, Room& room);
  // Calls see(entry, clock) for each.
  template <class See>
  void each(See&& see) const {
    Entry entry;
    for (const Waiting* one = first_; one != nullptr; one = one->next) see(one->fill(entry), one->clock);
  }
  void clear(Room& room) {
    first_ = last_ = nullptr;
    names_.clear();
    count_ = 0;
    room.give_back(std::move(blocks_));
  }

 private:
  static constexpr std::size_t most_blocks = 64;
  // What an entry of samples has that its subject reads.
  struct Waiting {
    Position position, next_position;
    Time appended, arrival, clock;
    std::string_view producer, attempt, node;
    std::uint64_t sequence;
    std::uint32_t epoch, rejected_blocks;
    std::span<const SampleBlock> samples;
    Waiting* next;

    const Entry& fill(Entry& entry) const noexcept {
      entry.position = position, entry.next = next_position, entry.appended = appended, entry.arrival = arrival;
      entry.producer = producer, entry.attempt = attempt, entry.node = node;
      entry.sequence = sequence, entry.epoch = epoch, entry.rejected_blocks = rejected_blocks;
      entry.samples = samples;
      return entry;
    }
  };

  Waiting *first_ = nullptr, *last_ = nullptr;
  std::size_t count_ = 0;                           // of blocks_
  std::unique_ptr<Room::Block> blocks_;             // the one that is being filled first
  std::vector<std::shared_ptr<const void>> names_;  // that the entries point into
};

// How soon an entry of samples can make something due. Looked up once for each layout, until the pack changes. Owned by
// a Shard.
class FirstDue {
 public:
  // `look_up(block)`: how long after the time of a value of the block that is, in the pack that judges the entry, which
  // `pack` names.
  template <class LookUp>
  [[nodiscard]] Time of(const Entry& entry, const PackChange::Key& pack, LookUp&& look_up) {
    if (pack_ != pack || names_ != *entry.names) known_.clear(), pack_ = pack, names_ = *entry.names;
    Time due = never;
    for (const SampleBlock& block : entry.samples) {
      auto known = known_.find(block.layout.data());
      if (known == known_.end()) known = known_.emplace(block.layout.data(), look_up(block)).first;
      for (const Time time : block.times) due = std::min(due, std::min(time, entry.arrival) + known->second);
    }
    return due;
  }

 private:
  PackChange::Key pack_{};
  std::shared_ptr<const void> names_;                // that the layouts lie in
  std::unordered_map<const char*, Duration> known_;  // by where a layout lies
};

}  // namespace tocsin::stream
