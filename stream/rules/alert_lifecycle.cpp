#include "stream/rules/alert_lifecycle.h"

#include <algorithm>

#include "stream/rules/members.h"

namespace tocsin::stream {
namespace {

constexpr const char* limit_rule = "alert_limit";

bool silent(const Rule& rule) { return rule.severity == Severity::none; }

}  // namespace

void AlertLifecycle::index_children() {
  children_.clear();
  for (std::size_t i = 0; i < pack_->rules.size(); ++i)
    for (const RuleIndex parent : pack_->rules[i].yields_to) children_.emplace(parent, static_cast<RuleIndex>(i));
}

void AlertLifecycle::settle(Time tick, std::span<const RuleIndex> ran, std::vector<RuleRun>& runs, const Topology& topology,
                            const Tell& tell, const Publish& publish) {
  std::vector<RuleIndex> order;
  for (const RuleIndex rule : ran)
    if (!runs[static_cast<std::size_t>(rule)].lives().empty()) order.push_back(rule);
  if (order.empty() && withheld_ == 0) return;
  std::stable_sort(order.begin(), order.end(), [&](RuleIndex a, RuleIndex b) {
    return pack_->rules[static_cast<std::size_t>(a)].yield_depth < pack_->rules[static_cast<std::size_t>(b)].yield_depth;
  });
  const Call call{tick, runs, topology, &tell, publish};
  for (const RuleIndex rule : order) move(rule, call);
  summarise(call);
}

void AlertLifecycle::move(RuleIndex index, const Call& call) {
  RuleRun& run = call.runs[static_cast<std::size_t>(index)];
  const Rule& rule = run.rule();
  bool fired = false;
  for (auto it = run.lives().begin(); it != run.lives().end();) {
    auto& [slot, life] = *it;
    const Slot at = slot;
    if (life.withheld && !life.on) life.withheld = false, --withheld_;
    if (!life.on) {
      if (life.published) resolve(index, at, life, ResolveReason::cleared, call);
      life.explained_by.clear();
      // What made it pending is over: a later yes begins anew.
      if (!life.streak.hopes(rule.fire)) {
        it = run.lives().erase(it);
        continue;
      }
      ++it;
      continue;
    }
    if (life.published && call.tick - life.last_known >= run.patience()) {
      resolve(index, at, life, ResolveReason::no_data, call);
      it = run.lives().erase(it);
      continue;
    }
    const Parents above = parents(index, at, call);
    if (!above.explained_by.empty()) {
      if (life.withheld) life.withheld = false, --withheld_;
      life.explained_by = above.explained_by;
      if (life.published) resolve(index, at, life, ResolveReason::explained, call);
      fired = true;  // it explains its own children in turn
    } else if (!life.published && !above.wait) {
      life.explained_by.clear();
      fire(index, at, life, call);
      fired = true;
    }
    ++it;
  }
  if (fired) explain_children(index, call);
}

AlertLifecycle::Parents AlertLifecycle::parents(RuleIndex index, Slot slot, const Call& call) const {
  Parents result;
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  for (const RuleIndex parent : rule.yields_to) {
    const RuleRun& run = call.runs[static_cast<std::size_t>(parent)];
    for (const auto& [parent_slot, life] : run.lives()) {
      if (!overlap(call.topology, rule.per, slot, run.rule().per, parent_slot)) continue;
      if (life.published || life.withheld || (life.on && !life.explained_by.empty())) result.explained_by = run.rule().name;
      else if (life.first != never) result.wait = true;
      if (!result.explained_by.empty()) return result;
    }
  }
  return result;
}

void AlertLifecycle::explain_children(RuleIndex parent, const Call& call) {
  const auto [from, to] = children_.equal_range(parent);
  for (auto it = from; it != to; ++it) {
    RuleRun& child = call.runs[static_cast<std::size_t>(it->second)];
    for (auto& [slot, life] : child.lives()) {
      if (!life.published) continue;
      const Parents above = parents(it->second, slot, call);
      if (above.explained_by.empty()) continue;
      life.explained_by = above.explained_by;
      resolve(it->second, slot, life, ResolveReason::explained, call);
    }
  }
}

AlertTransition AlertLifecycle::transition(RuleIndex index, Slot slot, const Life& life, const Call& call) const {
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  AlertTransition t;
  t.id = life.id;
  t.number = life.number;
  t.rule = rule.name, t.family = rule.family, t.summary = rule.summary;
  t.subject = names_.subject, t.attempt = names_.attempt;
  t.severity = rule.severity, t.mode = rule.mode;
  t.member = named_member(call.topology, rule.per, slot);
  t.since = life.first, t.at = call.tick;
  t.shows = life.shows;
  return t;
}

void AlertLifecycle::fire(RuleIndex index, Slot slot, Life& life, const Call& call) {
  RuleRun& run = call.runs[static_cast<std::size_t>(index)];
  if (silent(run.rule())) return;
  if (open_ >= pack_->alert_limit) {
    if (!life.withheld) life.withheld = true, ++withheld_, ++over_limit_;
    return;
  }
  if (life.withheld) life.withheld = false, --withheld_;
  const NamedMember member = named_member(call.topology, run.rule().per, slot);
  std::uint64_t id = hash_text(run.rule().name);
  for (const std::string& part : {names_.subject, names_.attempt, describe(member), member.gpu, member.node}) id = hash_text(part, id);
  if (life.number == 0) life.id = hash_text(std::to_string(nanoseconds(life.first)), id);
  ++life.number;
  life.published = true;
  ++open_;
  AlertTransition t = transition(index, slot, life, call);
  t.state = AlertState::firing;
  if (call.tell) (*call.tell)(index, slot, t);
  life.shows = t.shows;
  call.publish(t);
}

void AlertLifecycle::resolve(RuleIndex index, Slot slot, Life& life, ResolveReason reason, const Call& call) {
  ++life.number;
  AlertTransition t = transition(index, slot, life, call);
  t.state = AlertState::resolved;
  t.reason = reason;
  if (reason == ResolveReason::explained) t.explained_by = life.explained_by;
  life.published = false;
  --open_;
  call.publish(t);
  if (reason != ResolveReason::cleared) return;
  life.first = never;  // the next alert on this member is another one
  life.number = 0;
}

void AlertLifecycle::summarise(const Call& call) {
  // Room again: the lowest members that wait, rule by rule.
  if (withheld_ > 0 && open_ < pack_->alert_limit)
    for (std::size_t i = 0; i < call.runs.size() && open_ < pack_->alert_limit; ++i)
      for (auto& [slot, life] : call.runs[i].lives())
        if (life.withheld && open_ < pack_->alert_limit) fire(static_cast<RuleIndex>(i), slot, life, call);
  const bool firing = summary_ % 2 == 1;
  if ((withheld_ > 0) == firing) return;
  ++summary_;
  AlertTransition t;
  t.id = hash_text(names_.attempt, hash_text(names_.subject, hash_text(limit_rule)));
  t.number = summary_;
  t.rule = limit_rule, t.subject = names_.subject, t.attempt = names_.attempt;
  t.summary = "More alerts than the limit of a job";
  t.severity = Severity::warning;
  t.since = t.at = call.tick;
  t.state = firing ? AlertState::resolved : AlertState::firing;
  t.reason = firing ? ResolveReason::cleared : ResolveReason::none;
  t.shows = std::to_string(withheld_) + " more members than the limit of " + std::to_string(pack_->alert_limit) +
            " alerts allows; the lowest members are named";
  t.evidence = {{"withheld", static_cast<double>(withheld_)}, {"limit", static_cast<double>(pack_->alert_limit)}};
  call.publish(t);
}

Time AlertLifecycle::next_expiry(const std::vector<RuleRun>& runs) const {
  Time next = never;
  if (open_ == 0) return next;
  for (const RuleRun& run : runs)
    for (const auto& [slot, life] : run.lives())
      if (life.published) next = std::min(next, life.last_known + run.patience() + run.rule().settle);
  return next;
}

void AlertLifecycle::expire(Time now, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish) {
  const Call call{now, runs, topology, nullptr, publish};
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (auto it = runs[i].lives().begin(); it != runs[i].lives().end();) {
      Life& life = it->second;
      if (!life.published || life.last_known + runs[i].patience() + runs[i].rule().settle > now) {
        ++it;
        continue;
      }
      resolve(static_cast<RuleIndex>(i), it->first, life, ResolveReason::no_data, call);
      it = runs[i].lives().erase(it);
    }
}

void AlertLifecycle::resolve_all(Time at, ResolveReason reason, std::vector<RuleRun>& runs, const Topology& topology,
                                 const Publish& publish) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Call call{at, runs, topology, nullptr, publish};
    for (auto& [slot, life] : runs[i].lives())
      if (life.published) resolve(static_cast<RuleIndex>(i), slot, life, reason, call);
    runs[i].lives().clear();
  }
  withheld_ = 0;
  if (summary_ % 2 == 1) summarise({at, runs, topology, nullptr, publish});
}

void AlertLifecycle::remove_rule(RuleIndex rule, Time at, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish) {
  RuleRun& run = runs[static_cast<std::size_t>(rule)];
  const Call call{at, runs, topology, nullptr, publish};
  for (auto& [slot, life] : run.lives())
    if (life.published) resolve(rule, slot, life, ResolveReason::rule_removed, call);
  run.lives().clear();
}

}  // namespace tocsin::stream
