#include "stream/rules/rule_run.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <string_view>
#include <utility>

namespace tocsin::stream {

namespace {

// Of enumerations, operator== of vectors compares one by one.
bool equal(std::span<const Truth> a, std::span<const Truth> b) noexcept {
  static_assert(sizeof(Truth) == 1);
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

bool timely(const Rule& rule) {
  return std::any_of(rule.every.begin(), rule.every.end(),
                     [](const Trigger& trigger) { return trigger.kind != Trigger::Kind::end; });
}

}  // namespace

RuleRun::RuleRun(const Rule& rule) : rule_(&rule) {
  if (!rule.state.empty()) seldom().state.resize(rule.state.size());
}

const RuleRun::Seldom& RuleRun::seldom() const noexcept {
  static const Seldom none;
  return seldom_ ? *seldom_ : none;
}

void RuleRun::keep_answers(Time tick) {
  auto& earlier = seldom_->earlier_answers;
  const auto answers = answers_now();
  if (last_tick_ != long_ago) earlier.emplace_back(last_tick_, std::vector(answers.begin(), answers.end()));
  while (earlier.size() > 1 && earlier[1].first <= tick - seldom_->answer_memory) earlier.erase(earlier.begin());
}

void RuleRun::count(std::span<const Truth> outcomes, std::span<const std::uint8_t> existing) {
  if (repeats_ > 0) counts_.add(this->outcomes(), repeats_);
  repeats_ = 1;
  outcomes_.assign(outcomes);
  std::size_t known_now = 0, yes = 0, members = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::uint8_t known = outcomes[i] != Truth::unknown ? 1 : 0, member = existing[i];
    members += member;
    known_now += known & member;
    yes += (outcomes[i] == Truth::yes ? 1 : 0) & member;
  }
  known_now_ = static_cast<std::uint32_t>(known_now), members_now_ = static_cast<std::uint32_t>(members);
  yes_now_ = yes != 0;
  known_sum_ += known_now;
  evaluated_sum_ += members;
}

bool RuleRun::record(Time tick, std::span<const Truth> outcomes, const Topology& topology) {
  const auto version = static_cast<std::uint32_t>(topology.version());
  const bool same = recorded_at_ == version && equal(outcomes, this->outcomes());
  if (same && quiet_) return repeat(tick), false;
  begin(tick);
  const auto existing = topology.existing(rule_->per);
  const std::vector<Truth> before = seldom_ && !seldom_->answers.empty()
                                        ? std::exchange(seldom_->answers, {})
                                        : std::vector<Truth>(outcomes_.all().begin(), outcomes_.all().end());
  if (same) count_again();
  else count(outcomes, existing);
  recorded_at_ = version;
  quiet_ = !yes_now_ && lives_.empty();
  if (quiet_) {
    if (!equal(outcomes, before)) unchanged_since_ = tick;
    return false;
  }
  answered_yes_ |= yes_now_;
  Seldom& seldom = this->seldom();
  std::vector<Truth>& answers = seldom.answers;
  answers.assign(outcomes.begin(), outcomes.end());

  if (yes_now_) {
    const std::string_view bytes{reinterpret_cast<const char*>(outcomes.data()), outcomes.size()};
    constexpr auto yes = static_cast<char>(Truth::yes);  // few say it
    for (std::size_t slot = bytes.find(yes); slot != bytes.npos; slot = bytes.find(yes, slot + 1))
      if (existing[slot]) lives_[static_cast<Slot>(slot)];
  }

  for (auto it = lives_.begin(); it != lives_.end();) {
    auto& [slot, life] = *it;
    const Truth outcome = slot < outcomes.size() ? outcomes[slot] : Truth::unknown;
    life.streak.add(tick, outcome, rule_->fire, rule_->clear);
    if (outcome != Truth::unknown) life.last_known = tick;
    if (outcome == Truth::yes && life.first == never) life.first = tick;
    if (!life.on && life.first != never && life.streak.holds(rule_->fire, Truth::yes)) {
      life.on = true;
      fired_ = true;
      if (timely(*rule_)) seldom.began = std::min(seldom.began, life.first);
      mark_ever(slot);
    } else if (life.on && outcome != Truth::yes && life.streak.holds(rule_->clear, Truth::no)) {
      life.on = false;
      if (!life.published) life.begin_anew();  // else once its resolve is published
    }
    answers[slot] = life.on ? Truth::yes : outcome == Truth::unknown ? Truth::unknown : Truth::no;
    const bool quiet = !life.on && !life.published && life.withheld == never &&
                       !life.streak.hopes(rule_->fire);  // the lifecycle counts withheld members
    it = quiet ? lives_.erase(it) : std::next(it);
  }
  if (!equal(answers, before)) unchanged_since_ = tick;
  return !lives_.empty();
}

std::span<const Truth> RuleRun::answers(Time tick) const {
  if (tick >= last_tick_) return last_tick_ == long_ago ? std::span<const Truth>{} : answers_now();
  const auto& earlier = seldom().earlier_answers;
  for (auto it = earlier.rbegin(); it != earlier.rend(); ++it)
    if (it->first <= tick) return it->second;
  return {};
}

Truth RuleRun::ever(Slot slot) const {
  if (const auto& ever = seldom().ever; slot < ever.size() && ever[slot]) return Truth::yes;
  if (slot >= outcomes_.size()) return Truth::unknown;
  const auto counts = counts_.of(slot);
  const std::uint64_t evaluated = std::uint64_t{counts.evaluated} + repeats_;
  const std::uint64_t known = std::uint64_t{counts.known} + (outcomes_[slot] != Truth::unknown ? repeats_ : 0);
  return known * 10 >= evaluated * 9 && evaluated > 0 ? Truth::no : Truth::unknown;
}

bool RuleRun::on() const noexcept {
  return std::any_of(lives_.begin(), lives_.end(), [](const auto& entry) { return entry.second.on; });
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
  auto& column = seldom().state[field];
  if (column.size() < members) column.resize(members, rule_->state[field].initial);
  return column;
}

void RuleRun::mark_ever(Slot slot) {
  auto& ever = seldom().ever;
  ever.resize(std::max<std::size_t>(ever.size(), slot + std::size_t{1}));
  ever[slot] = 1;
}

void RuleRun::adopt(Slot slot, Life life) {
  quiet_ = false;
  if (life.on) {
    fired_ = true;
    if (timely(*rule_)) seldom().began = std::min(seldom().began, life.first);
    mark_ever(slot);
  }
  lives_[slot] = std::move(life);
}

void RuleRun::adopt(RuleRun&& old) {
  const auto &before = old.rule_->state, &after = rule_->state;
  std::vector<std::vector<double>> columns(after.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    for (std::size_t f = 0; f < after.size(); ++f)
      if (before[i].name == after[f].name) columns[f] = std::move(old.seldom().state[i]);
  const Rule* rule = rule_;
  const Duration memory = std::as_const(*this).seldom().answer_memory;
  *this = std::move(old);
  rule_ = rule, seldom().answer_memory = memory;
  unchanged_since_ = last_tick_;  // earlier answers may not have been stored
  seldom().state = std::move(columns);
  seldom().held.clear();
  drop_empty();
}

void RuleRun::fields(auto& self, auto& archive) {
  auto& seldom = self.seldom();
  archive(4, seldom.earlier_answers), archive(7, seldom.ever);
  archive(9, seldom.held), archive(10, self.ticks_), archive(11, self.known_sum_), archive(12, self.evaluated_sum_);
  archive(13, self.last_tick_), archive(14, self.last_interval_), archive(15, self.fired_),
      archive(16, self.answered_yes_);
  archive(17, seldom.quarantined_until), archive(18, seldom.failures), archive(19, seldom.began);
  archive(20, self.repeats_), archive(21, seldom.failure);
}

constexpr Tag state_tag = 8;  // by name: the next pack's rule can have other fields

void RuleRun::save(Writer& out) const {
  out(2, outcomes());
  fields(*this, out);
  lives_.save_as(1, out);
  if (!seldom().answers.empty()) out(3, seldom().answers);
  out(23, counts_);
  out.list(state_tag, std::views::iota(std::size_t{0}, rule_->state.size()),
           [&](Writer& field, std::size_t i) { field(1, rule_->state[i].name), field(2, seldom().state[i]); });
  if (!seldom().holds.empty()) out(22, seldom().holds);
}

void RuleRun::load(Reader& in) {
  outcomes_.assign(in.get<std::vector<Truth>>(2));
  fields(*this, in);
  lives_.load_as(1, in);
  if (auto answers = in.get<std::vector<Truth>>(3); !equal(answers, outcomes())) seldom().answers = std::move(answers);
  counts_.set(in.get<std::vector<std::uint32_t>>(5), in.get<std::vector<std::uint32_t>>(6));
  in(23, counts_);
  unchanged_since_ = last_tick_;
  in(22, seldom().holds);
  in.list(state_tag, [&](Reader& field) {
    const auto name = field.get<std::string>(1);
    for (std::size_t i = 0; i < rule_->state.size(); ++i)
      if (rule_->state[i].name == name) field(2, seldom().state[i]);
  });
  drop_empty();
}

}  // namespace tocsin::stream
