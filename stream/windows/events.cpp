#include "stream/windows/events.h"

#include <algorithm>
#include <numeric>

namespace tocsin::stream {
namespace {

std::uint32_t number_of(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::uint32_t>(found - names.begin());
  names.emplace_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

// Their fields are stored in three arrays: the number of fields of each event, then the names and the values of all.
void save_events(Writer& out, Tag tag, const auto& events) {
  std::vector<std::uint32_t> counts, names;
  std::vector<double> values;
  for (const Happening& event : events) {
    counts.push_back(static_cast<std::uint32_t>(event.fields.size()));
    for (const auto& [name, value] : event.fields) names.push_back(name), values.push_back(value);
  }
  out.object(tag, [&](Writer& object) {
    object.columns(1, events, &Happening::at, &Happening::arrival, &Happening::slot, &Happening::sequence,
                   &Happening::producer, &Happening::number);
    object(2, counts), object(3, names), object(4, values);
  });
}

void load_events(Reader& in, Tag tag, auto& events) {
  in.object(tag, [&](Reader& object) {
    object.columns(1, events, &Happening::at, &Happening::arrival, &Happening::slot, &Happening::sequence,
                   &Happening::producer, &Happening::number);
    const auto counts = object.get<std::vector<std::uint32_t>>(2), names = object.get<std::vector<std::uint32_t>>(3);
    const auto values = object.get<std::vector<double>>(4);
    std::size_t field = 0, event = 0;
    const bool same = counts.size() == events.size() && names.size() == values.size();
    if (!same || std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) != names.size())
      return events.clear(), object.fail("its events do not hold together");
    if (!std::all_of(events.begin(), events.end(), [](const Happening& of) { return of.slot < Topology::most_slots; }))
      return events.clear(), object.fail("an event is of a member that cannot be");
    for (Happening& of : events)
      for (const std::size_t end = field + counts[event++]; field < end; ++field)
        of.fields.emplace_back(names[field], values[field]);
  });
}

}  // namespace

EventFilters::EventFilters(const std::vector<EventFilter>& filters, std::vector<std::string>& names,
                           const Symbols* symbols)
    : symbols_(symbols) {
  for (const EventFilter& filter : filters) {
    Filter made{number_of(names, filter.field), filter.keep, {}, {}, {}, {}, {}};
    for (const Scalar& value : filter.values) {
      if (const auto* number = std::get_if<double>(&value)) {
        made.numbers.push_back(*number);
        continue;
      }
      TextPattern pattern{std::get<std::string>(value)};
      if (const std::string* text = pattern.literal()) made.texts.push_back(*text);
      else made.patterns.push_back(std::move(pattern));
    }
    filters_.push_back(std::move(made));
  }
}

bool EventFilters::matches(const Filter& filter, double symbol) const {
  if (filter.patterns.empty() || symbols_ == nullptr || !(symbol >= 0 && symbol < Symbols::limit)) return false;
  const auto place = static_cast<std::size_t>(symbol);
  if (filter.matched.size() <= place) filter.matched.resize(place + 1);
  if (filter.matched[place] == Filter::Match::unknown) {
    const auto text = symbols_->text(symbol);
    const bool any = text && std::ranges::any_of(filter.patterns, [&](const auto& one) { return one.matches(*text); });
    filter.matched[place] = any ? Filter::Match::yes : Filter::Match::no;
  }
  return filter.matched[place] == Filter::Match::yes;
}

bool EventFilters::pass(const Happening& event) const {
  for (const Filter& filter : filters_) {
    // A text that an event contains is known by now; known texts stay.
    for (std::size_t i = filter.texts.size(); i-- > 0 && symbols_ != nullptr;) {
      const double known = symbols_->find(filter.texts[i]);
      if (is_absent(known)) continue;
      filter.symbols.push_back(known);
      filter.texts.erase(filter.texts.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const double value = event.field(filter.field);
    const auto in = [value](const std::vector<double>& list) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    if ((in(filter.numbers) || in(filter.symbols) || matches(filter, value)) != filter.keep) return false;
  }
  return true;
}

Time Events::oldest(const EventView& view) const noexcept {
  if (view.cursor != base_ + log_.size()) return long_ago;
  Time oldest = never;
  for (const MemberEvents& member : view.members) {
    if (!member.let_go.empty()) oldest = std::min(oldest, member.let_go.front().at);
    if (member.numbers.empty()) continue;
    const Happening* const first = number(member.numbers.front());
    oldest = std::min(oldest, first == nullptr ? long_ago : first->at);
  }
  return oldest;
}

EventView Events::make_view(const WindowSpec& spec) {
  return EventView{&spec, EventFilters{spec.filters, names_, symbols_}, {}, 0, long_ago};
}

void Events::add_view(const WindowSpec& spec) { views_.push_back(make_view(spec)); }

EventView* Events::find(const WindowSpec& spec) {
  for (EventView& view : views_)
    if (same_values(view.spec(), spec)) return &view;
  return nullptr;
}

std::uint32_t Events::field(std::string_view name) { return number_of(names_, name); }

const Happening* Events::number(std::uint64_t n) const noexcept {
  return n < base_ || n >= base_ + log_.size() ? nullptr : &log_[static_cast<std::size_t>(n - base_)];
}

bool Events::add(Slot slot, Time time, std::span<const std::pair<std::string_view, double>> fields, Time arrival,
                 const RecordOrder& order, Time clock) {
  constexpr std::size_t most_names = 1024;  // of fields: further ones are dropped
  const bool late = clock != long_ago && clock >= time + lateness_;
  Happening event{late ? clock : time, arrival, slot, order.number, order.producer, order.sequence, {}};
  for (const auto& [name, value] : fields)
    if (names_.size() < most_names || std::find(names_.begin(), names_.end(), name) != names_.end())
      event.fields.emplace_back(field(name), value);
  pending_.push(std::move(event));
  return !late;
}

const Happening& Events::apply_first() {
  log_.push_back(pending_.pop());
  return log_.back();
}

void Events::advance(EventView& view, TimeRange to) {
  if (to.from < view.from) {  // back to the attempt's end, from the tick of a later record: use what is retained
    for (MemberEvents& member : view.members) {
      member.numbers.clear();
      member.count = 0;
      for (const auto& gone : member.let_go) member.count += gone.count;
    }
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
    if (!view.spec().accumulated()) continue;
    if (member.first.empty()) member.first.push_back(event);
    member.last.assign(1, event);
    member.last_arrival = std::max(member.last_arrival, event.arrival);
  }
  if (to.from <= view.from) return;
  view.from = to.from;
  for (MemberEvents& member : view.members) {
    for (; !member.let_go.empty() && member.let_go.front().at <= view.from; member.let_go.pop_front())
      member.count -= member.let_go.front().count;
    while (!member.numbers.empty()) {
      const Happening* oldest = number(member.numbers.front());
      if (oldest != nullptr && oldest->at > view.from) break;
      member.numbers.pop_front();
      --member.count;
    }
  }
}

// Windows that still count the oldest event keep its time.
void Events::drop_first() {
  const Happening& event = log_.front();
  bool counted = attempt_;
  for (EventView& view : views_) {
    if (view.spec().accumulated() || event.slot >= view.members.size()) continue;
    MemberEvents& member = view.members[event.slot];
    if (member.numbers.empty() || member.numbers.front() != base_) continue;
    member.numbers.pop_front();
    if (event.at <= view.from) {
      --member.count;
      continue;
    }
    counted = true;
    if (!member.let_go.empty() && member.let_go.back().at == event.at) ++member.let_go.back().count;
    else member.let_go.push_back({event.at, 1});
    if (member.numbers.empty()) member.last.assign(1, event);
  }
  if (counted) ++let_go_;
  dropped_through_ = event.at;
  log_.pop_front();
  ++base_;
}

void Events::trim() {
  std::uint64_t needed = base_ + log_.size();
  for (const EventView& view : views_) needed = std::min(needed, view.cursor);
  const std::size_t limit = attempt_ ? most_of_attempt : 0;
  while (!log_.empty() && base_ < needed) {
    const bool in_window = log_.front().at > log_.back().at - keep_ && keep_ > Duration{0};
    const bool of_attempt = log_.size() <= limit;
    if ((in_window || of_attempt) && log_.size() <= most) break;
    drop_first();
  }
  for (EventView& view : views_)
    if (view.spec().accumulated())
      for (MemberEvents& member : view.members)
        while (!member.numbers.empty() && member.numbers.front() < base_) member.numbers.pop_front();
}

double Events::reduce(const EventView& view, Slot slot, Op op, std::uint32_t field) const {
  static const MemberEvents none;
  const MemberEvents& member = slot < view.members.size() ? view.members[slot] : none;
  if (op == Op::w_count) return static_cast<double>(member.count);
  if (member.count == 0) return op == Op::w_repeats || op == Op::w_distinct ? 0 : absent;
  if (op == Op::w_distinct && member.count != member.numbers.size())
    return measured_nan;  // some are no longer retained
  const bool attempt = view.spec().accumulated();
  if (op == Op::w_first || op == Op::w_last) {
    if (attempt) return (op == Op::w_first ? member.first : member.last).front().field(field);
    if (op == Op::w_first && !member.let_go.empty()) return absent;
    if (member.numbers.empty()) return member.last.empty() ? absent : member.last.front().field(field);
    const Happening* event = number(op == Op::w_first ? member.numbers.front() : member.numbers.back());
    return event != nullptr ? event->field(field) : absent;
  }
  if (op != Op::w_repeats && op != Op::w_distinct) return absent;
  std::vector<double> values;
  for (const std::uint64_t n : member.numbers)
    if (const Happening* event = number(n))
      if (const double value = event->field(field); is_number(value)) values.push_back(value);
  std::sort(values.begin(), values.end());
  std::size_t repeats = 0, distinct = 0;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t j = i;
    while (j < values.size() && values[j] == values[i]) ++j;
    repeats = std::max(repeats, j - i);
    ++distinct;
    i = j;
  }
  return static_cast<double>(op == Op::w_repeats ? repeats : distinct);
}

void Events::last_arrivals(const EventView& view, Time from, Time now, std::vector<Time>& last) const {
  const auto see = [&](const Happening& event) {
    if (event.slot < last.size() && event.at > from && event.arrival < now && view.filters.pass(event))
      last[event.slot] = std::max(last[event.slot], event.arrival);
  };
  const bool attempt = view.spec().accumulated();
  for (Slot slot = 0; slot < std::min(last.size(), view.members.size()); ++slot) {
    const MemberEvents& member = view.members[slot];
    if (attempt && member.last_arrival < now) last[slot] = std::max(last[slot], member.last_arrival);
    if (!attempt && !member.let_go.empty() && !member.last.empty() && member.last.front().at > from &&
        member.last.front().arrival < now)
      last[slot] = std::max(last[slot], member.last.front().arrival);
    for (const std::uint64_t n : member.numbers) {
      const Happening* event = attempt ? nullptr : number(n);
      if (event != nullptr && event->at > from && event->arrival < now)
        last[slot] = std::max(last[slot], event->arrival);
    }
  }
  for (std::uint64_t n = std::max(view.cursor, base_); n < base_ + log_.size(); ++n) see(*number(n));
  pending_.each(see);
}

void Events::save_view(Writer& out, const EventView& view) const {
  out(1, view.cursor), out(2, view.from);
  out.list(3, view.members, [](Writer& of, const MemberEvents& member) {
    of(1, member.numbers), of(2, member.count), of(3, member.last_arrival), of(6, member.let_go);
    if (!member.first.empty()) save_events(of, 4, member.first);
    if (!member.last.empty()) save_events(of, 5, member.last);
  });
}

void Events::load_view(Reader& in, EventView& view) {
  in(1, view.cursor), in(2, view.from);
  view.members.clear();
  in.list(3, [&](Reader& of) {
    MemberEvents& member = view.members.emplace_back();
    of(1, member.numbers), of(2, member.count), of(3, member.last_arrival), of(6, member.let_go);
    load_events(of, 4, member.first), load_events(of, 5, member.last);
    member.first.resize(std::min<std::size_t>(member.first.size(), 1));
    member.last.resize(std::min<std::size_t>(member.last.size(), 1));
    // A torn snapshot must not make a count of an attempt without its first and last.
    if (view.spec().accumulated() && (member.first.empty() || member.last.empty())) member = {};
    if (view.spec().accumulated()) return;
    member.count = member.numbers.size();
    for (const auto& gone : member.let_go) member.count += gone.count;
  });
}

void Events::save(Writer& out) const {
  out(1, names_);
  save_events(out, 2, pending_.items());
  out(4, base_), out(7, dropped_through_);
  save_events(out, 5, log_);
  out.list(6, views_, [this](Writer& of, const EventView& view) { save_view(of, view); });
}

void Events::load(Reader& in) {
  // The names of fields in the windows' filters come first, in the same order: the pack is the same.
  const auto names = in.get<std::vector<std::string>>(1);
  if (names.size() >= names_.size() && std::equal(names_.begin(), names_.end(), names.begin())) names_ = names;
  std::vector<Happening> items;
  load_events(in, 2, items);
  pending_.restore(std::move(items));
  in(4, base_), in(7, dropped_through_);
  load_events(in, 5, log_);
  std::size_t view = 0;
  in.list(6, [&](Reader& of) {
    if (view < views_.size()) load_view(of, views_[view++]);
  });
}

void Events::adopt(Events& old) {
  // Fields are numbered again: this pack's filters can name others.
  std::vector<std::uint32_t> renamed;
  for (const std::string& name : old.names_) renamed.push_back(field(name));
  const auto rename = [&](Happening& event) {
    for (auto& [name, value] : event.fields) name = name < renamed.size() ? renamed[name] : 0;
  };
  auto items = old.pending_.items();
  for (Happening& event : items) rename(event);
  pending_.restore(std::move(items));
  log_ = std::move(old.log_);
  for (Happening& event : log_) rename(event);
  base_ = old.base_;
  dropped_through_ = old.dropped_through_;
  for (EventView& view : views_) {
    EventView* same = old.find(view.spec());
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

std::size_t Events::retained_bytes() const noexcept {
  return (log_.size() + pending_.size()) * (sizeof(Happening) + 32);
}

}  // namespace tocsin::stream
