#include "stream/windows/origins.h"

#include <algorithm>

namespace tocsin::stream {

std::size_t Origins::index(std::string_view name, Time arrival) {
  for (std::size_t i = 0; i < origins_.size(); ++i)
    if (origins_[i].name == name) return i;
  const Time read = arrival - Duration{1};  // it was read up to this record, but for others of the same arrival
  if (origins_.empty()) clock_ = std::max(clock_, read);
  origins_.push_back({std::string{name}, read});
  least_ = std::min(least_, read);
  return origins_.size() - 1;
}

void Origins::follow(Time now, const Watermarks& watermarks, const std::function<void(std::size_t, bool)>& told) {
  Time waited_for = never;
  least_ = never;
  for (std::size_t i = 0; i < origins_.size(); ++i) {
    Origin& origin = origins_[i];
    if (const auto mark = watermarks.find(origin.name); mark != watermarks.end()) origin.read = std::max(origin.read, mark->second);
    least_ = std::min(least_, origin.read);
    const bool left = now - origin.read > patience;
    if (!left) waited_for = std::min(waited_for, origin.read);
    if (left != origin.left) told(i, origin.left = left);
  }
  clock_ = std::max(clock_, waited_for == never ? now : waited_for);
}

void Origins::save(Writer& out) const {
  out.put(clock_), out.put(least_);
  out.put(static_cast<std::uint64_t>(origins_.size()));
  for (const Origin& origin : origins_) out.put(origin.name), out.put(origin.read), out.put(origin.left);
}

void Origins::load(Reader& in) {
  origins_.clear();
  clock_ = in.get_time(), least_ = in.get_time();
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    Origin origin{in.get_text(), in.get_time()};
    origin.left = in.get<bool>();
    origins_.push_back(std::move(origin));
  }
}

}  // namespace tocsin::stream
