#include "stream/windows/history_state.h"

// What a History shows of an attempt while it runs.
namespace tocsin::stream {

const Accumulators* SignalHistory::since_start() const noexcept {
  if (!points_ || points_->attempts.empty()) return nullptr;
  return &points_->attempts.front().accumulators;
}

const PointsView* SignalHistory::latest_points() const noexcept {
  const PointsView* most = nullptr;
  if (points_)
    for (const PointsView& view : points_->windows)
      if (most == nullptr || view.spec().points > most->spec().points) most = &view;
  return most;
}

History::Steps History::steps() const noexcept {
  const State& s = *state_;
  if (!s.step || !s.signals[*s.step]) return {};
  const SignalHistory& steps = *s.signals[*s.step];
  return {steps.step_values, steps.step_changes};
}

bool History::came(SignalId signal) const noexcept {
  const SignalHistory* found = state_->find(signal);
  return found != nullptr && found->arrivals.any();
}

const Accumulators* History::since_start(SignalId signal) const {
  const SignalHistory* found = state_->open(signal);
  return found == nullptr ? nullptr : found->since_start();
}

const PointsView* History::latest_points(SignalId signal) const noexcept {
  const SignalHistory* found = state_->find(signal);
  return found == nullptr ? nullptr : found->latest_points();
}

}  // namespace tocsin::stream
