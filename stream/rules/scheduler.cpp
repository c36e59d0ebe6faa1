#include "stream/rules/scheduler.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "stream/values/digest.h"

namespace tocsin::stream {
namespace {

constexpr Duration grid = std::chrono::seconds{1};
constexpr Duration forgotten_after =
    std::chrono::minutes{15};  // a rule is at most 10 min late, and the end's grace is 2

// The first k·every + phase after `time`.
Time first_after(Time time, Duration every, std::uint64_t hash) {
  const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, every / grid));
  const Duration phase = grid * static_cast<std::int64_t>(hash % steps);
  return row_end(time - phase + Duration{1}, every) + phase;
}

// Which kinds of triggers it has.
unsigned kinds(const Rule& rule) {
  unsigned all = 0;
  for (const Trigger& trigger : rule.every) all |= 1U << static_cast<unsigned>(trigger.kind);
  return all;
}

void insert_sorted(std::vector<RuleIndex>& rules, RuleIndex rule) {
  const auto at = std::lower_bound(rules.begin(), rules.end(), rule);
  if (at == rules.end() || *at != rule) rules.insert(at, rule);
}

}  // namespace

const std::string& Scheduler::name_of(RuleIndex rule) const {
  return pack_->rules[static_cast<std::size_t>(rule)].name;
}

// Until when it was judged before a reload removed it; long_ago: it was not.
Time Scheduler::judged_before(const std::string& rule) const {
  const auto found = removed_.find(rule);
  return found == removed_.end() ? long_ago : found->second;
}

// Until when it may have judged. What has only intervals judged no tick from its next one on.
Time Scheduler::judged_until(const Rule& rule) const {
  if (kinds(rule) != 1U << static_cast<unsigned>(Trigger::Kind::period)) return last_tick_;
  Time until = long_ago;
  for (const Period& period : periods_)
    for (const RuleIndex one : period.rules)
      if (name_of(one) == rule.name)
        until = std::max(until, period.over ? last_tick_ : std::min(period.next, end_) - Duration{1});
  return std::min(until, last_tick_);
}

Scheduler::Scheduler(const Pack& pack, std::string_view subject, Time start)
    : pack_(&pack), phase_(hash_text(subject)), places_(pack.rules.size()) {
  std::vector<std::uint32_t> all(pack.rules.size());
  std::iota(all.begin(), all.end(), 0u);
  std::ranges::stable_sort(all, {}, [&](std::uint32_t rule) { return pack.rules[rule].depth; });
  for (std::uint32_t place = 0; place < all.size(); ++place) places_[all[place]] = place;
  std::vector<std::pair<SignalId, RuleIndex>> triggered;
  for (std::size_t i = 0; i < pack.rules.size(); ++i) {
    const Rule& rule = pack.rules[i];
    if (!rule.judges(subject)) continue;
    const auto index = static_cast<RuleIndex>(i);
    longest_settle_ = std::max(longest_settle_, rule.settle);
    for (const Trigger& trigger : rule.every) {
      if (trigger.kind == Trigger::Kind::record) triggered.emplace_back(trigger.signal, index);
      if (trigger.kind == Trigger::Kind::end) at_end_.push_back(index);
      if (trigger.kind != Trigger::Kind::period) continue;
      const auto same = std::find_if(periods_.begin(), periods_.end(), [&](const Period& p) {
        return p.every == trigger.period && p.settle == rule.settle;
      });
      if (same != periods_.end()) {
        if (same->rules.back() != index) same->rules.push_back(index);
      } else periods_.push_back({trigger.period, rule.settle, {index}, first_after(start, trigger.period, phase_)});
    }
  }
  std::ranges::stable_sort(triggered, {}, &std::pair<SignalId, RuleIndex>::first);
  triggered_.reserve(triggered.size());
  for (const auto& [signal, rule] : triggered) {
    if (triggers_.empty() || triggers_.back() != signal) triggers_.push_back(signal);
    triggered_from_.resize(static_cast<std::size_t>(signal) + 1, static_cast<std::uint32_t>(triggered_.size()));
    triggered_.push_back(rule);
  }
  triggered_from_.push_back(static_cast<std::uint32_t>(triggered_.size()));
  for (auto* const list : {&triggered_, &at_end_}) list->shrink_to_fit();
  triggered_from_.shrink_to_fit(), triggers_.shrink_to_fit(), periods_.shrink_to_fit();
  for (Period& period : periods_) order(period.rules), period.rules.shrink_to_fit();
  find_next();
}

void Scheduler::order(std::vector<RuleIndex>& rules) const {
  std::ranges::sort(rules, [this](RuleIndex a, RuleIndex b) { return precedes(a, b); });
}

