#include "stream/windows/source_coverage.h"

#include <algorithm>

#include "stream/values/packed.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_broken = 4'096;  // of a source and level; beyond it, the older half is dropped

}  // namespace

void SourceCoverage::extend(std::string_view source, Level level, std::span<const Slot> slots, Time arrival) {
  if (slots.empty()) return;
  auto known = sources_.find(source);
  if (known == sources_.end()) {
    if (signals_ != nullptr && !signals_->any_of_source(source)) return;
    known = sources_.try_emplace(std::string{source}).first;
  }
  ++version_;
  Members& of = known->second[static_cast<std::size_t>(level)];
  auto& chains = of.chains;
  auto& broken = of.broken;
  const std::size_t members = *std::max_element(slots.begin(), slots.end()) + std::size_t{1};
  if (chains.size() < members) chains.resize(members, Chain{never, never});
  for (const Slot slot : slots) {
    Chain& chain = chains[slot];
    if (chain.last != never && arrival <= chain.last + patience) {
      chain.last = std::max(chain.last, arrival);
      continue;
    }
    if (chain.last != never) {
      if (broken.size() == most_broken) broken.erase(broken.begin(), broken.begin() + most_broken / 2);
      broken.push_back({chain, slot});
    }
    chain = {arrival, arrival};
  }
}

bool SourceCoverage::throughout(const Source& source, Level level, Slot slot, Time from, Time to) {
  const Members& of = source[static_cast<std::size_t>(level)];
  const auto& chains = of.chains;
  const auto spans = [&](const Chain& chain) {
    return chain.since <= from + patience && chain.last >= to - patience && chain.since <= to;
  };
  if (slot >= chains.size() || chains[slot].last == never) return false;
  if (chains[slot].since <= to) return spans(chains[slot]);
  return std::any_of(of.broken.rbegin(), of.broken.rend(), [&](const Broken& b) { return b.slot == slot && spans(b); });
}

bool SourceCoverage::over(std::string_view source, Level level, Slot slot, const Topology& topology, Time from,
                          Time to) const {
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

bool SourceCoverage::over(std::string_view source, Level level, const Topology& topology, Time from, Time to,
                          std::vector<std::uint8_t>& covered) const {
  covered.assign(topology.size(level), 0);
  const Source* known = find(source);
  if (known == nullptr || covered.empty()) return true;
  from = std::max(from, start_);
  if (throughout(*known, Level::job, 0, from, to)) {
    covered.assign(covered.size(), 1);
    return true;
  }
  const Share of_level = share(*known, level, covered.size(), from, to);
  covered[0] = throughout(*known, level, 0, from, to);
  if (of_level == Share::all) std::fill(covered.begin() + 1, covered.end(), std::uint8_t{1});
  if (of_level == Share::some)
    for (Slot slot = 1; slot < covered.size(); ++slot) covered[slot] = throughout(*known, level, slot, from, to);
  bool constant = of_level != Share::some;
  for (const Level coarse : {Level::gpu, Level::node, Level::rack}) {
    if (coarse >= level || of_level == Share::all) continue;
    const std::size_t containers = topology.size(coarse);
    if (containers == 0 || (*known)[static_cast<std::size_t>(coarse)].chains.empty()) continue;
    const Share of_coarse = share(*known, coarse, containers, from, to);
    const bool of_first = throughout(*known, coarse, 0, from, to);
    if (of_coarse == Share::none && !of_first) continue;
    constant = false;
    const auto containing = topology.containing(level, coarse);
    for (Slot slot = 0; slot < std::min(covered.size(), containing.size()); ++slot) {
      if (covered[slot] || containing[slot] == no_slot) continue;
      covered[slot] = of_coarse == Share::all && of_first ? 1 : throughout(*known, coarse, containing[slot], from, to);
    }
  }
  return constant ||
         std::all_of(covered.begin() + 1, covered.end(), [&](std::uint8_t one) { return one == covered.back(); });
}

SourceCoverage::Share SourceCoverage::share(const Source& source, Level level, std::size_t members, Time from,
                                            Time to) const {
  const Members& of = source[static_cast<std::size_t>(level)];
  const std::size_t known = std::min(of.chains.size(), members);
  if (known < 2) return Share::none;
  if (of.as_of != version_ || of.spanned != known) {
    of.all = {long_ago, never}, of.latest = long_ago;
    for (const Chain& chain : std::span{of.chains}.subspan(1, known - 1)) {
      of.all = {std::max(of.all.since, chain.since), std::min(of.all.last, chain.last)};
      if (chain.last != never) of.latest = std::max(of.latest, chain.last);
    }
    of.as_of = version_, of.spanned = known;
  }
  if (of.latest < to - patience) return Share::none;  // chains that broke off before ended even earlier
  const bool all = known == members && of.all.since != never && of.all.since <= std::min(from + patience, to) &&
                   of.all.last >= to - patience;
  return all ? Share::all : Share::some;
}

bool SourceCoverage::ever(std::string_view source) const { return find(source) != nullptr; }

void SourceCoverage::reads(std::size_t origin) {
  if (reads_.size() <= origin) reads_.resize(origin + 1);
  if (reads_[origin] == Reads::nothing) reads_[origin] = Reads::waited_for;
}

void SourceCoverage::follow_origins(const std::function<void(std::string_view, bool)>& changed) {
  for (std::size_t origin = 0; origin < reads_.size(); ++origin) {
    const Reads now = origins_->left(origin) ? Reads::left : Reads::waited_for;
    if (reads_[origin] == Reads::nothing || reads_[origin] == now) continue;
    reads_[origin] = now;
    changed(origins_->name(origin), now == Reads::left);
  }
}

bool SourceCoverage::any_unread(Time now) const noexcept {
  for (std::size_t origin = 0; origin < reads_.size(); ++origin)
    if (reads_[origin] != Reads::nothing && origins_->unread(origin, now)) return true;
  return false;
}

void SourceCoverage::carried(std::size_t origin, Level level, std::span<const Slot> slots) {
  if (carried_.size() <= origin) carried_.resize(origin + 1);
  auto& members = carried_[origin][static_cast<std::size_t>(level)];
  for (const Slot slot : slots) {
    if (slot == no_slot) continue;
    if (members.size() <= slot) members.resize(slot + std::size_t{1}, 0);
    members[slot] = 1;
  }
}

bool SourceCoverage::unobserved(Level level, Time now, std::vector<std::uint8_t>& members) const {
  members.clear();
  for (std::size_t origin = 0; origin < carried_.size(); ++origin) {
    if (!origins_->unread(origin, now)) continue;
    const auto& carried = carried_[origin][static_cast<std::size_t>(level)];
    members.resize(std::max(members.size(), carried.size()), 0);
    for (std::size_t slot = 0; slot < carried.size(); ++slot) members[slot] |= carried[slot];
  }
  return !members.empty();
}

void SourceCoverage::gap(Time from, Time to) {
  if (to <= from) return;
  ++version_;
  auto first =
      std::lower_bound(gaps_.begin(), gaps_.end(), from, [](const auto& gap, Time t) { return gap.second <= t; });
  auto last = first;
  for (; last != gaps_.end() && last->first < to; ++last) {
    from = std::min(from, last->first);
    to = std::max(to, last->second);
  }
  first = gaps_.erase(first, last);
  gaps_.insert(first, {from, to});
}

Duration SourceCoverage::lost(Time from, Time now) const {
  Duration lost{0};
  auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), from, [](const auto& g, Time t) { return g.second <= t; });
  const bool open = open_gap(now);
  const Time until =
      open ? std::min(*beats_.last, now) : now;  // from there on all is lost, within a recorded gap or not
  for (; gap != gaps_.end() && gap->first + widest_beat < now; ++gap)
    lost += std::max(std::min(gap->second, until) - std::max(gap->first, from), Duration{0});
  if (open) lost += std::max(now - std::max(from, *beats_.last), Duration{0});
  return lost;
}

