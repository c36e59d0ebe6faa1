#include "tests/oracle/windows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <regex>

#include "tests/oracle/series.h"

namespace tocsin::oracle {
namespace {

using namespace std::chrono_literals;
using stream::Node;
using stream::Op;
using stream::row_end;
using stream::SignalDefinition;
using stream::SignalId;
using stream::SignalKind;
using stream::Slot;
using stream::Time;
using stream::WindowSpec;
using Values = std::vector<WindowOracle::Value>;

// From how many values points, baselines and "attempt" are known.
std::size_t least(const WindowSpec& window) {
  if (window.least != 0) return window.least;
  return window.span == WindowSpec::Span::points ? std::min(16u, window.points) : 16;
}

// Of a text with stars; the random rules have no other sign of regular expressions in one.
std::regex expression_of(const std::string& text) {
  return std::regex{std::regex_replace(text, std::regex{"\\*"}, ".*")};
}

bool is_edge(Op op) { return op == Op::w_last || op == Op::w_first; }

// Whether so many values make the reduction known, where cover does not decide.
bool enough(const Node& reduction, const WindowSpec& window, const SignalDefinition& definition, std::size_t values) {
  const auto n = static_cast<std::size_t>(std::max(reduction.attributes.number, 1.0));
  if (is_edge(reduction.op)) return values >= (window.least != 0 ? std::min<std::size_t>(window.least, n) : n);
  return reduction.op == Op::w_count || definition.kind == SignalKind::state || values >= least(window);
}

// Rows of a counter are rates: how much it grew is their mean for as long as the window is.
Number growth(const WindowSpec& window, Op op, Number mean) {
  return mean && op == Op::w_delta ? Number{*mean * stream::seconds(window.over)} : mean;
}

// When a point or an event takes its place: at its time, or when it was read where that was too late.
Time turn(const Record& record, const SignalDefinition& definition) {
  return record.arrival >= record.time + definition.lateness ? record.arrival : record.time;
}

}  // namespace

WindowOracle::WindowOracle(Facts facts) : facts_(std::move(facts)) {
  for (const Record& record : facts_.records) by_member_[{record.signal, record.slot}].push_back(&record);
}

const std::vector<const Record*>& WindowOracle::of(SignalId signal, Slot slot) const {
  static const std::vector<const Record*> nothing;
  const auto found = by_member_.find({facts_.signals[signal].name, slot});
  return found == by_member_.end() ? nothing : found->second;
}

bool WindowOracle::coverage(SignalId signal, Slot slot, Time from, Time to) const {
  const SignalDefinition& definition = facts_.signals[signal];
  return facts_.coverage(definition.source, definition.owner, slot, std::max(from, facts_.start), to);
}

Values WindowOracle::rows(SignalId signal, Slot slot, Time from, Time to, Time now) const {
  const SignalDefinition& definition = facts_.signals[signal];
  const auto bits = [&](double v) {
    return definition.wide() ? std::bit_cast<std::uint64_t>(v)
                             : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(v))};
  };
  std::map<Time, std::pair<Time, double>> best;  // row end to time and value
  for (const Record* r : of(signal, slot)) {
    if (r->arrival >= now) break;
    const Time end = row_end(r->time, definition.row);
    if (r->arrival >= end + definition.lateness) continue;
    const double value = definition.wide() ? r->value : static_cast<double>(static_cast<float>(r->value));
    const auto [place, fresh] = best.try_emplace(end, r->time, value);
    if (!fresh &&
        (r->time > place->second.first || (r->time == place->second.first && bits(value) > bits(place->second.second))))
      place->second = {r->time, value};
  }
  Values values;
  std::optional<std::pair<Time, double>> before;
  for (const auto& [end, sample] : best) {
    if (end > to) break;
    double value = sample.second;
    bool have = true;
    if (definition.kind == SignalKind::counter && !std::isnan(value)) {
      have = before && sample.first - before->first <= 120s && value >= before->second;
      if (have) value = (sample.second - before->second) / stream::seconds(sample.first - before->first);
      before = sample;
    }
    if (have && end > from) values.push_back({end, value});
  }
  return values;
}