void Scheduler::applied(SignalId signal, Time at) {
  const auto rules = triggered_by(signal);
  if (finished_ || rules.empty() || last_applied_ == std::pair{signal, at}) return;
  for (const RuleIndex rule : rules) {
    const Duration settle = pack_->rules[static_cast<std::size_t>(rule)].settle;
    insert_sorted(records_[{at + settle, at}], rule);
    next_ = std::min(next_, at + settle);
  }
  last_applied_.emplace(signal, at);
}

void Scheduler::end(Time end) {
  end_ = end;
  const Time last = row_end(end, grid);
  for (Period& period : periods_) {
    if (period.last >= end) period.over = true;      // E was not known in time: the last tick is after E
    else if (period.next > end) period.next = last;  // and over once taken
  }
  find_next();
}

void Scheduler::find_next() noexcept {
  next_period_ = periods_.size();
  std::pair<Time, Time> first{never, never};
  for (std::size_t i = 0; i < periods_.size(); ++i) {
    const Period& period = periods_[i];
    if (period.over) continue;
    const std::pair<Time, Time> at{run_at(period), period.next};
    if (at < first) first = at, next_period_ = i;
  }
  next_ = never;
  if (finished_) return;
  if (end_ != never) next_ = end_ + grace + longest_settle_;
  if (const Period* period = next_period()) next_ = std::min(next_, run_at(*period));
  if (!records_.empty()) next_ = std::min(next_, records_.begin()->first.first);
}

Time Scheduler::next_tick() const noexcept {
  Time tick = end_;
  std::pair<Time, Time> first{next(), never};
  if (const Period* period = next_period(); period && run_at(*period) == first.first) tick = period->next;
  if (!records_.empty() && records_.begin()->first.first == first.first)
    tick = std::min(tick, records_.begin()->first.second);
  return tick;
}

Scheduler::Due Scheduler::take(std::vector<RuleIndex> room) {
  Due due;
  room.clear();
  due.rules = std::move(room);
  take_next(due);
  due.rows_to = due.tick;
  if (due.at_end) due.tick = std::max(end_, last_tick_);
  else if (due.last) due.tick = end_;
  if (!due.at_end) last_tick_ = std::max(last_tick_, due.tick);
  last_applied_.reset();
  find_next();
  return due;
}

// Adds rules that are due as well.
void Scheduler::add(std::vector<RuleIndex>& due, const std::vector<RuleIndex>& rules) const {
  if (due.empty()) return due.assign(rules.begin(), rules.end());
  std::size_t had = due.size(), more = rules.size();
  due.resize(had + more);
  while (more > 0) {  // from the last to the first, in place
    const bool ours = had > 0 && precedes(rules[more - 1], due[had - 1]);
    due[had + more - 1] = ours ? due[had - 1] : rules[more - 1];
    ours ? --had : --more;
  }
  due.erase(std::ranges::unique(due).begin(), due.end());
}

void Scheduler::take_next(Due& due) {
  due.run_at = next();
  due.tick = never;
  if (const Period* period = next_period(); period && run_at(*period) == due.run_at) due.tick = period->next;
  if (!records_.empty() && records_.begin()->first.first == due.run_at)
    due.tick = std::min(due.tick, records_.begin()->first.second);
  if (due.tick == never) {
    due.tick = std::max(row_end(end_, grid), last_tick_);
    for (const RuleIndex rule : at_end_)
      if (judged_before(name_of(rule)) < std::max(end_, last_tick_)) due.rules.push_back(rule);
    order(due.rules);
    due.at_end = true;
    finished_ = true;
    return;
  }
  const Time last = end_ == never ? never : row_end(end_, grid);
  for (Period& period : periods_) {
    if (period.over || period.next != due.tick || run_at(period) != due.run_at) continue;
    add(due.rules, period.rules);
    period.last = period.next;
    if (period.next >= last) {
      due.last = true;
      period.over = true;
      continue;
    }
    period.next = first_after(period.next, period.every, phase_);
    if (period.next > end_) period.next = last;
  }
  if (const auto found = records_.find({due.run_at, due.tick}); found != records_.end()) {
    order(found->second);
    add(due.rules, found->second);
    records_.erase(found);
  }
}

// The period that the rule ran in: that of `every` if it had several.
const Scheduler::Period* Scheduler::period_of(const std::string& rule, Duration every) const {
  const Period* found = nullptr;
  for (const Period& period : periods_)
    for (const RuleIndex one : period.rules)
      if (name_of(one) == rule && (found == nullptr || period.every == every)) found = &period;
  return found;
}

// Until when what is due has run.
Time Scheduler::ran() const {
  Time to = long_ago;
  for (const Period& period : periods_)
    if (period.last != long_ago) to = std::max(to, period.last + period.settle);
  return to;
}

