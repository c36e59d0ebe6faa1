// What an attempt that is over adds to those that its job keeps as the earlier ones.
#include <algorithm>

#include "stream/windows/earlier.h"
#include "stream/windows/history_state.h"

namespace tocsin::stream {
namespace {

using TextOf = std::function<std::optional<std::string>(double)>;

EarlierAttempts::Fields fields_of(const std::vector<Happening>& events, const SignalDefinition& signal, Events& names,
                                  const std::function<double(double)>& number) {
  EarlierAttempts::Fields fields;
  if (events.empty()) return fields;
  for (const auto& field : signal.fields) {
    const double value = events.front().field(names.field(field.name));
    if (!is_absent(value)) fields.emplace_back(field.name, field.unit == "text" ? number(value) : value);
  }
  return fields;
}

}  // namespace

void SignalHistory::add_to(EarlierAttempts& earlier, const WindowSpec& window, const Topology& topology,
                           std::span<const double> zeros, const TextOf& text) {
  const auto number = [&](double symbol) {
    const auto known = text(symbol);
    return known ? earlier.texts.intern(*known) : absent;
  };
  AttemptView* values = nullptr;
  EventView* events = nullptr;
  const auto of_rows = [&](auto& side) {
    values = find_view(side.attempts, window);
    if (values != nullptr) side.accumulate(*values, side.rows.grid().through(never));
  };
  if (events_) {
    events = find_view(events_->views(), window);
    if (events != nullptr) events_->advance(*events, {long_ago, never});
  } else if (points_ && definition_->points) {
    values = find_view(points_->attempts, window);
    if (values != nullptr) points_->advance(*values, never);
  } else if (auto* narrow = std::get_if<RowSide<float>>(&rows_)) {
    of_rows(*narrow);
  } else if (auto* wide = std::get_if<RowSide<double>>(&rows_)) {
    of_rows(*wide);
  }
  if (values == nullptr && events == nullptr) return;

  auto& kept = earlier.open(EarlierAttempts::key(*definition_, window),
                            values != nullptr ? values->accumulators->demand() : Demand{},
                            definition_->kind == SignalKind::counter);
  const std::size_t members = topology.size(definition_->owner);
  for (Slot slot = 0; slot < members; ++slot) {
    const bool reserved = definition_->owner == Level::rank && slot == reserved_slot;
    if (!reserved && !topology.exists(definition_->owner, slot)) continue;
    const bool any = values != nullptr ? values->accumulators->count(slot) > 0
                                       : slot < events->members.size() && events->members[slot].count > 0;
    if (!any && reserved) continue;
    const Slot at = kept.slot(EarlierAttempts::name(topology, definition_->owner, slot));
    if (at == no_slot) continue;
    if (!any) {
      kept.covered[at] = kept.covered[at] && slot < zeros.size() && zeros[slot] == 0;
      continue;
    }
    if (values != nullptr) {
      kept.values.append(at, *values->accumulators, slot,
                         definition_->textual() ? number : std::function<double(double)>{});
      continue;
    }
    if (kept.events.size() <= at) kept.events.resize(at + std::size_t{1});
    auto& into = kept.events[at];
    const auto& from = events->members[slot];
    if (into.count == 0) into.first = fields_of(from.first, *definition_, *events_, number);
    into.last = fields_of(from.last, *definition_, *events_, number);
    into.count += from.count;
  }
}

void History::add_to(EarlierAttempts& earlier, Time start, Time end, const SourceCoverage& coverage,
                     const TextOf& text) {
  State& s = *state_;
  earlier.counted();
  for (std::uint32_t id = 0; id < s.table.size(); ++id) {
    const auto windows = s.earlier.of(static_cast<SignalId>(id));
    if (windows.empty()) continue;
    const std::uint32_t column = s.zeros.column(s.table.all()[id], *windows.front());
    const auto zeros = s.zeros.over(column, {start, end}, coverage, s.topology);
    for (const WindowSpec* window : windows)
      s.open(static_cast<SignalId>(id))->add_to(earlier, *window, s.topology, zeros.values, text);
  }
}

void History::read_earlier(const EarlierAttempts& earlier, std::vector<double> texts, std::uint32_t before) {
  state_->earlier.read(earlier, std::move(texts), before);
}

std::vector<std::uint64_t> History::earlier_keys() const { return state_->earlier.keys(); }

}  // namespace tocsin::stream