// Of several values for one step (the loss, reported by more than one rank) one is taken: the lowest reporter's of
// those that wait together. Later ones are dropped.
Values WindowOracle::points(SignalId signal, Slot slot, Time to, Time now) const {
  const SignalDefinition& definition = facts_.signals[signal];
  struct Waiting {
    Time at;
    bool late;
    const Record* record;
  };
  std::vector<Waiting> taken;
  for (const Record* r : of(signal, slot)) {
    if (r->arrival >= now) break;
    const Time at = turn(*r, definition);
    const Waiting fresh{at, at != r->time, r};
    const auto same =
        definition.owner != stream::Level::job || std::isnan(r->step)
            ? taken.end()
            : std::find_if(taken.begin(), taken.end(), [&](const Waiting& w) { return w.record->step == r->step; });
    if (same == taken.end()) {
      taken.push_back(fresh);
      continue;
    }
    const bool waits = same->at + definition.lateness > r->arrival;
    const auto order = [](const Waiting& w) { return std::tuple{w.record->reporter, w.at, w.record->sequence}; };
    if (waits && !same->late && !fresh.late && order(fresh) < order(*same)) *same = fresh;
  }
  std::stable_sort(taken.begin(), taken.end(), [](const Waiting& a, const Waiting& b) {
    return std::tie(a.at, a.record->sequence) < std::tie(b.at, b.record->sequence);
  });
  Values values;
  for (const Waiting& point : taken)
    if (point.at <= to) values.push_back({point.at, point.record->value});
  return values;
}

Number WindowOracle::usual(SignalId signal, Slot slot, Time now) const {
  std::vector<double> intervals;
  std::optional<Time> last;
  for (const Record* r : of(signal, slot)) {
    if (r->arrival >= now) break;
    if (last && r->arrival > *last) intervals.push_back(stream::seconds(r->arrival - *last));
    last = r->arrival;
  }
  if (!last) return std::nullopt;
  if (intervals.size() < 3) return stream::seconds(facts_.signals[signal].row);
  if (intervals.size() > 16) intervals.erase(intervals.begin(), intervals.end() - 16);
  std::sort(intervals.begin(), intervals.end());
  return intervals[intervals.size() / 2];
}

bool WindowOracle::passes(const Record& event, const WindowSpec& window) const {
  return std::all_of(window.filters.begin(), window.filters.end(), [&](const stream::EventFilter& filter) {
    const auto field = event.fields.find(filter.field);
    const bool listed = field != event.fields.end() &&
                        std::any_of(filter.values.begin(), filter.values.end(), [&](const stream::Scalar& value) {
                          const auto* text = std::get_if<std::string>(&value);
                          if (text && text->find('*') != std::string::npos)
                            return std::regex_match(facts_.text(field->second), expression_of(*text));
                          const Number wanted = value.index() == 0 ? Number{std::get<double>(value)}
                                                                   : facts_.symbol(std::get<std::string>(value));
                          return wanted == field->second;
                        });
    return listed == filter.keep;
  });
}

// `never`: what the age is of a member without records, if it was covered.
Number WindowOracle::age(const WindowSpec& window, Slot slot, Time from, Time now, double never) const {
  const SignalDefinition& definition = facts_.signals[window.signal];
  const bool event = definition.kind == SignalKind::event;
  std::optional<Time> last;
  Number value;
  for (const Record* r : of(window.signal, slot)) {
    if (r->arrival >= now) break;
    if (event && !(turn(*r, definition) > from && passes(*r, window))) continue;
    if (definition.kind == SignalKind::step && value == r->value) continue;  // counts where it changes
    value = r->value;
    last = r->arrival;
  }
  if (last) return stream::seconds(now - *last);
  if (definition.source.empty() || !coverage(window.signal, slot, event ? from : facts_.start, now))
    return std::nullopt;
  return never;
}

Number WindowOracle::of_events(const Node& reduction, const WindowSpec& window, Slot slot, Time from, Time to,
                               Time now) const {
  const SignalDefinition& definition = facts_.signals[window.signal];
  std::vector<std::pair<Time, const Record*>> events;
  for (const Record* r : of(window.signal, slot))
    if (const Time at = turn(*r, definition); r->arrival < now && at > from && at <= to && passes(*r, window))
      events.emplace_back(at, r);
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->sequence) < std::tie(b.first, b.second->sequence);
  });
  const auto field = [&](const Record& event) -> Number {
    const auto found = event.fields.find(reduction.attributes.field);
    return found == event.fields.end() ? Number{} : Number{found->second};
  };
  if (reduction.op == Op::w_first || reduction.op == Op::w_last) {
    if (events.empty()) return std::nullopt;
    return field(*(reduction.op == Op::w_first ? events.front() : events.back()).second);
  }
  double count = static_cast<double>(events.size());
  if (reduction.op == Op::w_repeats || reduction.op == Op::w_distinct) {
    std::map<double, double> times;
    for (const auto& [at, event] : events)
      if (const Number value = field(*event); value && !std::isnan(*value)) times[*value] += 1;
    count = 0;
    for (const auto& [value, n] : times) count = reduction.op == Op::w_repeats ? std::max(count, n) : count + 1;
  }
  const Time since = window.span == WindowSpec::Span::time ? from : facts_.start;
  if (count == 0 && !coverage(window.signal, slot, since, to)) return std::nullopt;
  return reduction.op == Op::w_rate ? count / stream::seconds(to - since) : count;
}

