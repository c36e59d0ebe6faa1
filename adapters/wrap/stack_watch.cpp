#include "adapters/wrap/stack_watch.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "adapters/evidence/place.h"

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using schemas::EntryBuilder;

namespace {

constexpr stream::Duration earliest = 3s, latest = 10s;  // that a rank stands still before stacks are taken
constexpr unsigned first_ones = 4;                       // takings that follow each other closely
constexpr unsigned bundled = 2;                          // with which of them a bundle is gathered
constexpr stream::Duration between_first = 2s, between = 30s;

}  // namespace

void StackWatch::look(stream::Time now, stream::Duration standing, std::span<const evidence::StackTarget> ranks) {
  const stream::Duration before = std::exchange(standing_, standing);
  if (standing < before) {  // it went on
    usual_ = std::max(before, usual_ - usual_ / 16);
    taken_ = 0;
    seen_.clear();
    next_ = stream::long_ago;
  }
  if (ranks.empty() || taker_.running() || now < next_) return;
  if (standing < std::clamp<stream::Duration>(usual_ + usual_ / 2, earliest, latest)) return;
  targets_.assign(ranks.begin(), ranks.end());
  taker_.start(targets_);
  next_ = now + (++taken_ < first_ones ? between_first : between);
}

void StackWatch::write(EntryBuilder& entry, stream::Time now) {
  if (auto stacks = taker_.poll()) write_stacks(entry, now, std::move(*stacks));
  std::ignore = bundle_.poll();
}

void StackWatch::write_stacks(EntryBuilder& entry, stream::Time now, std::vector<evidence::ProcessStack> stacks) {
  for (const evidence::ProcessStack& stack : stacks) {
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
  if (taken_ != bundled) return;
  const auto begun = bundle_.begin(
      {.run = run_, .job = job_, .node = node_, .now = now, .targets = targets_, .stacks = std::move(stacks)});
  if (!begun) return;  // the last one is young
  // Now, for the alert will not wait until it is complete.
  const std::string run = std::filesystem::absolute(run_).string();
  const EntryBuilder::Field fields[] = {{"run", 0, run, true}};
  entry.event(now, {stream::Level::node, 0, node_, {}}, "bundle", fields, "sampler");
}

}  // namespace tocsin::adapters::wrap
