// Rules of scope "job": what an attempt's judge takes from those of other attempts, and leaves to them.
#include "stream/rules/job_rules.h"

#include "stream/rules/judge.h"
#include "stream/rules/members.h"

namespace tocsin::stream {

JobRules::Member JobRules::Member::of(const Topology& topology, Level level, Slot slot) {
  const NamedMember named = named_member(topology, level, slot);
  Member member;
  if (level == Level::rank) member.rank = named.rank.value_or(0);
  if (level == Level::node || level == Level::gpu) member.node = named.node;
  if (level == Level::gpu) member.gpu = named.gpu;
  if (level == Level::rack) member.rack = named.rack;
  return member;
}

std::optional<Slot> JobRules::Member::in(const Topology& topology, Level level) const {
  if (level == Level::rack) {
    for (Slot slot = 0; slot < topology.size(level); ++slot)
      if (topology.exists(level, slot) && topology.rack_name(slot) == rack) return slot;
    return std::nullopt;
  }
  MemberKey key;
  key.level = level, key.rank = rank, key.node = node, key.gpu = gpu;
  const auto slot = topology.find(key);
  return slot && topology.exists(level, *slot) ? slot : std::nullopt;
}

void JobRules::save(Writer& out) const {
  out.list(1, left, [](Writer& rule, const auto& one) {
    rule(1, one.first);
    rule.list(2, one.second, [](Writer& member, const State& state) { State::fields(state, member); });
  });
}

void JobRules::load(Reader& in) {
  left.clear();
  in.list(1, [&](Reader& rule) {
    auto& states = left[rule.get<std::string>(1)];
    rule.list(2, [&](Reader& member) { State::fields(states.emplace_back(), member); });
  });
}

bool Judge::take(Judge& other, RuleRun& theirs, RuleRun& ours) {
  const Rule &rule = ours.rule(), &old = theirs.rule();
  const Topology& there = other.facts_.topology;
  bool moved = false;
  auto& holds = theirs.seldom().holds;
  for (Slot slot = 0; slot < holds.size(); ++slot) {
    if (!holds[slot] || !there.exists(rule.per, slot)) continue;
    const auto here = JobRules::Member::of(there, rule.per, slot).in(facts_.topology, rule.per);
    if (!here) continue;
    for (std::size_t i = 0; i < old.state.size(); ++i)
      for (std::size_t f = 0; f < rule.state.size(); ++f)
        if (old.state[i].name == rule.state[f].name)
          ours.state(f, *here + std::size_t{1})[*here] = theirs.state(i, slot + std::size_t{1})[slot];
    holds[slot] = 0;
    if (const auto life = theirs.lives().find(slot); life != theirs.lives().end()) {
      ours.adopt(*here, std::move(life->second));
      theirs.lives().erase(life);
    }
    moved = true;
  }
  if (!moved) return false;
  other.lifecycle_.count(other.runs_);
  other.expiry_ = other.lifecycle_.next_expiry(other.runs_);
  return true;
}

bool Judge::take_left(RuleRun& ours) {
  const Rule& rule = ours.rule();
  const auto left = facts_.job.left.find(rule.name);
  if (left == facts_.job.left.end()) return false;
  const std::size_t taken = std::erase_if(left->second, [&](const JobRules::State& state) {
    const auto here = state.member.in(facts_.topology, rule.per);
    if (!here) return false;
    for (const auto& [field, value] : state.values)
      for (std::size_t f = 0; f < rule.state.size(); ++f)
        if (rule.state[f].name == field) ours.state(f, *here + std::size_t{1})[*here] = value;
    return true;
  });
  if (left->second.empty()) facts_.job.left.erase(left);
  return taken != 0;
}

void Judge::take_over(RuleIndex index) {
  RuleRun& ours = runs_[static_cast<std::size_t>(index)];
  const Rule& rule = ours.rule();
  bool moved = take_left(ours);
  for (Judge* other : facts_.job.judges()) {
    if (other == this) continue;
    for (RuleRun& theirs : other->runs_)
      if (theirs.rule().name == rule.name && theirs.rule().per == rule.per &&
          !std::as_const(theirs).seldom().holds.empty())
        moved |= take(*other, theirs, ours);
  }
  ours.seldom().holds.assign(facts_.topology.size(rule.per), 1);
  if (!moved) return;
  lifecycle_.count(runs_);
  steady_.disturb(moment_.now);
}

bool Judge::holds_alerts() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const RuleRun& run) { return !run.lives().empty(); });
}

void Judge::leave() {
  for (RuleRun& run : runs_) {
    const Rule& rule = run.rule();
    const auto holds = std::as_const(run).seldom().holds;
    if (holds.empty()) continue;
    for (Slot slot = 0; slot < holds.size() && rule.scope == Scope::job && !rule.state.empty(); ++slot) {
      if (!holds[slot] || !facts_.topology.exists(rule.per, slot)) continue;
      JobRules::State state{JobRules::Member::of(facts_.topology, rule.per, slot), {}};
      for (std::size_t f = 0; f < rule.state.size(); ++f)
        state.values.emplace_back(rule.state[f].name, run.state(f, slot + std::size_t{1})[slot]);
      facts_.job.left[rule.name].push_back(std::move(state));
    }
    run.seldom().holds.clear();
  }
}

void Judge::resolve_rest() {
  lifecycle_.resolve_all(std::max(facts_.end, scheduler_.last_tick()), ResolveReason::attempt_ended, runs_,
                         facts_.topology, [this](const AlertTransition& t) { publish(t); });
  expiry_ = never;
}

}  // namespace tocsin::stream