// Beyond five minutes: panes of ten rows that lie wholly in the window; what takes values takes their means.
Number WindowOracle::of_panes(const Node& reduction, const WindowSpec& window, Time from, Time to, const Values& rows,
                              Number goal) const {
  const Op op = reduction.op;
  const double number = reduction.attributes.number;
  if (op == Op::w_last && number <= 1) return rows.empty() ? Number{} : Number{rows.back().value};
  const auto pane = 10 * facts_.signals[window.signal].row;
  std::map<Time, std::vector<double>> panes;
  Values with_nan, everything, means;
  for (const auto& v : rows) {
    const Time end = row_end(v.at, pane);
    if (end > to || end - pane < from) continue;
    with_nan.push_back(v);
    if (!std::isnan(v.value)) panes[end].push_back(v.value);
  }
  for (const auto& [end, values] : panes) {
    double sum = 0;
    for (const double v : values) {
      sum += v;
      everything.push_back({end, v});
    }
    means.push_back({end, sum / static_cast<double>(values.size())});
  }
  if (op == Op::w_nonfinite)
    return with_nan.size() < least(window) ? Number{} : reduce_values(op, number, goal, with_nan);
  if (everything.empty()) return op == Op::w_count ? Number{0} : Number{};
  if (!enough(reduction, window, facts_.signals[window.signal], is_edge(op) ? means.size() : everything.size()))
    return std::nullopt;
  const bool of_all = op == Op::w_count || op == Op::w_mean || op == Op::w_sum || op == Op::w_min || op == Op::w_max ||
                      op == Op::w_fraction;
  return reduce_values(op, number, goal, of_all ? everything : means);
}

Number WindowOracle::reduce(const Node& reduction, Number goal, Slot slot, Time tick, Time now) const {
  const WindowSpec& window = *reduction.attributes.window;
  const SignalDefinition& definition = facts_.signals[window.signal];
  const Op op = stream::column_of(reduction.op);
  if (op == Op::w_count && reduction.op != op) {
    Node count = reduction;
    count.op = op;
    return reduce(count, goal, slot, tick, now);
  }
  if (definition.kind == SignalKind::counter && (op == Op::w_rate || op == Op::w_delta)) {
    Node mean = reduction;
    mean.op = Op::w_mean;
    return growth(window, op, reduce(mean, goal, slot, tick, now));
  }
  const double number = reduction.attributes.number;
  const bool timed = window.span == WindowSpec::Span::time;
  const Time to = tick - std::min(window.lag, (tick - facts_.start) / 4);
  const Time from = timed ? to - window.over : stream::long_ago;
  if (definition.owner == stream::Level::rank && slot == stream::reserved_slot)
    return std::nullopt;  // no rank's, and nobody alive for it
  if (window.full && timed &&
      (from < facts_.start || (!definition.source.empty() && !coverage(window.signal, slot, from, to))))
    return std::nullopt;
  if (op == Op::w_interval) return usual(window.signal, slot, now);
  if (op == Op::w_age) {
    const bool silence = reduction.op == op && definition.kind != SignalKind::event;  // counts from the start on
    return age(window, slot, std::max(from, facts_.start), now,
               silence ? stream::seconds(now - facts_.start) : HUGE_VAL);
  }
  if (definition.kind == SignalKind::event) return of_events(reduction, window, slot, from, to, now);

  const auto counted = [&](Number n) -> Number {  // none: 0 only where one would have been reported
    const bool silent = n == 0.0 && op == Op::w_count && !definition.source.empty();
    return silent && !coverage(window.signal, slot, timed ? from : facts_.start, to) ? Number{} : n;
  };
  if (window.span == WindowSpec::Span::points) {
    Values all = points(window.signal, slot, to, now);
    all.resize(all.size() - std::min<std::size_t>(all.size(), window.lag_points));
    if (all.size() > window.points) all.erase(all.begin(), all.end() - window.points);
    if (window.full && all.size() < window.points) return std::nullopt;
    return enough(reduction, window, definition, all.size()) ? counted(reduce_values(op, number, goal, all)) : Number{};
  }
  if (window.span == WindowSpec::Span::attempt) {
    const Values all =
        definition.points ? points(window.signal, slot, to, now) : rows(window.signal, slot, stream::long_ago, to, now);
    return enough(reduction, window, definition, all.size()) ? counted(reduce_values(op, number, goal, all)) : Number{};
  }
  const Values all = rows(window.signal, slot, from, to, now);
  if (window.baseline()) return counted(of_panes(reduction, window, from, to, all, goal));
  const double each = std::max(usual(window.signal, slot, now).value_or(0), stream::seconds(definition.row));
  const bool covered = !all.empty() && static_cast<double>(all.size()) * each >= stream::seconds(window.over) / 2;
  const bool needs_cover = !is_edge(op) && op != Op::w_count && definition.kind != SignalKind::state;
  if (needs_cover ? !covered : !enough(reduction, window, definition, all.size())) return std::nullopt;
  return counted(reduce_values(op, number, goal, all));
}

}  // namespace tocsin::oracle
