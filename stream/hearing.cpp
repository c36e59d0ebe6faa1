#include "stream/hearing.h"

#include <algorithm>

namespace tocsin::stream {

void Hearing::heard(std::string_view source, Level level, std::span<const Slot> slots, Time arrival) {
  if (slots.empty()) return;
  ++version_;
  std::size_t place = 0;
  while (place < sources_.size() && sources_[place].name != source) ++place;
  if (place == sources_.size()) sources_.push_back({std::string{source}, {}});
  auto& chains = sources_[place].chains[static_cast<std::size_t>(level)];
  const std::size_t members = *std::max_element(slots.begin(), slots.end()) + std::size_t{1};
  if (chains.size() < members) chains.resize(members, Chain{never, never});
  for (const Slot slot : slots) {
    Chain& chain = chains[slot];
    if (chain.last == never || arrival > chain.last + patience) chain = {arrival, arrival};
    else chain.last = std::max(chain.last, arrival);
  }
}

const Hearing::Source* Hearing::find(std::string_view source) const {
  for (const Source& known : sources_)
    if (known.name == source) return &known;
  return nullptr;
}

bool Hearing::throughout(const Source& source, Level level, Slot slot, Time from, Time to) {
  const auto& chains = source.chains[static_cast<std::size_t>(level)];
  if (slot >= chains.size() || chains[slot].last == never) return false;
  return chains[slot].since <= from + patience && chains[slot].last >= to - patience && chains[slot].since <= to;
}

bool Hearing::over(std::string_view source, Level level, Slot slot, const Topology& topology, Time from, Time to) const {
  const Source* known = find(source);
  if (known == nullptr) return false;
  from = std::max(from, start_);
  if (throughout(*known, level, slot, from, to)) return true;
  for (const Level coarse : {Level::gpu, Level::node, Level::rack, Level::job}) {
    if (coarse >= level) continue;
    Slot container = 0;
    if (coarse != Level::job) {
      const auto containing = topology.containing(level, coarse);
      container = slot < containing.size() ? containing[slot] : no_slot;
    }
    if (container != no_slot && throughout(*known, coarse, container, from, to)) return true;
  }
  return false;
}

void Hearing::over(std::string_view source, Level level, const Topology& topology, Time from, Time to,
                   std::vector<std::uint8_t>& heard) const {
  heard.assign(topology.size(level), 0);
  const Source* known = find(source);
  if (known == nullptr) return;
  from = std::max(from, start_);
  if (throughout(*known, Level::job, 0, from, to)) return heard.assign(heard.size(), 1);
  for (Slot slot = 0; slot < heard.size(); ++slot) heard[slot] = throughout(*known, level, slot, from, to);
  for (const Level coarse : {Level::gpu, Level::node, Level::rack}) {
    if (coarse >= level || known->chains[static_cast<std::size_t>(coarse)].empty()) continue;
    const auto containing = topology.containing(level, coarse);
    for (Slot slot = 0; slot < std::min(heard.size(), containing.size()); ++slot)
      if (!heard[slot] && containing[slot] != no_slot) heard[slot] = throughout(*known, coarse, containing[slot], from, to);
  }
}

bool Hearing::ever(std::string_view source) const { return find(source) != nullptr; }

void Hearing::gap(Time from, Time to) {
  if (to <= from) return;
  ++version_;
  auto first = std::lower_bound(gaps_.begin(), gaps_.end(), from, [](const auto& gap, Time t) { return gap.second < t; });
  auto last = first;
  for (; last != gaps_.end() && last->first <= to; ++last) {
    from = std::min(from, last->first);
    to = std::max(to, last->second);
  }
  first = gaps_.erase(first, last);
  gaps_.insert(first, {from, to});
}

Duration Hearing::lost(Time from, Time to) const {
  Duration lost{0};
  auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), from, [](const auto& g, Time t) { return g.second <= t; });
  for (; gap != gaps_.end() && gap->first < to; ++gap) lost += std::min(gap->second, to) - std::max(gap->first, from);
  return lost;
}

void Hearing::save(Writer& out) const {
  out.put(start_);
  out.put(static_cast<std::uint64_t>(sources_.size()));
  for (const Source& source : sources_) {
    out.put(source.name);
    for (const auto& chains : source.chains) out.put_all(chains);
  }
  out.put(static_cast<std::uint64_t>(gaps_.size()));
  for (const auto& [from, to] : gaps_) out.put(from), out.put(to);
}

Result<void> Hearing::load(Reader& in) {
  ++version_;
  sources_.clear();
  gaps_.clear();
  start_ = in.get_time();
  const std::size_t sources = in.get_count();
  for (std::size_t i = 0; i < sources && in.ok(); ++i) {
    Source source{in.get_text(), {}};
    for (auto& chains : source.chains) chains = in.get_all<Chain>();
    sources_.push_back(std::move(source));
  }
  const std::size_t gaps = in.get_count();
  for (std::size_t i = 0; i < gaps && in.ok(); ++i) {
    const Time from = in.get_time();
    gaps_.emplace_back(from, in.get_time());
  }
  return in.status();
}

}  // namespace tocsin::stream
