#include "tests/oracle/alerts.h"

#include <algorithm>

namespace tocsin::oracle {

bool Alerts::holds(const stream::Persistence& persistence, const std::vector<Tick>& ticks, bool wanted) {
  std::size_t as_wanted = 0;
  for (std::size_t i = ticks.size() - std::min<std::size_t>(ticks.size(), persistence.n); i < ticks.size(); ++i)
    as_wanted += ticks[i].outcome == wanted;
  if (as_wanted < persistence.k) return false;
  if (!persistence.timed) return true;
  // The run of known ticks that were as wanted begins at least so long ago, and half of the ticks of the span are
  // known.
  stream::Time since = stream::never;
  for (const Tick& tick : ticks) {
    if (tick.outcome == !wanted) since = stream::never;
    if (tick.outcome == wanted) since = std::min(since, tick.at);
  }
  const stream::Time from = ticks.back().at - persistence.span;
  if (since > from) return false;
  std::size_t all = 0, unknown = 0;
  for (const Tick& tick : ticks) {
    all += tick.at >= from;
    unknown += tick.at >= from && !tick.outcome;
  }
  return 2 * unknown <= all;
}

bool Alerts::hopes(const stream::Persistence& fire, const std::vector<Tick>& ticks) {
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const bool counts = (fire.timed && ticks[i].at >= ticks.back().at - fire.span) || i + fire.n >= ticks.size();
    if (counts && ticks[i].outcome == true) return true;
  }
  return false;
}

void Alerts::answered(stream::Time tick, const Mask& outcomes) {
  members_.resize(std::max(members_.size(), outcomes.size()));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    Member& member = members_[i];
    const Answer outcome = outcomes[i];
    ++member.evaluated;
    member.known += outcome.has_value();
    if (!member.pending.empty() || outcome == true) {
      member.pending.push_back({tick, outcome});
      if (outcome == true && !member.first) member.first = tick;
      if (!member.on && member.first && holds(rule_.fire, member.pending, true)) {
        member.on = member.fired = true;
      } else if (member.on && outcome != true && holds(rule_.clear, member.pending, false)) {
        member.on = false;
        member.first.reset();
      }
      if (!member.on && !hopes(rule_.fire, member.pending)) {
        member.pending.clear();
        member.first.reset();
      }
    }
    member.answers.emplace_back(tick, member.on ? Answer{true} : !outcome ? outcome : Answer{false});
  }
}

bool Alerts::open(std::size_t member) const { return member < members_.size() && members_[member].first; }

Answer Alerts::now(std::size_t member, stream::Time tick) const {
  if (member >= members_.size()) return std::nullopt;
  const auto& answers = members_[member].answers;
  for (auto answer = answers.rbegin(); answer != answers.rend(); ++answer)
    if (answer->first <= tick) return answer->second;
  return std::nullopt;
}

Answer Alerts::ever(std::size_t member) const {
  if (member >= members_.size() || members_[member].evaluated == 0) return std::nullopt;
  if (members_[member].fired) return true;
  return 10 * members_[member].known >= 9 * members_[member].evaluated ? Answer{false} : Answer{};
}

}  // namespace tocsin::oracle
