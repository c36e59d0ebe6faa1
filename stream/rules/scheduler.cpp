#include "stream/rules/scheduler.h"

#include <algorithm>
#include <tuple>

#include "stream/values/digest.h"

namespace tocsin::stream {
namespace {

constexpr Duration grid = std::chrono::seconds{1};

// The first k·every + phase after `time`.
Time first_after(Time time, Duration every, std::uint64_t hash) {
  const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, every / grid));
  const Duration phase = grid * static_cast<std::int64_t>(hash % steps);
  return row_end(time - phase + Duration{1}, every) + phase;
}

void insert_sorted(std::vector<RuleIndex>& rules, RuleIndex rule) {
  const auto at = std::lower_bound(rules.begin(), rules.end(), rule);
  if (at == rules.end() || *at != rule) rules.insert(at, rule);
}

}  // namespace

Scheduler::Scheduler(const Pack& pack, std::string_view subject, Time start) : pack_(&pack), phase_(hash_text(subject)) {
  for (std::size_t i = 0; i < pack.rules.size(); ++i) {
    const Rule& rule = pack.rules[i];
    if (!rule.judges(subject)) continue;
    const auto index = static_cast<RuleIndex>(i);
    longest_settle_ = std::max(longest_settle_, rule.settle);
    for (const Trigger& trigger : rule.every) {
      if (trigger.kind == Trigger::Kind::record) {
        const auto signal = static_cast<std::size_t>(trigger.signal);
        if (by_signal_.size() <= signal) by_signal_.resize(signal + 1);
        by_signal_[signal].push_back(index);
      }
      if (trigger.kind == Trigger::Kind::end) at_end_.push_back(index);
      if (trigger.kind != Trigger::Kind::period) continue;
      const auto same = std::find_if(periods_.begin(), periods_.end(),
                                     [&](const Period& p) { return p.every == trigger.period && p.settle == rule.settle; });
      if (same != periods_.end()) same->rules.push_back(index);
      else periods_.push_back({trigger.period, rule.settle, {index}, first_after(start, trigger.period, phase_)});
    }
  }
  find_next();
}

void Scheduler::applied(SignalId signal, Time at) {
  const auto index = static_cast<std::size_t>(signal);
  if (finished_ || index >= by_signal_.size() || by_signal_[index].empty() || last_applied_ == std::pair{signal, at}) return;
  for (const RuleIndex rule : by_signal_[index]) {
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

const Scheduler::Period* Scheduler::next_period() const noexcept {
  const Period* best = nullptr;
  for (const Period& period : periods_) {
    if (period.over) continue;
    const auto key = [](const Period& p) { return std::tuple(p.next + p.settle, p.next); };
    if (!best || key(period) < key(*best)) best = &period;
  }
  return best;
}

void Scheduler::find_next() noexcept {
  next_ = never;
  if (finished_) return;
  if (end_ != never) next_ = end_ + grace + longest_settle_;
  if (const Period* period = next_period()) next_ = std::min(next_, period->next + period->settle);
  if (!records_.empty()) next_ = std::min(next_, records_.begin()->first.first);
}

Time Scheduler::next_tick() const noexcept {
  Time tick = end_;
  std::pair<Time, Time> first{next(), never};
  if (const Period* period = next_period(); period && period->next + period->settle == first.first) tick = period->next;
  if (!records_.empty() && records_.begin()->first.first == first.first) tick = std::min(tick, records_.begin()->first.second);
  return tick;
}

Scheduler::Due Scheduler::take() {
  Due due = take_next();
  due.rows_to = due.tick;
  if (due.at_end) due.tick = std::max(end_, last_tick_);
  else if (due.last) due.tick = end_;
  if (!due.at_end) last_tick_ = std::max(last_tick_, due.tick);
  last_applied_.reset();
  find_next();
  return due;
}

Scheduler::Due Scheduler::take_next() {
  Due due;
  due.run_at = next();
  due.tick = never;
  if (const Period* period = next_period(); period && period->next + period->settle == due.run_at) due.tick = period->next;
  if (!records_.empty() && records_.begin()->first.first == due.run_at) due.tick = std::min(due.tick, records_.begin()->first.second);
  if (due.tick == never) {
    due.tick = std::max(row_end(end_, grid), last_tick_);
    due.rules = at_end_;
    due.at_end = true;
    finished_ = true;
    return due;
  }
  const Time last = end_ == never ? never : row_end(end_, grid);
  for (Period& period : periods_) {
    if (period.over || period.next != due.tick || period.next + period.settle != due.run_at) continue;
    for (const RuleIndex rule : period.rules) insert_sorted(due.rules, rule);
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
    for (const RuleIndex rule : found->second) insert_sorted(due.rules, rule);
    records_.erase(found);
  }
  return due;
}

void Scheduler::adopt(const Scheduler& old, Time from) {
  end_ = old.end_;
  finished_ = old.finished_;
  last_tick_ = old.last_tick_;
  for (Period& period : periods_) {
    period.next = first_after(from - Duration{1}, period.every, phase_);
    for (const Period& before : old.periods_)
      if (before.every == period.every && before.settle == period.settle) {
        period.next = before.next;
        period.last = before.last;
        period.over = before.over;
      }
    if (end_ != never && period.next > end_) period.next = row_end(end_, grid);
  }
  for (const auto& [key, rules] : old.records_)
    for (const RuleIndex before : rules) {
      const std::string& name = old.pack_->rules[static_cast<std::size_t>(before)].name;
      for (std::size_t i = 0; i < pack_->rules.size(); ++i)
        if (pack_->rules[i].name == name) insert_sorted(records_[key], static_cast<RuleIndex>(i));
    }
  find_next();
}

void Scheduler::save(Writer& out) const {
  out(1, end_), out(2, finished_), out(3, last_tick_);
  out.columns(4, periods_, &Period::next, &Period::over, &Period::last);
  out(5, records_);
}

Result<void> Scheduler::load(Reader& in) {
  in(1, end_), in(2, finished_), in(3, last_tick_);
  std::vector<Period> periods;
  in.columns(4, periods, &Period::next, &Period::over, &Period::last);
  if (periods.size() != periods_.size()) in.fail(Error{Errc::malformed, "the snapshot's scheduler is of another pack"});
  for (std::size_t i = 0; in.ok() && i < periods.size(); ++i)
    periods_[i].next = periods[i].next, periods_[i].over = periods[i].over, periods_[i].last = periods[i].last;
  in(5, records_);
  for (const auto& [due, rules] : records_)
    if (std::any_of(rules.begin(), rules.end(), [&](RuleIndex rule) { return static_cast<std::size_t>(rule) >= pack_->rules.size(); }))
      in.fail("a tick is of no rule");
  find_next();
  return in.status();
}

}  // namespace tocsin::stream
