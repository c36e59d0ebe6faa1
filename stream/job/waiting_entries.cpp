#include "stream/job/waiting_entries.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace tocsin::stream {
namespace {

// Of a larger message, most of the state that it touches serves several of its values, and its copy takes longer.
constexpr std::size_t most_values = 1'024, most_members = 64;

// Each part begins where anything that an entry has may lie.
constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + 7) & ~std::size_t{7}; }

std::size_t bytes_of(const SampleBlock& block) noexcept {
  std::size_t bytes = sizeof block + aligned(block.times.size_bytes()) + aligned(block.narrow.size_bytes()) +
                      aligned(block.wide.size_bytes()) + aligned(block.present.size()) + aligned(block.source.size());
  for (const std::string_view text : block.texts) bytes += sizeof text + aligned(text.size());
  if (block.remembered) return bytes;
  bytes += aligned(block.members.size_bytes()) + aligned(block.membership.size());
  for (const MemberKey& member : block.members) bytes += aligned(member.node.size()) + aligned(member.gpu.size());
  return bytes;
}

// Copies one part after the other to where there is room for them.
class Packer {
 public:
  explicit Packer(std::byte* to) noexcept : to_(to) {}
  template <class T>
  T* place(std::size_t count) noexcept {
    static_assert(alignof(T) <= 8);
    T* const at = reinterpret_cast<T*>(to_);
    to_ += aligned(count * sizeof(T));
    return at;
  }
  template <class T>
  void copy(std::span<const T>& of) noexcept {
    copy_each(of, [](T&) {});
  }
  void copy(std::string_view& of) noexcept {
    if (of.empty()) return;
    char* const at = place<char>(of.size());
    std::memcpy(at, of.data(), of.size());
    of = {at, of.size()};
  }
  void copy(SampleBlock& block) noexcept {
    copy(block.times), copy(block.narrow), copy(block.wide), copy(block.present), copy(block.source);
    copy_each(block.texts, [this](std::string_view& text) { copy(text); });
    if (block.remembered) return;
    copy_each(block.members, [this](MemberKey& member) { copy(member.node), copy(member.gpu); });
    copy(block.membership);
  }
  template <class T, class Each>
  void copy_each(std::span<const T>& of, Each&& each) noexcept {
    if (of.empty()) return;
    T* const at = place<T>(of.size());
    std::uninitialized_copy(of.begin(), of.end(), at);
    for (std::size_t i = 0; i < of.size(); ++i) each(at[i]);
    of = {at, of.size()};
  }

 private:
  std::byte* to_;
};

}  // namespace

std::unique_ptr<WaitingEntries::Room::Block> WaitingEntries::Room::take() {
  ++in_use_;
  if (free_ == nullptr) return std::unique_ptr<Block>{new Block};  // its bytes as they are
  auto block = std::move(free_);
  free_ = std::move(block->next);
  --count_;
  block->used = 0;
  return block;
}

void WaitingEntries::Room::give_back(std::unique_ptr<Block> blocks) {
  while (blocks != nullptr) {
    auto next = std::move(blocks->next);
    --in_use_;
    if (count_ < most_free) {
      blocks->next = std::move(free_);
      free_ = std::move(blocks);
      ++count_;
    }
    blocks = std::move(next);
  }
}

std::size_t WaitingEntries::bytes_to_wait(const Entry& entry) noexcept {
  if (entry.names == nullptr || entry.samples.empty() || !entry.lines.empty() || !entry.events.empty() ||
      !entry.coverage.empty() || !entry.controls.empty() || !entry.origin_source.empty())
    return 0;
  std::size_t bytes =
      sizeof(Waiting) + aligned(entry.producer.size()) + aligned(entry.attempt.size()) + aligned(entry.node.size());
  for (const SampleBlock& block : entry.samples) {
    if (block.size() > most_values || (!block.remembered && block.members.size() > most_members)) return 0;
    bytes += bytes_of(block);
  }
  return bytes <= sizeof(Room::Block::bytes) ? bytes : 0;
}

void WaitingEntries::add(const Entry& entry, std::size_t bytes, Time clock, Room& room) {
  if (blocks_ == nullptr || blocks_->used + bytes > sizeof blocks_->bytes) {
    auto block = room.take();
    block->next = std::move(blocks_);
    blocks_ = std::move(block);
    ++count_;
  }
  Packer to{blocks_->bytes + blocks_->used};
  blocks_->used += bytes;
  // Whoever takes it knows the subject; the samples are in their order.
  Waiting& one = *new (to.place<Waiting>(1))
                     Waiting{entry.position,        entry.next,    entry.appended, entry.arrival,  clock,
                             entry.producer,        entry.attempt, entry.node,     entry.sequence, entry.epoch,
                             entry.rejected_blocks, entry.samples, nullptr};
  to.copy(one.producer), to.copy(one.node);
  if (last_ != nullptr) one.attempt = last_->attempt;
  else to.copy(one.attempt);
  to.copy_each(one.samples, [&](SampleBlock& block) { to.copy(block); });
  if (names_.empty() || names_.back() != *entry.names) names_.push_back(*entry.names);
  (last_ == nullptr ? first_ : last_->next) = &one;
  last_ = &one;
}

}  // namespace tocsin::stream
