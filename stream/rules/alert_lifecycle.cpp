#include "stream/rules/alert_lifecycle.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "stream/rules/members.h"

namespace tocsin::stream {
namespace {

// The highest of the causes that are yes, or that of "otherwise".
Severity severity_of(const Rule& rule, const Finding& finding) {
  std::optional<Severity> highest;
  for (const auto& [cause, text] : finding.implies)
    if (const auto by_cause = rule.severities.find(cause); by_cause != rule.severities.end())
      highest = std::max(highest.value_or(Severity::none), by_cause->second);
  const auto otherwise = rule.severities.find("otherwise");
  return highest.value_or(otherwise == rule.severities.end() ? rule.severity : otherwise->second);
}

bool silent(const Rule& rule) { return rule.severity == Severity::none; }

// A parent's alert explains its children while it is firing, would fire but for the limit, or is explained itself. A
// silent rule has no alert: its answer explains.
bool explains(const Rule& rule, const Life& life) {
  return life.published || life.withheld != never || (life.on && (silent(rule) || !life.explained_by.empty()));
}

// The rule's outcome of this member at this tick. An alert whose parent has cleared fires only where it is not `no`:
// while `clear` is counted the alert is still on, but the values that it would show are gone.
Truth outcome(const RuleRun& run, Slot slot) {
  return slot < run.outcomes().size() ? run.outcomes()[slot] : Truth::unknown;
}

Time expiry(const RuleRun& run, const Life& life) { return life.last_known + run.patience(); }

}  // namespace

std::size_t AlertLifecycle::quota_of(const Rule& rule) noexcept {
  return static_cast<std::size_t>(rule.mode) * severities + static_cast<std::size_t>(rule.severity);
}

std::uint32_t AlertLifecycle::open(std::size_t quota) const {
  if (of_subject_ == nullptr) return quotas_[quota].open;
  std::uint32_t all = 0;
  for (const AlertLifecycle* one : *of_subject_) all += one->quotas_[quota].open;
  return all;
}

void AlertLifecycle::count(const std::vector<RuleRun>& runs) {
  quotas_ = {};
  for (const RuleRun& run : runs)
    for (const auto& [slot, life] : run.lives()) {
      quota(run.rule()).open += life.published;
      quota(run.rule()).withheld += life.withheld != never;
    }
}

void AlertLifecycle::settle(Time tick, std::span<const RuleIndex> ran, std::vector<RuleRun>& runs,
                            const Topology& topology, const Explain& explain, const Publish& publish) {
  std::vector<RuleIndex> order;
  for (const RuleIndex rule : ran)
    if (!runs[static_cast<std::size_t>(rule)].lives().empty()) order.push_back(rule);
  if (order.empty()) return;
  std::sort(order.begin(), order.end(), [&](RuleIndex a, RuleIndex b) {
    const auto depth = [&](RuleIndex rule) { return pack_->rules[static_cast<std::size_t>(rule)].yield_depth; };
    return std::tuple(depth(a), a) < std::tuple(depth(b), b);
  });
  const Call call{tick, runs, topology, &explain, publish};
  for (const RuleIndex rule : order) move(rule, call);
  admit(order, call);
  summarise(call);
}

void AlertLifecycle::move(RuleIndex index, const Call& call) {
  RuleRun& run = call.runs[static_cast<std::size_t>(index)];
  const Rule& rule = run.rule();
  bool fired = false;
  for (auto it = run.lives().begin(); it != run.lives().end();) {
    auto& [slot, life] = *it;
    if (call.tick >= expiry(run, life)) {
      if (life.published) resolve(index, slot, life, ResolveReason::no_data, call);
      release(rule, life);
      it = run.lives().erase(it);
      continue;
    }
    if (!life.on) {
      if (life.published) {
        resolve(index, slot, life, ResolveReason::cleared, call);
        life.begin_anew();
      }
      release(rule, life);
      it = life.streak.hopes(rule.fire) ? std::next(it) : run.lives().erase(it);
      continue;
    }
    const Parents above = parents(index, slot, call.runs, call.topology);
    life.explained_by = above.explained_by;
    if (!above.explained_by.empty()) {
      release(rule, life);
      if (life.published) resolve(index, slot, life, ResolveReason::explained, call);
      fired = true;  // it also explains its own children
    } else if (!above.waits_for.empty()) {
      release(rule, life);
    } else if (!life.published && outcome(run, slot) != Truth::no) {
      request(index, slot, life, call);
      fired = true;
    }
    ++it;
  }
  if (fired) explain_children(index, call);
}

AlertLifecycle::Parents AlertLifecycle::parents(RuleIndex index, Slot slot, const std::vector<RuleRun>& runs,
                                                const Topology& topology) const {
  Parents result;
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  for (const RuleIndex parent : rule.yields_to) {
    const RuleRun& run = runs[static_cast<std::size_t>(parent)];
    const Rule& above = run.rule();
    if (above.mode > rule.mode || run.lives().empty()) continue;  // a rule in a trial mode never affects a live one
    const auto look = [&](const Life& life) {
      if (explains(above, life)) result.explained_by = above.name;
      else if (life.first != never) result.waits_for = above.name;
    };
    if (above.per <= rule.per) {
      const auto found = run.lives().find(containing_slot(topology, rule.per, slot, above.per));
      if (found != run.lives().end()) look(found->second);
    } else {
      for (const auto& [part, life] : run.lives())
        if (overlap(topology, rule.per, slot, above.per, part)) look(life);
    }
    if (!result.explained_by.empty()) break;
  }
  return result;
}

// Includes children that are not due at this tick.
void AlertLifecycle::explain_children(RuleIndex parent, const Call& call) {
  for (const RuleIndex index : pack_->rules[static_cast<std::size_t>(parent)].yielding) {
    RuleRun& child = call.runs[static_cast<std::size_t>(index)];
    if (child.lives().empty()) continue;
    bool explained = false;
    for (auto& [slot, life] : child.lives()) {
      if (!life.on || !life.explained_by.empty()) continue;
      life.explained_by = parents(index, slot, call.runs, call.topology).explained_by;
      if (life.explained_by.empty()) continue;
      explained = true;
      release(child.rule(), life);
      if (life.published) resolve(index, slot, life, ResolveReason::explained, call);
    }
    if (explained) explain_children(index, call);
  }
}

AlertTransition AlertLifecycle::transition(RuleIndex index, Slot slot, const Life& life,
                                           const Topology& topology) const {
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  AlertTransition t;
  t.id = life.id;
  t.number = life.number;
  t.rule = rule.name, t.family = rule.family, t.summary = rule.summary;
  t.family_words = pack_->verdict.words(rule.family);
  t.subject = names_.subject, t.attempt = life.attempt.empty() ? names_.attempt : life.attempt;
  t.severity = severity_of(rule, life.finding), t.mode = rule.mode;
  t.runbook = rule.runbook, t.owner = rule.owner;
  t.member = named_member(topology, rule.per, slot);
  t.since = life.first, t.at = life.moved;
  t.shows = life.finding.shows, t.actions = life.finding.actions;
  return t;
}

// Fires if the quota has capacity and no alert is queued for it, else queues.
void AlertLifecycle::request(RuleIndex index, Slot slot, Life& life, const Call& call) {
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  if (silent(rule) || life.withheld != never) return;
  if (quota(rule).withheld == 0 && open(quota_of(rule)) < pack_->alert_limit) return fire(index, slot, life, call);
  life.withheld = call.tick;
  ++quota(rule).withheld, ++over_limit_;
}

void AlertLifecycle::release(const Rule& rule, Life& life) {
  if (life.withheld == never) return;
  life.withheld = never;
  --quota(rule).withheld;
}

// Free capacity goes to the alerts that queued first. Each fires with the values of its own rule's next tick; its place
// is reserved until then.
void AlertLifecycle::admit(std::span<const RuleIndex> ran, const Call& call) {
  using Place = std::tuple<Time, std::uint32_t, RuleIndex,
                           Slot>;  // time since it is withheld; within one tick: depth, rule, member
  for (std::size_t i = 0; i < quotas_.size(); ++i) {
    const std::uint32_t taken = open(i);
    if (quotas_[i].withheld == 0 || taken >= pack_->alert_limit) continue;
    std::vector<Place> queue;
    for (std::size_t r = 0; r < call.runs.size(); ++r) {
      const Rule& rule = call.runs[r].rule();
      if (quota_of(rule) != i) continue;
      for (const auto& [slot, life] : call.runs[r].lives())
        if (life.withheld != never)
          queue.emplace_back(life.withheld, rule.yield_depth, static_cast<RuleIndex>(r), slot);
    }
    std::sort(queue.begin(), queue.end());
    queue.resize(std::min<std::size_t>(queue.size(), pack_->alert_limit - taken));
    for (const auto& [since, depth, rule, slot] : queue) {
      if (std::find(ran.begin(), ran.end(), rule) == ran.end()) continue;
      RuleRun& run = call.runs[static_cast<std::size_t>(rule)];
      Life& life = run.lives().at(slot);
      release(run.rule(), life);
      over_limit_ -= since == call.tick;
      fire(rule, slot, life, call);
    }
  }
}

void AlertLifecycle::fire(RuleIndex index, Slot slot, Life& life, const Call& call) {
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  if (life.number == 0) {
    if (rule.scope == Scope::job) life.attempt = names_.attempt;
    const NamedMember member = named_member(call.topology, rule.per, slot);
    std::uint64_t id = hash_text(rule.name);
    for (const std::string& part : {names_.subject, names_.attempt, describe(member), member.gpu, member.node})
      id = hash_text(part, id);
    life.id = hash_text(std::to_string(nanoseconds(life.first)), id);
  }
  ++life.number;
  life.moved = std::max(life.moved, call.tick);
  life.published = true;
  ++quota(rule).open;
  AlertTransition t = transition(index, slot, life, call.topology);
  t.state = AlertState::firing;
  if (call.explain) (*call.explain)(index, slot, t);
  t.severity = severity_of(rule, t);
  life.finding = t, life.pid = t.member.pid;
  call.publish(t);
}

void AlertLifecycle::resolve(RuleIndex index, Slot slot, Life& life, ResolveReason reason, const Call& call) {
  ++life.number;
  // A parent's tick that ran earlier, because its data is complete sooner, can have a later T.
  life.moved = std::max(life.moved, call.tick);
  AlertTransition t = transition(index, slot, life, call.topology);
  t.state = AlertState::resolved;
  t.reason = reason;
  if (reason == ResolveReason::explained) t.explained_by = life.explained_by;
  life.published = false;
  --quota(pack_->rules[static_cast<std::size_t>(index)]).open;
  call.publish(t);
}

void AlertLifecycle::summarise(const Call& call) {
  for (std::size_t mode = 0; mode < modes; ++mode)
    if (const std::uint32_t members = withheld(mode); (members > 0) != (summaries_[mode].number % 2 == 1))
      summarise(static_cast<Mode>(mode), members, call);
}

std::uint32_t AlertLifecycle::withheld(std::size_t mode) const {
  std::uint32_t members = 0;
  for (std::size_t severity = 0; severity < severities; ++severity)
    members += quotas_[mode * severities + severity].withheld;
  return members;
}

void AlertLifecycle::summarise(Mode mode, std::uint32_t withheld, const Call& call) {
  Summary& summary = summaries_[static_cast<std::size_t>(mode)];
  const Time before = summary.moved;
  ++summary.number;
  summary.moved = std::max(before, call.tick);
  call.publish(summary_alert(mode, withheld, summary.number % 2 == 1 ? summary.moved : before));
}

AlertTransition AlertLifecycle::summary_alert(Mode mode, std::uint32_t withheld, Time since) const {
  const Summary& summary = summaries_[static_cast<std::size_t>(mode)];
  const bool firing = summary.number % 2 == 1;
  AlertTransition t;
  t.id = hash_text(names_.attempt, hash_text(names_.subject, hash_text(limit_rule)));
  for (const auto part : {nanoseconds(since), std::int64_t{summary.number + 1} / 2})
    t.id = hash_text(std::to_string(part), t.id);
  if (mode != Mode::live) t.id = hash_text(name(mode), t.id);
  t.number = firing ? 1 : 2;
  t.rule = limit_rule, t.subject = names_.subject, t.attempt = names_.attempt;
  t.summary = "More alerts than the limit of a job";
  t.severity = Severity::warning, t.mode = mode;
  t.since = since, t.at = summary.moved;
  t.state = firing ? AlertState::firing : AlertState::resolved;
  t.reason = firing ? ResolveReason::none : ResolveReason::cleared;
  t.shows = std::to_string(withheld) + " more members than the limit of " + std::to_string(pack_->alert_limit) +
            " alerts of each severity allows; those that came first are named";
  t.evidence = {{"withheld", static_cast<double>(withheld)}, {"limit", static_cast<double>(pack_->alert_limit)}};
  return t;
}

std::vector<AlertTransition> AlertLifecycle::firing(const std::vector<RuleRun>& runs, const Topology& topology) const {
  std::vector<AlertTransition> all;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& [slot, life] : runs[i].lives()) {
      if (!life.published) continue;
      AlertTransition& t = all.emplace_back(transition(static_cast<RuleIndex>(i), slot, life, topology));
      static_cast<Finding&>(t) = life.finding;
      t.member.pid = life.pid;
    }
  for (std::size_t mode = 0; mode < modes; ++mode)
    if (summaries_[mode].number % 2 == 1)
      all.push_back(summary_alert(static_cast<Mode>(mode), withheld(mode), summaries_[mode].moved));
  return all;
}

