#include "stream/rules/evaluation_counts.h"

#include <algorithm>

namespace tocsin::stream {

void EvaluationCounts::store_each() {
  if (each_) return;
  each_ = std::make_unique<std::vector<Counts>>(members_, others_);
  if (members_ > 0) each_->front() = first_;
}

void EvaluationCounts::add(std::span<const Truth> outcomes, std::uint32_t times) {
  if (outcomes.empty()) return;
  const auto known = [](Truth outcome) { return outcome != Truth::unknown; };
  const auto others = outcomes.subspan(1);
  const bool alike =
      std::ranges::adjacent_find(others, [&](Truth a, Truth b) { return known(a) != known(b); }) == others.end();
  if (!alike || (outcomes.size() > members_ && members_ > 1)) store_each();
  members_ = std::max(members_, static_cast<std::uint32_t>(outcomes.size()));
  const auto count = [&](Counts& counts, Truth outcome) {
    counts.evaluated += times;
    if (known(outcome)) counts.known += times;
  };
  if (!each_) {
    count(first_, outcomes.front());
    if (!others.empty()) count(others_, others.front());
    return;
  }
  each_->resize(members_);
  for (std::size_t slot = 0; slot < outcomes.size(); ++slot) count((*each_)[slot], outcomes[slot]);
}

void EvaluationCounts::save(Writer& out) const {
  if (each_) return out(1, *each_);
  out(2, members_);
  out(3, first_.evaluated), out(4, first_.known), out(5, others_.evaluated), out(6, others_.known);
}

void EvaluationCounts::load(Reader& in) {
  *this = {};
  in(2, members_);
  in(3, first_.evaluated), in(4, first_.known), in(5, others_.evaluated), in(6, others_.known);
  auto each = in.get<std::vector<Counts>>(1);
  if (!each.empty()) members_ = static_cast<std::uint32_t>(each.size());
  if (members_ > Topology::most_slots) *this = {}, in.fail("a rule was evaluated for more members than there can be");
  else if (!each.empty()) each_ = std::make_unique<std::vector<Counts>>(std::move(each));
}

void EvaluationCounts::set(std::span<const std::uint32_t> evaluated, std::span<const std::uint32_t> known) {
  std::vector<Counts> each(std::min(evaluated.size(), known.size()));
  for (std::size_t slot = 0; slot < each.size(); ++slot) each[slot] = {evaluated[slot], known[slot]};
  *this = {};
  members_ = static_cast<std::uint32_t>(each.size());
  if (each.empty()) return;
  first_ = each.front();
  if (each.size() > 1) others_ = each[1];
  const auto others = std::span{each}.subspan(1);
  if (std::ranges::any_of(others, [&](const Counts& one) { return one != others_; }))
    each_ = std::make_unique<std::vector<Counts>>(std::move(each));
}

}  // namespace tocsin::stream
