#include "stream/windows/earlier.h"

#include <algorithm>

#include "stream/values/digest.h"
#include "stream/windows/windows.h"

namespace tocsin::stream {

std::uint64_t EarlierAttempts::key(const SignalDefinition& signal, const WindowSpec& window) {
  Digest digest;
  const auto text = [&](const std::string& part) {
    digest.add(static_cast<std::uint64_t>(part.size())), digest.add(part);
  };
  const auto number = [&](auto value) { digest.add(static_cast<std::uint64_t>(value)); };
  text(signal.name), text(signal.unit), number(signal.kind), number(signal.owner), number(signal.points),
      number(signal.row.count());
  for (const EventFilter& filter : window.filters) {
    text(filter.field), number(filter.keep), number(filter.values.size());
    for (const Scalar& value : filter.values) {
      number(value.index());
      if (const auto* one = std::get_if<std::string>(&value)) text(*one);
      else digest.add(&std::get<double>(value), sizeof(double));
    }
  }
  return digest.value();
}

std::string EarlierAttempts::name(const Topology& topology, Level level, Slot slot) {
  if (level == Level::rank && slot == reserved_slot) return "job";
  const MemberKey key = topology.key(level, slot);
  switch (level) {
    case Level::rank: return std::to_string(key.rank);
    case Level::node: return std::string{key.node};
    case Level::gpu: return std::string{key.node} + "/" + std::string{key.gpu};
    default: return {};
  }
}

Slot EarlierAttempts::Window::slot(const std::string& member) {
  if (members.size() >= most_members && !members.contains(member)) return no_slot;
  const auto [found, fresh] = members.try_emplace(member, static_cast<Slot>(members.size()));
  if (fresh) covered.push_back(1);
  return found->second;
}

void EarlierAttempts::Window::save(Writer& out) const {
  out(1, demand), out(2, counter), out(3, values), out(4, members), out(5, covered);
  out.list(6, events, [](Writer& of, const MemberEvents& one) { MemberEvents::fields(one, of); });
}

void EarlierAttempts::Window::load(Reader& in) {
  in(1, demand), in(2, counter);
  values = Accumulators{demand, counter};
  in(3, values), in(4, members), in(5, covered);
  events.clear();
  in.list(6, [&](Reader& of) { MemberEvents::fields(events.emplace_back(), of); });
  covered.resize(members.size(), 0);
  if (std::ranges::any_of(members, [&](const auto& one) { return one.second >= members.size(); }))
    in.fail("a member is of no place");
}

const EarlierAttempts::Window* EarlierAttempts::find(std::uint64_t key) const noexcept {
  const auto found = windows_.find(key);
  return found == windows_.end() ? nullptr : &found->second;
}

EarlierAttempts::Window& EarlierAttempts::open(std::uint64_t key, const Demand& demand, bool counter) {
  Window& window = windows_[key];
  if (window.members.empty() || !demand.goes_on_from(window.demand)) {
    window = {};
    window.demand = demand, window.counter = counter;
    window.demand.reductions.clear();
    window.values = Accumulators{window.demand, counter};
  }
  return window;
}

void EarlierAttempts::keep(std::span<const std::uint64_t> keys) {
  std::erase_if(windows_, [&](const auto& one) { return std::ranges::find(keys, one.first) == keys.end(); });
}

void EarlierAttempts::save(Writer& out) const {
  out(1, texts), out(3, count_);
  out.list(2, windows_, [](Writer& of, const auto& one) { of(1, one.first), of(2, one.second); });
}

void EarlierAttempts::load(Reader& in) {
  in(1, texts), in(3, count_);
  windows_.clear();
  in.list(2, [&](Reader& of) {
    const auto key = of.get<std::uint64_t>(1);
    of(2, windows_[key]);
  });
}

std::vector<const WindowSpec*> EarlierViews::of(SignalId signal) const {
  std::vector<const WindowSpec*> windows;
  for (const View& view : views_)
    if (view.spec.signal == signal) windows.push_back(&view.spec);
  return windows;
}

std::vector<std::uint64_t> EarlierViews::keys() const {
  std::vector<std::uint64_t> keys;
  for (const View& view : views_) keys.push_back(view.key);
  return keys;
}

std::vector<double> EarlierViews::column(const View& view, const Node& reduction, const WindowSpec& window,
                                         const SignalDefinition& signal, const Topology& topology) const {
  std::vector<double> out(topology.size(signal.owner), absent);
  const auto reserved = [&](Slot slot) { return signal.owner == Level::rank && slot == reserved_slot; };
  if (earlier_ == nullptr || earlier_->count() < before_) return out;
  if (before_ == 0) {
    for (Slot slot = 0; slot < out.size() && reduction.op == Op::w_count; ++slot)
      if (!reserved(slot) && topology.exists(signal.owner, slot)) out[slot] = 0;
    return out;
  }
  const EarlierAttempts::Window* known = earlier_->find(view.key);
  if (known == nullptr) return out;
  SeriesScratch scratch;
  const bool event = signal.kind == SignalKind::event;
  RowReduction of;
  of.op = reduction.op, of.arguments = {reduction.attributes.number, absent}, of.window = &window,
  of.kind = signal.kind;
  const std::uint64_t least = !event && of.needs_cover() ? least_of(window) : 1;
  const auto text = [&](double number) {
    return number >= 0 && number < static_cast<double>(texts_.size()) ? texts_[static_cast<std::size_t>(number)]
                                                                      : absent;
  };
  for (Slot slot = 0; slot < out.size(); ++slot) {
    if (!reserved(slot) && !topology.exists(signal.owner, slot)) continue;
    const auto member = known->members.find(EarlierAttempts::name(topology, signal.owner, slot));
    if (member == known->members.end()) continue;
    const Slot at = member->second;
    const std::uint64_t count =
        event ? (at < known->events.size() ? known->events[at].count : 0) : known->values.count(at);
    if (reduction.op == Op::w_count) {
      out[slot] = count > 0 ? static_cast<double>(count) : known->covered[at] ? 0 : absent;
      continue;
    }
    if (count < least || (!event && !of.enough(count))) continue;
    if (!event) {
      const double value = known->values.reduce(reduction.op, at, of.arguments, scratch);
      out[slot] = signal.textual() ? text(value) : value;
      continue;
    }
    const auto& fields = reduction.op == Op::w_first ? known->events[at].first : known->events[at].last;
    const auto field = std::ranges::find(fields, reduction.attributes.field, [](const auto& one) { return one.first; });
    if (field == fields.end()) continue;
    const bool textual = std::ranges::any_of(
        signal.fields, [&](const auto& one) { return one.name == field->first && one.unit == "text"; });
    out[slot] = textual ? text(field->second) : field->second;
  }
  return out;
}

void EarlierViews::reduce(const Node& reduction, const WindowSpec& window, const SignalDefinition& signal,
                          const Topology& topology, std::span<double> out) {
  std::ranges::fill(out, absent);
  const auto view = std::ranges::find_if(views_, [&](const View& one) { return same_values(one.spec, window); });
  if (view == views_.end()) return;
  if (view->changes != changes_ || view->topology != topology.version()) view->columns.clear();
  view->changes = changes_, view->topology = topology.version();
  const Reduction asked{reduction.op, reduction.attributes.number};
  auto column = std::ranges::find_if(view->columns, [&](const Column& one) {
    return one.reduction == asked && one.least == window.least && one.field == reduction.attributes.field;
  });
  if (column == view->columns.end()) {
    constexpr std::size_t most = 64;  // a scripted rule can ask for any number of quantiles
    if (view->columns.size() >= most) view->columns.clear();
    view->columns.push_back(
        {asked, window.least, reduction.attributes.field, this->column(*view, reduction, window, signal, topology)});
    column = std::prev(view->columns.end());
  }
  std::copy_n(column->values.begin(), std::min(column->values.size(), out.size()), out.begin());
}

}  // namespace tocsin::stream
