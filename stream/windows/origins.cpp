#include "stream/windows/origins.h"

#include <algorithm>

namespace tocsin::stream {

std::size_t Origins::index(std::string_view name, Time arrival) {
  for (std::size_t i = 0; i < origins_.size(); ++i)
    if (origins_[i].name == name) return i;
  const Time read = arrival - Duration{1};  // it was read up to this record, except for others of the same arrival
  if (origins_.empty()) clock_ = std::max(clock_, read);
  origins_.push_back({std::string{name}, read});
  least_ = std::min(least_, read);
  return origins_.size() - 1;
}

bool Origins::has(std::string_view name) const noexcept {
  return std::any_of(origins_.begin(), origins_.end(), [name](const Origin& origin) { return origin.name == name; });
}

void Origins::follow(Time now, const Watermarks& watermarks,
                     const std::function<void(std::size_t, bool)>& left_changed) {
  Time waited_for = never;
  least_ = never;
  for (std::size_t i = 0; i < origins_.size(); ++i) {
    Origin& origin = origins_[i];
    if (const auto mark = watermarks.find(origin.name); mark != watermarks.end())
      origin.read = std::max(origin.read, mark->second);
    least_ = std::min(least_, origin.read);
    const bool left = now - origin.read > patience;
    if (!left) waited_for = std::min(waited_for, origin.read);
    if (left != origin.left) left_changed(i, origin.left = left);
  }
  clock_ = std::max(clock_, waited_for == never ? now : waited_for);
}

void Origins::fields(auto& self, auto& archive) {
  archive(1, self.clock_), archive(2, self.least_), archive(3, self.origins_);
}
void Origins::save(Writer& out) const { fields(*this, out); }
void Origins::load(Reader& in) { fields(*this, in); }

}  // namespace tocsin::stream
