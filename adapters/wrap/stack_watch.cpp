#include "adapters/wrap/stack_watch.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "adapters/evidence/groups.h"
#include "adapters/evidence/place.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;

namespace {

constexpr stream::Duration earliest = 3s, latest = 10s;  // that a collective is open before stacks are taken
constexpr unsigned first_ones = 4;                       // takings that follow each other closely
constexpr unsigned bundled = 2;                          // with which of them a bundle is gathered
constexpr stream::Duration between_first = 2s, between = 30s;

}  // namespace

void StackWatch::look(stream::Time now, stream::Duration open, std::span<const evidence::StackTarget> ranks) {
  const stream::Duration before = std::exchange(open_, open);
  if (open < before) {  // it completed
    usual_ = std::max(before, usual_ - usual_ / 16);
    taken_ = 0;
    seen_.clear();
    next_ = stream::long_ago;
  }
  if (ranks.empty() || taker_.running() || now < next_) return;
  if (open < std::clamp<stream::Duration>(usual_ + usual_ / 2, earliest, latest)) return;
  targets_.assign(ranks.begin(), ranks.end());
  taker_.start(targets_);
  next_ = now + (++taken_ < first_ones ? between_first : between);
}

void StackWatch::write(EntryBuilder& entry, stream::Time now) {
  if (taker_.running()) write_stacks(entry, now);
  if (bundle_.running()) write_bundle(entry, now);
}

void StackWatch::write_bundle(EntryBuilder& entry, stream::Time now) {
  const auto report = bundle_.poll();
  if (!report) return;
  const EntryBuilder::Field fields[] = {{"path", 0, report->name, true}};
  entry.event(now, EntryBuilder::job(), "bundle", fields, "sampler");
}

void StackWatch::write_stacks(EntryBuilder& entry, stream::Time now) {
  auto stacks = taker_.poll();
  if (!stacks) return;
  for (const evidence::ProcessStack& stack : *stacks) {
    if (!stack.rank) continue;
    const evidence::Place place = evidence::place_of(stack);
    if (place.text.empty() && place.doing.empty()) continue;
    const auto [seen, first] = seen_.try_emplace(*stack.rank, place.brief, now);
    if (!first && seen->second.functions != place.brief) seen->second = {place.brief, now};
    const EntryBuilder::Field fields[] = {{"where", 0, place.text, true},
                                          {"doing", 0, place.doing, true},
                                          {"unchanged", stream::seconds(now - seen->second.since), {}, false},
                                          {"serves", evidence::takes_requests(stack) ? 1.0 : 0.0, {}, false}};
    entry.event(now, {stream::Level::rank, *stack.rank, node_, {}}, "stack", fields, "sampler");
  }
  const std::string text = evidence::text_of(evidence::groups_of(*stacks));
  const EntryBuilder::Field fields[] = {{"text", 0, text, true}};
  entry.event(now, EntryBuilder::job(), "stacks", fields, "sampler");
  if (taken_ == bundled)  // refused where the last bundle is young
    std::ignore = bundle_.begin(
        {.run = run_, .job = job_, .node = node_, .now = now, .targets = targets_, .stacks = std::move(*stacks)});
}

}  // namespace tocsin::adapters::wrap
