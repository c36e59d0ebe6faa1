#include "stream/rules/rule_run.h"

#include <algorithm>

namespace tocsin::stream {

RuleRun::RuleRun(const Rule& rule) : rule_(&rule), state_(rule.state.size()) {}

bool RuleRun::record(Time tick, std::span<const Truth> outcomes, const Topology& topology) {
  if (answer_memory_ > Duration{}) {
    if (last_tick_ != long_ago) earlier_answers_.emplace_back(last_tick_, answers_);
    while (earlier_answers_.size() > 1 && earlier_answers_[1].first <= tick - answer_memory_) earlier_answers_.pop_front();
  }
  if (last_tick_ != long_ago) last_interval_ = tick - last_tick_;
  last_tick_ = tick;
  ++ticks_;

  outcomes_.assign(outcomes.begin(), outcomes.end());
  answers_ = outcomes_;
  evaluated_.resize(outcomes_.size());
  known_.resize(outcomes_.size());
  ever_.resize(outcomes_.size());
  const auto existing = topology.existing(rule_->per);
  std::size_t known_now = 0, yes = 0;
  std::size_t members = 0;
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const std::uint8_t known = outcomes_[i] != Truth::unknown ? 1 : 0, member = existing[i];
    ++evaluated_[i];
    known_[i] += known;
    members += member;
    known_now += known & member;
    yes += outcomes_[i] == Truth::yes ? 1 : 0;
  }
  const bool any_yes = yes != 0;
  known_sum_ += known_now;
  evaluated_sum_ += members;
  if (!any_yes && lives_.empty()) return false;
  said_yes_ |= any_yes;

  if (any_yes)
    for (Slot slot = 0; slot < outcomes_.size(); ++slot)
      if (outcomes_[slot] == Truth::yes && topology.exists(rule_->per, slot) && !(rule_->per == Level::rank && slot == reserved_slot))
        lives_.try_emplace(slot);

  for (auto it = lives_.begin(); it != lives_.end();) {
    auto& [slot, life] = *it;
    const Truth outcome = slot < outcomes_.size() ? outcomes_[slot] : Truth::unknown;
    life.streak.add(tick, outcome, rule_->fire, rule_->clear);
    if (outcome != Truth::unknown) life.last_known = tick;
    if (outcome == Truth::yes && life.first == never) life.first = tick;
    if (!life.on && life.first != never && life.streak.holds(rule_->fire, Truth::yes)) {
      life.on = true;
      fired_ = true;
      ever_[slot] = 1;
    } else if (life.on && outcome != Truth::yes && life.streak.holds(rule_->clear, Truth::no)) {
      life.on = false;
    }
    answers_[slot] = life.on ? Truth::yes : outcome == Truth::unknown ? Truth::unknown : Truth::no;
    const bool quiet =
        !life.on && !life.published && !life.withheld && !life.streak.hopes(rule_->fire);  // the lifecycle counts who is withheld
    it = quiet ? lives_.erase(it) : std::next(it);
  }
  return !lives_.empty();
}

std::span<const Truth> RuleRun::answers(Time tick) const {
  if (tick >= last_tick_) return last_tick_ == long_ago ? std::span<const Truth>{} : std::span<const Truth>{answers_};
  for (auto it = earlier_answers_.rbegin(); it != earlier_answers_.rend(); ++it)
    if (it->first <= tick) return it->second;
  return {};
}

Truth RuleRun::ever(Slot slot) const {
  if (slot >= ever_.size()) return Truth::unknown;
  if (ever_[slot]) return Truth::yes;
  return std::uint64_t{known_[slot]} * 10 >= std::uint64_t{evaluated_[slot]} * 9 && evaluated_[slot] > 0 ? Truth::no : Truth::unknown;
}

double RuleRun::known_share() const {
  return evaluated_sum_ == 0 ? 0 : static_cast<double>(known_sum_) / static_cast<double>(evaluated_sum_);
}

Duration RuleRun::patience() const {
  Duration longest = std::chrono::minutes{10};
  bool periodic = false;
  for (const auto& trigger : rule_->every)
    if (trigger.kind == Trigger::Kind::period) {
      periodic = true;
      longest = std::max(longest, 3 * trigger.period);
    }
  return periodic ? longest : std::max(longest, 3 * last_interval_);
}

std::vector<double>& RuleRun::state(std::size_t field, std::size_t members) {
  auto& column = state_[field];
  if (column.size() < members) column.resize(members, rule_->state[field].initial);
  return column;
}

void RuleRun::save(Writer& out) const {
  out.put(static_cast<std::uint64_t>(lives_.size()));
  for (const auto& [slot, life] : lives_) {
    out.put(slot);
    life.streak.save(out);
    out.put(life.on), out.put(life.published), out.put(life.withheld), out.put(life.explained_by);
    out.put(life.id), out.put(life.number), out.put(life.first), out.put(life.last_known), out.put(life.shows);
  }
  out.put_all(outcomes_), out.put_all(answers_);
  out.put(static_cast<std::uint64_t>(earlier_answers_.size()));
  for (const auto& [tick, answers] : earlier_answers_) out.put(tick), out.put_all(answers);
  out.put_all(evaluated_), out.put_all(known_), out.put_all(ever_);
  out.put(static_cast<std::uint64_t>(state_.size()));
  for (std::size_t i = 0; i < state_.size(); ++i) out.put(rule_->state[i].name), out.put_all(state_[i]);
  out.put(static_cast<std::uint64_t>(held.size()));
  for (const auto& [node, values] : held) out.put(node), out.put_all(values);
  out.put(ticks_), out.put(known_sum_), out.put(evaluated_sum_), out.put(last_tick_), out.put(last_interval_);
  out.put(fired_), out.put(said_yes_);
  out.put(quarantined_until.value_or(long_ago)), out.put(failures);
}

void RuleRun::load(Reader& in) {
  lives_.clear();
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    Life& life = lives_[in.get<Slot>()];
    life.streak.load(in);
    life.on = in.get<bool>(), life.published = in.get<bool>(), life.withheld = in.get<bool>(), life.explained_by = in.get_text();
    life.id = in.get<std::uint64_t>(), life.number = in.get<std::uint32_t>();
    life.first = in.get_time(), life.last_known = in.get_time(), life.shows = in.get_text();
  }
  outcomes_ = in.get_all<Truth>(), answers_ = in.get_all<Truth>();
  earlier_answers_.clear();
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    const Time tick = in.get_time();
    earlier_answers_.emplace_back(tick, in.get_all<Truth>());
  }
  evaluated_ = in.get_all<std::uint32_t>(), known_ = in.get_all<std::uint32_t>(), ever_ = in.get_all<std::uint8_t>();
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    const std::string field = in.get_text();
    auto column = in.get_all<double>();
    for (std::size_t f = 0; f < rule_->state.size(); ++f)
      if (rule_->state[f].name == field) state_[f] = std::move(column);
  }
  held.clear();
  for (std::size_t i = in.get_count(); i > 0 && in.ok(); --i) {
    const auto node = in.get<std::uint32_t>();
    held[node] = in.get_all<double>();
  }
  ticks_ = in.get<std::uint64_t>(), known_sum_ = in.get<std::uint64_t>(), evaluated_sum_ = in.get<std::uint64_t>();
  last_tick_ = in.get_time(), last_interval_ = in.get_duration();
  fired_ = in.get<bool>(), said_yes_ = in.get<bool>();
  const Time quarantined = in.get_time();
  quarantined_until = quarantined == long_ago ? std::nullopt : std::optional{quarantined};
  failures = in.get<std::uint32_t>();
}

}  // namespace tocsin::stream
