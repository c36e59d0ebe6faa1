#include "stream/windows/origins.h"

#include <algorithm>
#include <utility>

namespace tocsin::stream {

std::size_t Origins::index(std::string_view name, Time arrival) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const Time read = arrival - Duration{1};  // it was read up to this record, except for others of the same arrival
  clock_ = origins_.empty() ? std::max(clock_, read) : clock();
  waits_ = true;
  const std::size_t origin = origins_.size();
  origins_.push_back({std::string{name}, read});
  by_name_.emplace(name, origin);
  waited_for_.emplace(read, origin);
  fresh_.push_back(origin);
  return origin;
}

bool Origins::follow(Time now, const Watermarks& watermarks, std::string_view moved) {
  const Time before = clock();
  const Time limit = now - patience;
  bool changed = false;
  const auto read_on = [&](std::size_t at) {
    Origin& origin = origins_[at];
    const auto mark = watermarks.find(origin.name);
    if (mark == watermarks.end() || (mark->second <= origin.read && !origin.left)) return;
    if (!origin.left) waited_for_.erase({origin.read, at});
    origin.read = std::max(origin.read, mark->second);
    if (origin.left && origin.read < limit) return;
    changed = changed || origin.left || origin.read == never;
    origin.left = false;
    waited_for_.emplace(origin.read, at);
  };
  for (const std::size_t at : std::exchange(fresh_, {})) read_on(at);
  if (const auto of = by_name_.find(moved); of != by_name_.end()) read_on(of->second);
  while (!waited_for_.empty() && waited_for_.begin()->first < limit) {
    origins_[waited_for_.begin()->second].left = changed = true;
    waited_for_.erase(waited_for_.begin());
  }
  const Time waited_for = waited_for_.empty() ? never : waited_for_.begin()->first;
  next_change_ = waited_for == never ? never : waited_for + patience;
  clock_ = before;
  waits_ = waited_for != never;
  clock_ = std::max(clock_, waits_ ? waited_for : now);
  return changed || !waits_ || clock_ != before;
}

void Origins::index_all() {
  by_name_.clear(), waited_for_.clear(), fresh_.clear();
  for (std::size_t at = 0; at < origins_.size(); ++at) {
    by_name_.emplace(origins_[at].name, at);
    fresh_.push_back(at);
    if (!origins_[at].left) waited_for_.emplace(origins_[at].read, at);
  }
}

void Origins::fields(auto& self, auto& archive) {
  archive(1, self.clock_), archive(3, self.origins_), archive(4, self.waits_);
}
void Origins::save(Writer& out) const { fields(*this, out); }
void Origins::load(Reader& in) {
  fields(*this, in);
  index_all();
}

}  // namespace tocsin::stream