std::size_t SourceCoverage::gaps(Time now) const {
  const auto counts = [now](const auto& gap) { return gap.first + widest_beat < now; };
  return static_cast<std::size_t>(std::partition_point(gaps_.begin(), gaps_.end(), counts) - gaps_.begin()) +
         (open_gap(now) ? 1 : 0);
}

// Records came and no beat.
bool SourceCoverage::open_gap(Time now) const {
  return beats_.last != nullptr && *beats_.last != long_ago &&
         *beats_.last + widest_beat < std::min(*beats_.clock, now);
}

void SourceCoverage::Members::save(Writer& out) const {
  if (!chains.empty())
    out.later([copy = chains](Writer& of) { pack_columns(of, 3, copy, &Chain::since, &Chain::last); });
  out.columns(2, broken, &Broken::slot, &Broken::since, &Broken::last);
}

void SourceCoverage::Members::load(Reader& in) {
  in.columns(1, chains, &Chain::since, &Chain::last);  // of format 3
  unpack_columns(in, 3, chains, most_of_column, &Chain::since, &Chain::last);
  in.columns(2, broken, &Broken::slot, &Broken::since, &Broken::last);
}

void SourceCoverage::fields(auto& self, auto& archive) {
  archive(1, self.start_), archive(2, self.sources_);
  archive.columns(3, self.gaps_, &std::pair<Time, Time>::first, &std::pair<Time, Time>::second);
  archive(4, self.carried_), archive(5, self.reads_);
}
void SourceCoverage::save(Writer& out) const { fields(*this, out); }

Result<void> SourceCoverage::load(Reader& in) {
  ++version_;
  fields(*this, in);
  for (std::size_t origin = reads_.size(); origin < carried_.size(); ++origin) {  // of an older program
    const auto any = [](const auto& slots) { return !slots.empty(); };
    const bool read = std::any_of(carried_[origin].begin(), carried_[origin].end(), any);
    reads_.push_back(!read ? Reads::nothing : origins_->left(origin) ? Reads::left : Reads::waited_for);
  }
  return in.status();
}

}  // namespace tocsin::stream