Time AlertLifecycle::next_expiry(const std::vector<RuleRun>& runs) const {
  Time next = never;
  for (const RuleRun& run : runs)
    for (const auto& [slot, life] : run.lives()) next = std::min(next, expiry(run, life) + run.rule().settle);
  return next;
}

void AlertLifecycle::expire(Time now, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish) {
  Time last = long_ago;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (auto it = runs[i].lives().begin(); it != runs[i].lives().end();) {
      Life& life = it->second;
      const Time tick = expiry(runs[i], life);
      if (tick + runs[i].rule().settle > now) {
        ++it;
        continue;
      }
      last = std::max(last, tick);
      if (life.published)
        resolve(static_cast<RuleIndex>(i), it->first, life, ResolveReason::no_data,
                {tick, runs, topology, nullptr, publish});
      release(runs[i].rule(), life);
      it = runs[i].lives().erase(it);
    }
  if (last != long_ago) summarise({last, runs, topology, nullptr, publish});
}

void AlertLifecycle::retire(Level level, Slot slot, Time at, std::vector<RuleRun>& runs, const Topology& topology,
                            const Publish& publish) {
  const Call call{at, runs, topology, nullptr, publish};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RuleRun& run = runs[i];
    const auto found = run.rule().per == level ? run.lives().find(slot) : run.lives().end();
    if (found == run.lives().end()) continue;
    if (found->second.published) resolve(static_cast<RuleIndex>(i), slot, found->second, ResolveReason::no_data, call);
    release(run.rule(), found->second);
    run.lives().erase(found);
  }
  summarise(call);
}

