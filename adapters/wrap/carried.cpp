#include "adapters/wrap/carried.h"

#include <algorithm>

namespace tocsin::adapters::wrap {

bool Carried::add(const stream::Entry& entry, std::span<const std::byte> message) {
  const auto pack = std::find_if(
      entry.controls.begin(), entry.controls.end(),
      [](const stream::ControlRecord& control) { return control.kind == stream::ControlRecord::Kind::pack; });
  if (pack != entry.controls.end()) {
    packs_.push_back({pack->pack_from, Message{message.begin(), message.end()}});
    return true;
  }
  if (std::none_of(entry.events.begin(), entry.events.end(), [](const stream::EventRecord& event) {
        return event.name == "start" || event.name == "member" || event.name == "exit";
      }))
    return false;
  if (entry.attempt != attempt_) {
    attempt_ = entry.attempt;
    shape_.clear();
  }
  shape_.emplace_back(message.begin(), message.end());
  return true;
}

bool Carried::forget_replaced(stream::Time now) {
  if (packs_.size() < 2 || packs_[1].from > now) return false;
  packs_.erase(packs_.begin());
  return true;
}

std::vector<std::vector<std::byte>> Carried::messages() const {
  std::vector<Message> all;
  for (const Pack& pack : packs_) all.push_back(pack.message);
  all.insert(all.end(), shape_.begin(), shape_.end());
  return all;
}

}  // namespace tocsin::adapters::wrap
