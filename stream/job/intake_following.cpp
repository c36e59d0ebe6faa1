// Blocks that follow each other with the same signals are written together, signal by signal: what a signal has is then
// in the cache for all but the first. Each signal takes its values in the order in which they came, and what is written
// of one depends on no other.
#include <algorithm>

#include "stream/job/intake.h"

namespace tocsin::stream {
namespace {

// Memory for more than a few blocks is not kept for each attempt: it would be unused for most of each second.
template <class T>
void clear(std::vector<T>& blocks) {
  constexpr std::size_t few = 16;
  if (blocks.capacity() > few) blocks = std::vector<T>{};
  else blocks.clear();
}

}  // namespace

// When the first of its values would be late.
Time Intake::end_of_lateness(const SampleBlock& block, const Layout& layout, const Provenance& from) {
  return std::min(std::ranges::min(block.times), from.arrival) + layout.lateness;
}

// Whether all that it writes, but for what is written one by one, can be written later.
bool Intake::can_follow(const SampleBlock& block, const Layout& layout, Membership& membership,
                        const Provenance& from) {
  if (!layout.follows || &membership == &passing_ || !block.present.empty() ||
      block.members.size() > Cells::most_members || block.times.empty())
    return false;
  if (!history_->can_follow(from.arrival, end_of_lateness(block, layout, from))) return false;
  return std::ranges::all_of(layout.levels, [&](Level level) { return owners_of(membership, level, block, from).all; });
}

// Its values that are written one by one take their order after the others, and find the steps that it reports.
void Intake::follow(const SampleBlock& block, Layout& layout, Membership& membership, Provenance& from) {
  if (layout.following.empty()) {
    const auto followed = [&](std::uint32_t s) {
      return following_signals_[static_cast<std::size_t>(layout.signals[s].id)] != 0;
    };
    if (std::ranges::any_of(layout.plain, followed) || std::ranges::any_of(layout.others, followed)) write_following();
    for (const auto* places : {&layout.plain, &layout.others})
      for (const std::uint32_t s : *places) following_signals_[static_cast<std::size_t>(layout.signals[s].id)] = 1;
    following_layouts_.push_back(&layout);
  }
  if (layout.step != npos && layout.one_by_one.empty()) report_steps(block, layout, membership, from);
  layout.following.push_back({&block, &membership, from});
  const std::size_t cells = block.times.size() * block.members.size();
  layout.following.back().from.order = from.order.after(cells * layout.plain.size());
  from.order = from.order.after(cells * (layout.plain.size() + layout.others.size()));
  follows_until_ = std::min(follows_until_, end_of_lateness(block, layout, from));
}

void Intake::write_following() {
  if (following_layouts_.empty()) return;
  for (Layout* const layout : following_layouts_) {
    write_following(*layout);
    clear(layout->following);
    for (const auto* places : {&layout->plain, &layout->others})
      for (const std::uint32_t s : *places) following_signals_[static_cast<std::size_t>(layout->signals[s].id)] = 0;
  }
  following_layouts_.clear();
  follows_until_ = never;
  clear(arrivals_), clear(cells_);
}

void Intake::write_following(Layout& layout) {
  const auto owners = [](Membership& membership, Level level) -> const Membership::Owners& {
    return *std::ranges::find(membership.owners, level, &Membership::Owners::level);
  };
  arrived_.assign(layout.signals.size(), 0);
  for (const Layout::Together& these : layout.together) {
    arrivals_.clear();
    for (const Following& one : layout.following)
      arrivals_.push_back({owners(*one.membership, these.owner).slots, one.from.arrival});
    (void)history_->arrive(these.ids, arrivals_);
    for (const std::uint32_t place : these.places) arrived_[place] = 1;
  }
  for (const Layout::Together& these : layout.together) {
    places_.clear();
    for (const std::uint32_t s : layout.plain)
      if (layout.signals[s].owner == these.owner)
        places_.push_back({layout.signals[s].id, s, layout.signals[s].factor});
    if (places_.empty()) continue;
    cells_.clear();
    for (const Following& one : layout.following) {
      const SampleBlock& block = *one.block;
      const Membership::Owners& of = owners(*one.membership, these.owner);
      const std::size_t width = block.signals.size();
      for (std::size_t t = 0, first = 0; t < block.times.size(); ++t, first += of.slots.size() * width)
        cells_.push_back({block.narrow.empty() ? nullptr : block.narrow.data() + first,
                          block.narrow.empty() ? block.wide.data() + first : nullptr, width,
                          placed(block.times[t], one.from.arrival, false, of.slots.size() * places_.size()), of.slots,
                          of.in_a_row});
    }
    history_->write(places_, cells_);
  }
  for (const std::uint32_t s : layout.others)
    for (Following& one : layout.following) signal(*one.block, layout, *one.membership, s, one.from);
}

}  // namespace tocsin::stream