void AlertLifecycle::resolve_all(Time at, ResolveReason reason, std::vector<RuleRun>& runs, const Topology& topology,
                                 const Publish& publish) {
  const Call call{at, runs, topology, nullptr, publish};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto& [slot, life] : runs[i].lives())
      if (life.published) resolve(static_cast<RuleIndex>(i), slot, life, reason, call);
    runs[i].lives().clear();
  }
  quotas_ = {};
  summarise(call);
}

void AlertLifecycle::resolve_attempt(Time at, std::vector<RuleRun>& runs, const Topology& topology,
                                     const Publish& publish) {
  const Call call{at, runs, topology, nullptr, publish};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].rule().scope == Scope::job) continue;
    for (auto& [slot, life] : runs[i].lives())
      if (life.published) resolve(static_cast<RuleIndex>(i), slot, life, ResolveReason::attempt_ended, call);
    runs[i].lives().clear();
  }
  count(runs);
  summarise(call);
}

void AlertLifecycle::withdraw(RuleIndex rule, Time at, std::vector<RuleRun>& runs, const Topology& topology,
                              const Publish& publish) {
  const Call call{at, runs, topology, nullptr, publish};
  RuleRun& run = runs[static_cast<std::size_t>(rule)];
  for (auto& [slot, life] : run.lives()) {
    release(run.rule(), life);
    if (life.published) resolve(rule, slot, life, ResolveReason::rule_removed, call);
  }
}

void AlertLifecycle::adopt(const AlertLifecycle& old, Time from, std::vector<RuleRun>& runs, const Topology& topology,
                           const Publish& publish) {
  summaries_ = old.summaries_;
  count(runs);
  summarise({from, runs, topology, nullptr, publish});
}

}  // namespace tocsin::stream
