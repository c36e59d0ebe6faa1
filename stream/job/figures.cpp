#include "stream/job/figures.h"

#include <algorithm>
#include <optional>

#include "stream/job/attempt.h"
#include "stream/windows/points.h"

namespace tocsin::stream {
namespace {

constexpr std::uint64_t enough_intervals = 3;  // to know how long a step usually takes

double quantile(std::vector<double>& values, double q) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double x) { return !is_number(x); });
  Spread spread;
  if (values.empty()) return spread;
  spread.count = values.size();
  for (const double x : values) spread.sum += x;
  spread.median = quantile(values, 0.5);
  spread.high = quantile(values, 0.9);
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  spread.least = *least, spread.greatest = *greatest;
  return spread;
}

// The mean of each member's last values; empty: nobody has any.
std::vector<double> latest_means(const History& history, const SignalTable& signals, std::string_view name,
                                 std::size_t members) {
  const auto id = signals.find(name);
  const PointsView* view = id ? history.latest_points(*id) : nullptr;
  std::vector<double> means(view == nullptr ? 0 : members, absent);
  if (view != nullptr) view->means(means);
  if (std::all_of(means.begin(), means.end(), [](double x) { return !is_number(x); })) means.clear();
  return means;
}

double of(const std::vector<double>& column, Slot slot) { return slot < column.size() ? column[slot] : absent; }

}  // namespace

// Of the rank that shows the most intervals between steps: as many as it made, each as long as they usually are, and
// the one that runs.
double Attempt::productive_seconds(Time until) const {
  const SignalTable& signals = telemetry_.signals();
  const auto id = signals.find("step_gap");
  const Accumulators* gaps = id ? telemetry_.history().since_start(*id) : nullptr;
  const PointsView* latest = id ? telemetry_.history().latest_points(*id) : nullptr;
  if (gaps == nullptr || latest == nullptr) return absent;
  const auto steps = telemetry_.history().steps();
  std::optional<Slot> best;
  for (Slot slot = 0; slot < steps.last.size(); ++slot)
    if (gaps->count(slot) >= enough_intervals && (!best || gaps->count(slot) > gaps->count(*best))) best = slot;
  if (!best) return absent;
  std::vector<double> times, values;
  if (*best < latest->counts().size()) latest->copy(*best, 0, latest->counts()[*best], times, values);
  std::erase_if(values, [](double x) { return !is_number(x); });
  const Accumulated all = *gaps->of(*best);
  const double usual = values.empty() ? all.mean : quantile(values, 0.5);
  // Intervals that are not applied yet, and the step that runs.
  const double pending = std::clamp(seconds(steps.changed[*best] - all.last_at), 0.0, seconds(signals[*id].lateness));
  const double running = std::clamp(seconds(until - steps.changed[*best]), 0.0, usual);
  return std::min(static_cast<double>(all.count) * usual, all.sum) + pending + running;
}

SubjectFigures Attempt::figures(Time clock) const {
  const SignalTable& signals = telemetry_.signals();
  SubjectFigures f;
  f.subject = subject_, f.attempt = name_;
  if (const auto user = telemetry_.labels().find("user"); user != telemetry_.labels().end()) f.user = user->second;
  f.start = start_, f.ended = ended();
  f.clock = std::max(start_, ended() ? std::min(end_, clock) : clock);
  const auto existing = telemetry_.topology().existing(Level::rank);
  f.ranks = static_cast<std::uint64_t>(std::count(existing.begin(), existing.end(), 1));
  const auto steps = telemetry_.history().steps();
  for (Slot slot = 0; slot < steps.last.size(); ++slot) {
    if (!is_number(steps.last[slot])) continue;
    f.step = is_number(f.step) ? std::max(f.step, steps.last[slot]) : steps.last[slot];
    f.step_changed = std::max(f.step_changed, steps.changed[slot]);
  }
  if (const auto id = signals.find("loss"))
    if (const Accumulators* losses = telemetry_.history().since_start(*id))
      if (const auto all = losses->of(0)) f.loss = all->last;
  f.productive = productive_seconds(f.clock);
  const std::size_t members = telemetry_.topology().size(Level::rank);
  auto step_times = latest_means(telemetry_.history(), signals, "step_time", members);
  if (step_times.empty()) step_times = latest_means(telemetry_.history(), signals, "step_gap", members);
  const auto compute_times = latest_means(telemetry_.history(), signals, "compute_time", members);
  f.step_time = spread_of(step_times), f.compute_time = spread_of(compute_times);
  if (f.ranks <= SubjectFigures::most_ranks)
    for (Slot slot = 1; slot < existing.size(); ++slot) {
      if (existing[slot] == 0) continue;
      const double step = slot < steps.last.size() ? steps.last[slot] : absent;
      f.by_rank.push_back({slot - 1, std::string{telemetry_.topology().key(Level::rank, slot).node}, step,
                           of(step_times, slot), of(compute_times, slot)});
    }
  f.firing = firing();
  f.undecided = judge_->undecided();
  return f;
}

}  // namespace tocsin::stream
