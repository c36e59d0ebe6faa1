#include "stream/windows/events.h"

#include <algorithm>

namespace tocsin::stream {
namespace {

std::uint32_t number_of(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::uint32_t>(found - names.begin());
  names.emplace_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

void put(Writer& out, const Happening& event) {
  out.put(event.at), out.put(event.arrival), out.put(event.slot), out.put(event.sequence), out.put(event.order);
  out.put(static_cast<std::uint64_t>(event.fields.size()));
  for (const auto& [name, value] : event.fields) out.put(name), out.put(value);
}

Happening get_event(Reader& in) {
  Happening event;
  event.at = in.get_time(), event.arrival = in.get_time(), event.slot = in.get<Slot>();
  event.sequence = in.get<std::uint64_t>(), event.order = in.get<std::uint64_t>();
  const std::size_t fields = in.get_count();
  for (std::size_t i = 0; i < fields && in.ok(); ++i) {
    const auto name = in.get<std::uint32_t>();
    event.fields.emplace_back(name, in.get<double>());
  }
  return event;
}

}  // namespace

EventFilters::EventFilters(const std::vector<EventFilter>& filters, std::vector<std::string>& names, const SymbolOf& symbol)
    : symbol_(&symbol) {
  for (const EventFilter& filter : filters) {
    Filter made{number_of(names, filter.field), filter.keep, {}, {}, {}};
    for (const Scalar& value : filter.values) {
      if (const auto* text = std::get_if<std::string>(&value)) made.texts.push_back(*text);
      else made.numbers.push_back(std::get<double>(value));
    }
    filters_.push_back(std::move(made));
  }
}

bool EventFilters::pass(const Happening& event) const {
  for (const Filter& filter : filters_) {
    // A text that an event says has been said by now; what is known stays.
    for (std::size_t i = filter.texts.size(); i-- > 0 && *symbol_;) {
      const double known = (*symbol_)(filter.texts[i]);
      if (is_absent(known)) continue;
      filter.symbols.push_back(known);
      filter.texts.erase(filter.texts.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const double value = event.field(filter.field);
    const auto in = [value](const std::vector<double>& list) { return std::find(list.begin(), list.end(), value) != list.end(); };
    if ((in(filter.numbers) || in(filter.symbols)) != filter.keep) return false;
  }
  return true;
}

EventView Events::make_view(const WindowSpec& spec) {
  return EventView{spec, EventFilters{spec.filters, names_, *symbol_}, {}, 0, long_ago};
}

void Events::add_view(const WindowSpec& spec) { views_.push_back(make_view(spec)); }

EventView* Events::find(const WindowSpec& spec) {
  for (EventView& view : views_)
    if (same_values(view.spec, spec)) return &view;
  return nullptr;
}

std::uint32_t Events::field(std::string_view name) { return number_of(names_, name); }

const Happening* Events::number(std::uint64_t n) const noexcept {
  return n < base_ || n >= base_ + log_.size() ? nullptr : &log_[static_cast<std::size_t>(n - base_)];
}

bool Events::add(Slot slot, Time time, std::span<const std::pair<std::string_view, double>> fields, Time arrival, std::uint64_t sequence,
                 Time clock) {
  constexpr std::size_t most_names = 1024;  // of fields: further ones are not kept
  const bool late = clock != long_ago && clock >= time + lateness_;
  Happening event{late ? clock : time, arrival, slot, sequence, 0, {}};
  for (const auto& [name, value] : fields)
    if (names_.size() < most_names || std::find(names_.begin(), names_.end(), name) != names_.end())
      event.fields.emplace_back(field(name), value);
  waiting_.push(std::move(event));
  return !late;
}

const Happening& Events::apply_first() {
  log_.push_back(waiting_.pop());
  return log_.back();
}

void Events::advance(EventView& view, TimeRange to) {
  if (to.from < view.from) {  // back to the attempt's end, from a later record's tick: from what is retained
    view.members.clear();
    view.cursor = base_;
    view.from = long_ago;
  }
  for (view.cursor = std::max(view.cursor, base_); view.cursor < base_ + log_.size(); ++view.cursor) {
    const Happening& event = *number(view.cursor);
    if (event.at > to.to) break;
    if (!view.filters.pass(event)) continue;
    if (view.members.size() <= event.slot) view.members.resize(event.slot + std::size_t{1});
    MemberEvents& member = view.members[event.slot];
    member.numbers.push_back(view.cursor);
    ++member.count;
    if (view.spec.span != WindowSpec::Span::attempt) continue;
    if (member.first.empty()) member.first.push_back(event);
    member.last.assign(1, event);
    member.last_arrival = std::max(member.last_arrival, event.arrival);
  }
  if (to.from <= view.from) return;
  view.from = to.from;
  for (MemberEvents& member : view.members)
    while (!member.numbers.empty()) {
      const Happening* oldest = number(member.numbers.front());
      if (oldest != nullptr && oldest->at > view.from) break;
      member.numbers.pop_front();
      --member.count;
    }
}

void Events::trim() {
  std::uint64_t needed = base_ + log_.size();
  for (const EventView& view : views_) needed = std::min(needed, view.cursor);
  const std::size_t limit = attempt_ ? most_of_attempt : 0;
  while (!log_.empty() && base_ < needed) {
    const bool in_window = log_.front().at > log_.back().at - keep_ && keep_ > Duration{0};
    const bool of_attempt = log_.size() <= limit;
    if ((in_window || of_attempt) && log_.size() <= most) break;
    log_.pop_front();
    ++base_;
  }
  for (EventView& view : views_)
    if (view.spec.span == WindowSpec::Span::attempt)
      for (MemberEvents& member : view.members)
        while (!member.numbers.empty() && member.numbers.front() < base_) member.numbers.pop_front();
}

double Events::reduce(const EventView& view, Slot slot, Op op, std::uint32_t field) const {
  static const MemberEvents none;
  const MemberEvents& member = slot < view.members.size() ? view.members[slot] : none;
  if (op == Op::w_count) return static_cast<double>(member.count);
  if (member.count == 0) return op == Op::w_repeats ? 0 : absent;
  const bool attempt = view.spec.span == WindowSpec::Span::attempt;
  if (op == Op::w_first || op == Op::w_last) {
    if (attempt) return (op == Op::w_first ? member.first : member.last).front().field(field);
    const Happening* event = number(op == Op::w_first ? member.numbers.front() : member.numbers.back());
    return event != nullptr ? event->field(field) : absent;
  }
  if (op != Op::w_repeats) return absent;
  std::vector<double> values;
  for (const std::uint64_t n : member.numbers)
    if (const Happening* event = number(n))
      if (const double value = event->field(field); is_number(value)) values.push_back(value);
  std::sort(values.begin(), values.end());
  std::size_t repeats = 0;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t j = i;
    while (j < values.size() && values[j] == values[i]) ++j;
    repeats = std::max(repeats, j - i);
    i = j;
  }
  return static_cast<double>(repeats);
}

void Events::last_arrivals(const EventView& view, Time from, Time now, std::vector<Time>& last) const {
  const auto see = [&](const Happening& event) {
    if (event.slot < last.size() && event.at > from && event.arrival < now && view.filters.pass(event))
      last[event.slot] = std::max(last[event.slot], event.arrival);
  };
  const bool attempt = view.spec.span == WindowSpec::Span::attempt;
  for (Slot slot = 0; slot < std::min(last.size(), view.members.size()); ++slot) {
    const MemberEvents& member = view.members[slot];
    if (attempt && member.last_arrival < now) last[slot] = std::max(last[slot], member.last_arrival);
    for (const std::uint64_t n : member.numbers) {
      const Happening* event = attempt ? nullptr : number(n);
      if (event != nullptr && event->at > from && event->arrival < now) last[slot] = std::max(last[slot], event->arrival);
    }
  }
  for (std::uint64_t n = std::max(view.cursor, base_); n < base_ + log_.size(); ++n) see(*number(n));
  waiting_.each(see);
}

void Events::save_view(Writer& out, const EventView& view) const {
  out.put(view.cursor), out.put(view.from);
  out.put(static_cast<std::uint64_t>(view.members.size()));
  for (const MemberEvents& member : view.members) {
    out.put_all(std::vector<std::uint64_t>(member.numbers.begin(), member.numbers.end()));
    out.put(member.count), out.put(member.last_arrival);
    for (const auto* list : {&member.first, &member.last}) {
      out.put(!list->empty());
      if (!list->empty()) put(out, list->front());
    }
  }
}

void Events::load_view(Reader& in, EventView& view) {
  view.cursor = in.get<std::uint64_t>(), view.from = in.get_time();
  view.members.assign(in.get_count(), {});
  for (MemberEvents& member : view.members) {
    const auto numbers = in.get_all<std::uint64_t>();
    member.numbers.assign(numbers.begin(), numbers.end());
    member.count = in.get<std::uint64_t>(), member.last_arrival = in.get_time();
    for (auto* list : {&member.first, &member.last})
      if (in.get<bool>()) list->assign(1, get_event(in));
    // A torn snapshot must not make an attempt's count without its first and last.
    if (view.spec.span == WindowSpec::Span::attempt && (member.first.empty() || member.last.empty())) member = {};
    if (view.spec.span != WindowSpec::Span::attempt) member.count = member.numbers.size();
  }
}

void Events::save(Writer& out) const {
  out.put(static_cast<std::uint64_t>(names_.size()));
  for (const std::string& name : names_) out.put(name);
  out.put(static_cast<std::uint64_t>(waiting_.size()));
  for (const Happening& event : waiting_.items()) put(out, event);
  out.put(waiting_.next_order());
  out.put(base_);
  out.put(static_cast<std::uint64_t>(log_.size()));
  for (const Happening& event : log_) put(out, event);
  out.put(static_cast<std::uint64_t>(views_.size()));
  for (const EventView& view : views_) save_view(out, view);
}

void Events::load(Reader& in) {
  // The names of fields that the windows' filters know came first, in the same order: the pack is the same.
  std::vector<std::string> names(in.get_count());
  for (std::string& name : names) name = in.get_text();
  if (names.size() >= names_.size() && std::equal(names_.begin(), names_.end(), names.begin())) names_ = std::move(names);
  std::vector<Happening> items(in.get_count());
  for (Happening& event : items) event = get_event(in);
  waiting_.restore(std::move(items), in.get<std::uint64_t>());
  base_ = in.get<std::uint64_t>();
  log_.resize(in.get_count());
  for (Happening& event : log_) event = get_event(in);
  const std::size_t views = in.get_count();
  for (std::size_t i = 0; i < views && i < views_.size() && in.ok(); ++i) load_view(in, views_[i]);
}

void Events::take_over(Events& old) {
  // Fields are numbered afresh: this pack's filters may name others.
  std::vector<std::uint32_t> renamed;
  for (const std::string& name : old.names_) renamed.push_back(field(name));
  const auto rename = [&](Happening& event) {
    for (auto& [name, value] : event.fields) name = name < renamed.size() ? renamed[name] : 0;
  };
  auto items = old.waiting_.items();
  for (Happening& event : items) rename(event);
  waiting_.restore(std::move(items), old.waiting_.next_order());
  log_ = std::move(old.log_);
  for (Happening& event : log_) rename(event);
  base_ = old.base_;
  for (EventView& view : views_) {
    EventView* same = old.find(view.spec);
    if (same == nullptr) {
      view.cursor = base_ + log_.size();  // a new window sees what is applied from now on
      continue;
    }
    view.members = std::move(same->members);
    for (MemberEvents& member : view.members)
      for (auto* list : {&member.first, &member.last})
        for (Happening& event : *list) rename(event);
    view.cursor = same->cursor;
    view.from = same->from;
  }
}

std::size_t Events::retained_bytes() const noexcept { return (log_.size() + waiting_.size()) * (sizeof(Happening) + 32); }

}  // namespace tocsin::stream