// The period of one rule after a reload.
Scheduler::Period Scheduler::adopted(const Period& own, RuleIndex rule, const Scheduler& old, Time from) const {
  Period one{own.every, own.settle, {rule}, own.next};
  const Period* before = old.period_of(name_of(rule), own.every);
  if (before != nullptr && before->every == own.every) {
    one.next = before->next, one.last = before->last;
  } else {
    const Time due = std::max(from - Duration{1}, old.ran());  // `from` may have been past when the reload was read
    const Time judged = before != nullptr ? before->last : judged_before(name_of(rule));
    one.next = std::max(one.next, first_after(std::max(due - one.settle, judged), one.every, phase_));
    if (one.next > end_) one.over = end_ <= judged || row_end(end_, grid) + one.settle < from;
  }
  if (before != nullptr) one.over = before->over;
  if (one.next > end_) one.next = row_end(end_, grid);
  return one;
}

void Scheduler::adopt(const Scheduler& old, Time from) {
  end_ = old.end_;
  finished_ = old.finished_;
  last_tick_ = old.last_tick_;
  not_before_ = from;
  removed_ = old.removed_;
  std::erase_if(removed_, [&](const auto& rule) { return rule.second < from - forgotten_after; });
  for (const Rule& rule : old.pack_->rules) {
    const auto goes_on = [&](const Rule& now) { return now.name == rule.name && kinds(now) == kinds(rule); };
    if (last_tick_ == long_ago || std::any_of(pack_->rules.begin(), pack_->rules.end(), goes_on)) continue;
    Time& judged = removed_.try_emplace(rule.name, long_ago).first->second;
    judged = std::max(judged, old.judged_until(rule));
  }
  std::vector<Period> periods;
  for (const Period& period : periods_)
    for (const RuleIndex rule : period.rules) {
      Period one = adopted(period, rule, old, from);
      const auto known = std::find_if(periods.begin(), periods.end(), [&](const Period& p) {
        return std::tie(p.every, p.settle, p.next, p.last, p.over) ==
               std::tie(one.every, one.settle, one.next, one.last, one.over);
      });
      if (known != periods.end()) known->rules.push_back(rule);
      else periods.push_back(std::move(one));
    }
  split_ = periods.size() != periods_.size();
  periods_ = std::move(periods);
  for (Period& period : periods_) order(period.rules);
  for (const auto& [key, rules] : old.records_)
    for (const RuleIndex before : rules) {
      const std::string& name = old.name_of(before);
      for (std::size_t i = 0; i < pack_->rules.size(); ++i)
        if (pack_->rules[i].name == name) insert_sorted(records_[key], static_cast<RuleIndex>(i));
    }
  find_next();
}

void Scheduler::save(Writer& out) const {
  out(1, end_), out(2, finished_), out(3, last_tick_);
  out.columns(4, periods_, &Period::next, &Period::over, &Period::last);
  out(5, records_);
  if (not_before_ != long_ago) out(7, not_before_);
  if (!removed_.empty()) out(8, removed_);
  if (split_) out.list(6, periods_, [](Writer& of, const Period& period) { of(1, period.rules); });
}

Result<void> Scheduler::load(Reader& in) {
  in(1, end_), in(2, finished_), in(3, last_tick_), in(7, not_before_), in(8, removed_);
  std::vector<Period> split;
  in.list(6, [&](Reader& of) {
    Period& made = split.emplace_back();
    of(1, made.rules);
    const auto whole = std::find_if(periods_.begin(), periods_.end(), [&](const Period& p) {
      return !made.rules.empty() && std::all_of(made.rules.begin(), made.rules.end(), [&](RuleIndex rule) {
        return std::find(p.rules.begin(), p.rules.end(), rule) != p.rules.end();
      });
    });
    if (whole == periods_.end()) return of.fail("a period is of no rule");
    made.every = whole->every, made.settle = whole->settle;
  });
  if (!split.empty() && in.ok()) {
    for (Period& period : split) order(period.rules);
    periods_ = std::move(split), split_ = true;
  }
  std::vector<Period> periods;
  in.columns(4, periods, &Period::next, &Period::over, &Period::last);
  if (periods.size() != periods_.size()) in.fail(Error{Errc::malformed, "the snapshot's scheduler is of another pack"});
  for (std::size_t i = 0; in.ok() && i < periods.size(); ++i)
    periods_[i].next = periods[i].next, periods_[i].over = periods[i].over, periods_[i].last = periods[i].last;
  in(5, records_);
  for (const auto& [due, rules] : records_)
    if (std::any_of(rules.begin(), rules.end(),
                    [&](RuleIndex rule) { return static_cast<std::size_t>(rule) >= pack_->rules.size(); }))
      in.fail("a tick is of no rule");
  find_next();
  return in.status();
}

}  // namespace tocsin::stream
