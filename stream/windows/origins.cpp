#include "stream/windows/origins.h"

#include <algorithm>

namespace tocsin::stream {

std::size_t Origins::index(std::string_view name, Time arrival) {
  for (std::size_t i = 0; i < origins_.size(); ++i)
    if (origins_[i].name == name) return i;
  const Time read = arrival - Duration{1};  // it was read up to this record, except for others of the same arrival
  clock_ = origins_.empty() ? std::max(clock_, read) : clock();
  waits_ = true;
  origins_.push_back({std::string{name}, read});
  return origins_.size() - 1;
}

void Origins::follow(Time now, const Watermarks& watermarks) {
  Time waited_for = never;
  next_change_ = never;
  for (Origin& origin : origins_) {
    if (const auto mark = watermarks.find(origin.name); mark != watermarks.end())
      origin.read = std::max(origin.read, mark->second);
    origin.left = now - origin.read > patience;
    if (origin.left) continue;
    waited_for = std::min(waited_for, origin.read);
    if (origin.read != never) next_change_ = std::min(next_change_, origin.read + patience);
  }
  clock_ = clock();
  waits_ = waited_for != never;
  clock_ = std::max(clock_, waits_ ? waited_for : now);
}

void Origins::fields(auto& self, auto& archive) {
  archive(1, self.clock_), archive(3, self.origins_), archive(4, self.waits_);
}
void Origins::save(Writer& out) const { fields(*this, out); }
void Origins::load(Reader& in) { fields(*this, in); }

}  // namespace tocsin::stream
