#include "stream/job/parts.h"

#include <algorithm>
#include <utility>

#include "stream/job/event_fields.h"
#include "stream/windows/origins.h"

namespace tocsin::stream {

std::optional<Parts::Start> Parts::start_in(const EventRecord& event) {
  const auto parts = number_of(event, "parts");
  Start start{text_of(event, "part"), text_of(event, "step")};
  if (!parts || *parts < 2 || *parts > 1e6 || start.part.empty()) return std::nullopt;
  start.parts = static_cast<std::uint32_t>(*parts);
  return start;
}

bool Parts::lacks(const Start& start, Time arrival) const {
  constexpr Duration joins_within = std::chrono::seconds{30};  // of the first end
  Time first_end = never;
  for (const auto& [name, part] : parts_)
    if (part.ended) first_end = std::min(first_end, *part.ended);
  const bool over = first_end != never && arrival > first_end + joins_within;
  return !empty() && step_ == start.step && parts_.size() < expected_ && !over &&
         std::none_of(parts_.begin(), parts_.end(), [&](const auto& known) { return known.second.part == start.part; });
}

void Parts::add(const Start& start, std::string_view writes_as, std::optional<std::size_t> origin) {
  step_ = start.step;
  expected_ = std::max(expected_, start.parts);
  const auto [at, added] = parts_.try_emplace(std::string{writes_as});
  if (!added) return;  // it says again which part it is
  at->second.part = start.part;
  at->second.origin = origin;
}

void Parts::end(std::string_view name, Time time, Time arrival, std::string reason) {
  const auto at = parts_.find(name);
  if (at == parts_.end() || at->second.ended) return;
  at->second.ended = time;
  at->second.reason = std::move(reason);
  last_end_ = std::max(last_end_, arrival);
}

std::optional<Parts::End> Parts::ended() const {
  Time last = long_ago;
  for (const auto& [name, part] : parts_) {
    if (!part.ended) return std::nullopt;
    last = std::max(last, *part.ended);
  }
  if (parts_.size() < expected_) return std::nullopt;
  return End{last, worst_reason()};
}

Time Parts::given_up(const Origins& origins) const {
  if (last_end_ == long_ago) return never;
  for (const auto& [name, part] : parts_) {
    if (part.ended) continue;
    if (!part.origin) return never;
    const bool log_ended = !origins.unread(*part.origin, source_ended);
    if (!log_ended && !origins.left(*part.origin)) return never;
  }
  return last_end_ + Origins::patience;
}

std::string Parts::worst_reason() const {
  for (const std::string_view reason : {"failed", "cancelled"})
    for (const auto& [name, part] : parts_)
      if (part.reason == reason) return part.reason;
  for (const auto& [name, part] : parts_)
    if (part.ended) return part.reason;
  return {};
}

}  // namespace tocsin::stream
