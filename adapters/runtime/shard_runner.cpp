#include "adapters/runtime/shard_runner.h"

#include <algorithm>
#include <utility>

namespace tocsin::adapters::runtime {

using stream::Result;

namespace {

stream::ShardOptions with_restarts(stream::ShardOptions options, bool restarts) {
  options.restarts = restarts;
  return options;
}

}  // namespace

ShardRunner::ShardRunner(stream::LoadedPack pack, Ports ports, stream::ShardOptions options)
    : ports_(ports), shard_(std::move(pack), &ports.packs, *this, with_restarts(options, ports.snapshots != nullptr)) {}
ShardRunner::~ShardRunner() = default;

Result<void> ShardRunner::restore() {
  if (ports_.snapshots == nullptr) return {};
  auto stored = ports_.snapshots->newest();
  if (!stored) return stored.error();
  if (!*stored) return {};
  for (const auto& pack : (*stored)->packs) ports_.packs.remember(pack.hash, pack.text);
  const auto from = shard_.load((*stored)->sections, (*stored)->position);
  if (!from) return from.error();
  // Where the log no longer has what was there, from the oldest that is left: what lay before is missing, as in every
  // gap.
  const auto oldest = ports_.log.oldest();
  if (!oldest) return oldest.error();
  position_ = std::max(*from, *oldest);
  return ports_.log.seek(position_);
}

Result<std::size_t> ShardRunner::step(std::size_t most_entries, std::size_t most_ticks, bool until_reports) {
  const std::uint64_t before = shard_.counters().ticks;
  const bool restoring = shard_.restoring();
  std::size_t entries = 0;
  while (entries < most_entries && !shard_.sealed()) {
    const std::uint64_t ticks = shard_.counters().ticks - before;
    if (entries > 0 && ticks >= most_ticks) break;
    if (entry_ == nullptr) {
      const auto entry = ports_.log.next();
      if (!entry) return entry.error();
      if (*entry == nullptr) break;
      entry_ = *entry;
    }
    ++entries;
    if (!shard_.consume(*entry_, most_ticks - static_cast<std::size_t>(ticks))) break;
    position_ = std::exchange(entry_, nullptr)->next;
    ++judged_;
    if (ports_.snapshots != nullptr && shard_.sections_due() && take(shard_.take_sections())) break;
    if (restoring && !shard_.restoring()) break;
    if (until_reports && !pending_.reports.empty()) break;
  }
  return entries;
}

// The sections take the place of older ones that were not kept, and the position is theirs. False: there are none.
bool ShardRunner::take(stream::Sections sections) {
  if (sections.empty()) return false;
  for (auto& [name, content] : sections) pending_.sections.insert_or_assign(name, std::move(content));
  pending_.position = position_;
  add_packs();
  return true;
}

// Those that the sections need as they are now: the shard may need them no more when they are handed over.
void ShardRunner::add_packs() {
  for (std::string& hash : shard_.packs_in_use()) {
    const auto same = [&](const stream::PackText& pack) { return pack.hash == hash; };
    if (std::any_of(pending_.packs.begin(), pending_.packs.end(), same)) continue;
    if (ports_.sink.has_pack(hash)) pending_.packs.push_back({std::move(hash), {}});
    // One that cannot be had was refused, and judges nothing.
    else if (auto text = ports_.packs.text(hash)) pending_.packs.push_back({std::move(hash), std::move(*text)});
  }
}

// What waits can be handed over, with the state that knows of it.
bool ShardRunner::complete() {
  if (!waits()) return false;
  if (ports_.state_with_reports && !pending_.reports.empty()) take(shard_.take_own_section());
  return true;
}

void ShardRunner::renew() {
  if (!waits() && entry_ == nullptr && ports_.snapshots != nullptr) take(shard_.take_own_section());
}

std::optional<stream::Bundle> ShardRunner::take_bundle() {
  if (!complete()) return std::nullopt;
  return std::exchange(pending_, {});
}

Result<void> ShardRunner::hand_over() {
  if (!complete()) return {};
  if (auto kept = ports_.sink.keep(pending_); !kept) return kept;
  pending_ = {};
  return {};
}

Result<void> ShardRunner::hand_over_all() {
  while (entry_ != nullptr) {
    const auto worked = step(1);
    if (!worked) return worked.error();
    if (*worked == 0) break;
  }
  if (ports_.snapshots != nullptr) take(shard_.take_sections(true));
  return hand_over();
}

}  // namespace tocsin::adapters::runtime
