#include "stream/job/waiting_entries.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tocsin::stream {
namespace {

// Of a larger message, most of the state that it touches serves several of its values, and its copy takes longer.
constexpr std::size_t most_values = 1'024, most_members = 64;

std::size_t bytes_of(const SampleBlock& block) noexcept {
  std::size_t bytes = block.times.size_bytes() + block.narrow.size_bytes() + block.wide.size_bytes() +
                      block.present.size() + block.source.size();
  if (!block.remembered) {
    bytes += block.members.size_bytes() + block.membership.size();
    for (const MemberKey& member : block.members) bytes += member.node.size() + member.gpu.size();
  }
  for (const std::string_view text : block.texts) bytes += sizeof text + text.size();
  return bytes;
}

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

bool WaitingEntries::can_wait(const Entry& entry) noexcept {
  if (entry.names == nullptr || entry.samples.empty() || !entry.lines.empty() || !entry.events.empty() ||
      !entry.coverage.empty() || !entry.controls.empty() || !entry.origin_source.empty())
    return false;
  std::size_t bytes = sizeof(Waiting) + entry.samples.size_bytes() + entry.producer.size() + entry.attempt.size() +
                      entry.node.size() + entry.subject.size();
  for (const SampleBlock& block : entry.samples) {
    if (block.size() > most_values || (!block.remembered && block.members.size() > most_members)) return false;
    bytes += bytes_of(block) + 64;  // each part begins at a multiple of eight
  }
  return bytes <= sizeof(Room::Block::bytes);
}

template <class T>
T* WaitingEntries::place(std::size_t count, Room& room) {
  constexpr std::size_t step = alignof(std::max_align_t);
  const std::size_t bytes = (count * sizeof(T) + step - 1) / step * step;
  if (blocks_ == nullptr || blocks_->used + bytes > sizeof blocks_->bytes) {
    auto block = room.take();
    block->next = std::move(blocks_);
    blocks_ = std::move(block);
    ++count_;
  }
  std::byte* const at = blocks_->bytes + blocks_->used;
  blocks_->used += bytes;
  return reinterpret_cast<T*>(at);
}

template <class T>
std::span<const T> WaitingEntries::copy(std::span<const T> from, Room& room) {
  if (from.empty()) return {};
  T* const to = place<T>(from.size(), room);
  std::uninitialized_copy(from.begin(), from.end(), to);
  return {to, from.size()};
}

std::string_view WaitingEntries::copy(std::string_view from, Room& room) {
  const auto kept = copy(std::span{from}, room);
  return {kept.data(), kept.size()};
}

SampleBlock WaitingEntries::copy(const SampleBlock& from, Room& room) {
  SampleBlock kept = from;
  kept.times = copy(from.times, room);
  kept.narrow = copy(from.narrow, room);
  kept.wide = copy(from.wide, room);
  kept.present = copy(from.present, room);
  kept.source = copy(from.source, room);
  if (!from.texts.empty()) {
    auto* const texts = place<std::string_view>(from.texts.size(), room);
    for (std::size_t i = 0; i < from.texts.size(); ++i) new (texts + i) std::string_view{copy(from.texts[i], room)};
    kept.texts = {texts, from.texts.size()};
  }
  if (from.remembered) return kept;
  auto* const members = place<MemberKey>(from.members.size(), room);
  for (std::size_t i = 0; i < from.members.size(); ++i) {
    MemberKey& member = *new (members + i) MemberKey{from.members[i]};
    member.node = copy(member.node, room), member.gpu = copy(member.gpu, room);
  }
  kept.members = {members, from.members.size()};
  kept.membership = copy(from.membership, room);
  return kept;
}

void WaitingEntries::add(const Entry& entry, Time clock, Room& room) {
  Waiting& one = *new (place<Waiting>(1, room)) Waiting{entry, clock};
  one.entry.producer = copy(entry.producer, room);
  one.entry.attempt = last_ != nullptr ? last_->entry.attempt : copy(entry.attempt, room);
  one.entry.node = copy(entry.node, room);
  one.entry.subject = {};  // whoever takes it knows
  one.entry.order = {};    // they are in their order
  auto* const blocks = place<SampleBlock>(entry.samples.size(), room);
  for (std::size_t i = 0; i < entry.samples.size(); ++i) new (blocks + i) SampleBlock{copy(entry.samples[i], room)};
  one.entry.samples = {blocks, entry.samples.size()};
  if (names_.empty() || names_.back() != *entry.names) names_.push_back(*entry.names);
  one.entry.names = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &one;
  last_ = &one;
}

}  // namespace tocsin::stream
