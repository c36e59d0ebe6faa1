#include "stream/job/pack_timeline.h"

#include <algorithm>

namespace tocsin::stream {

bool PackTimeline::read(std::string_view hash, Time from, Position at, Time clock) {
  const auto first_waiting =
      std::find_if(changes_.begin() + 1, changes_.end(), [&](const PackChange& c) { return c.key.from > clock; });
  if (std::prev(first_waiting)->hash == hash) {
    const bool cancels = first_waiting != changes_.end();
    changes_.erase(first_waiting, changes_.end());
    return cancels;
  }
  const PackChange::Key key{std::max(from, clock), at};
  const auto later =
      std::find_if(changes_.begin() + 1, changes_.end(), [&](const PackChange& c) { return c.key > key; });
  changes_.insert(later, {key, std::string{hash}});
  return true;
}

const PackChange& PackTimeline::in_force(Time clock) const {
  const auto later =
      std::find_if(changes_.begin() + 1, changes_.end(), [&](const PackChange& c) { return c.key.from > clock; });
  return *std::prev(later);
}

const PackChange* PackTimeline::next_after(const PackChange::Key& key) const {
  return &*std::find_if(changes_.begin(), changes_.end(), [&](const PackChange& c) { return c.key > key; });
}

void PackTimeline::forget_before(PackChange::Key key) {
  while (changes_.size() > 1 && changes_[1].key <= key) changes_.erase(changes_.begin());
}

void PackTimeline::save(Writer& out) const { out(1, changes_); }

void PackTimeline::load(Reader& in) {
  auto changes = in.get<std::vector<PackChange>>(1);
  if (changes.empty()) return in.fail("its timeline has no pack");
  changes_ = std::move(changes);
}

}  // namespace tocsin::stream
