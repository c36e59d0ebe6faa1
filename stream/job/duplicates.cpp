#include "stream/job/duplicates.h"

#include <algorithm>

namespace tocsin::stream {
namespace {

constexpr Duration between_cleanups = std::chrono::hours{1};

}  // namespace

bool Duplicates::Window::repeated(std::uint32_t epoch, std::uint64_t sequence) {
  if (any_ && epoch < epoch_) return true;
  if (!any_ || epoch > epoch_) {
    epoch_ = epoch, any_ = true, highest_ = sequence;
    bits_.fill(0);
    set(sequence);
    return false;
  }
  if (sequence < highest_ && highest_ - sequence >= width) return true;
  if (sequence > highest_) {
    if (sequence - highest_ >= width) bits_.fill(0);
    else
      for (std::uint64_t s = highest_; s != sequence;) ++s, bits_[s % width / 64] &= ~(std::uint64_t{1} << s % 64);
    highest_ = sequence;
  } else if (bits_[sequence % width / 64] >> sequence % 64 & 1) {
    return true;
  }
  set(sequence);
  return false;
}

bool Duplicates::seen(const Entry& entry) {
  if (!entry.origin_source.empty())
    return repeated(sources_, entry.origin_source, 0, entry.origin_offset, entry.arrival);
  return repeated(producers_, entry.producer, entry.epoch, entry.sequence, entry.arrival);
}

bool Duplicates::repeated(Windows& windows, std::string_view name, std::uint32_t epoch, std::uint64_t sequence,
                          Time arrival) {
  auto found = windows.find(name);
  if (found == windows.end()) found = windows.emplace(std::string{name}, Window{}).first;
  Window& window = found->second;
  if (window.last != long_ago && arrival >= window.last + memory) window = Window{};
  window.last = std::max(window.last, arrival);
  latest_ = std::max(latest_, arrival);
  return window.repeated(epoch, sequence);
}

void Duplicates::clean_up(Time now) {
  next_cleanup_ = now + between_cleanups;
  const auto old = [now](const auto& window) { return now >= window.second.last + memory; };
  std::erase_if(producers_, old);
  std::erase_if(sources_, old);
}

void Duplicates::save(Writer& out) const {
  out(1, producers_), out(2, sources_), out(3, latest_), out(4, next_cleanup_);
}

void Duplicates::load(Reader& in) { in(1, producers_), in(2, sources_), in(3, latest_), in(4, next_cleanup_); }

bool RefusedEntries::holds(Position position) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), position,
                                      [](Position p, const auto& span) { return p < span.first; });
  return after != spans_.begin() && position < std::prev(after)->second;
}

void RefusedEntries::forget_before(Position oldest) {
  const auto kept =
      std::find_if(spans_.begin(), spans_.end(), [oldest](const auto& span) { return span.second > oldest; });
  if (kept == spans_.end()) open_ = false;
  spans_.erase(spans_.begin(), kept);
}

void RefusedEntries::save(Writer& out) const { out(1, open_), out(2, spans_); }

void RefusedEntries::load(Reader& in) {
  in(1, open_), in(2, spans_);
  open_ = open_ && !spans_.empty();
}

}  // namespace tocsin::stream
