// What can be asked of a window: the words of its signal's kind, their units, filters, and freeze.
#include <algorithm>
#include <cmath>
#include <utility>

#include "stream/graph/application.h"

namespace tocsin::stream {
namespace {

bool integer(double x) { return std::floor(x) == x; }

// The words for windows of a signal, by its kind.
bool has_word(SignalKind kind, Op word) {
  const Op op = column_of(word);
  const auto among = [op](std::initializer_list<Op> words) {
    return std::find(words.begin(), words.end(), op) != words.end();
  };
  const bool of_events = among({Op::w_where, Op::w_except, Op::w_repeats, Op::w_distinct});
  switch (kind) {
    case SignalKind::gauge: return !of_events;
    case SignalKind::counter: return !of_events;
    case SignalKind::state: return among({Op::w_last, Op::w_first, Op::w_age, Op::w_count, Op::w_fraction});
    case SignalKind::step:
      return among({Op::w_last, Op::w_first, Op::w_delta, Op::w_rate, Op::w_count, Op::w_age, Op::w_interval, Op::w_min,
                    Op::w_max, Op::w_slope});
    case SignalKind::time:
      return among(
          {Op::w_last, Op::w_first, Op::w_delta, Op::w_count, Op::w_age, Op::w_interval, Op::w_min, Op::w_max});
    case SignalKind::event:
      return of_events || among({Op::w_count, Op::w_age, Op::w_last, Op::w_first, Op::w_rate, Op::w_interval});
    case SignalKind::liveness: return op == Op::w_age;
  }
  return false;
}

// The attempts before do not follow each other without a gap: there is no trend over them, and no age. Of events only
// their number, the first and the last are kept.
bool follows_time(Op op) {
  constexpr Op words[] = {Op::w_age,       Op::w_interval, Op::w_rate,    Op::w_delta,   Op::w_slope,   Op::w_cusum,
                          Op::w_theil_sen, Op::w_kendall,  Op::w_time_to, Op::w_repeats, Op::w_distinct};
  return std::find(std::begin(words), std::end(words), column_of(op)) != std::end(words);
}

// Whether one value is enough for the word: `least` then makes no difference.
bool known_from_one(Op op, double number) {
  if (op == Op::w_last || op == Op::w_first) return number <= 1;
  return op == Op::w_count || op == Op::w_age || op == Op::w_interval;
}

std::string words_of(SignalKind kind) {
  std::string words;
  for (const Operation& entry : operations())
    if (entry.on == Shape::window && !entry.name.empty() && has_word(kind, entry.op))
      words += (words.empty() ? "" : ", ") + std::string{entry.name};
  return words;
}

std::string names_of(std::span<const SignalDefinition::Field> fields) {
  std::string names;
  for (const auto& field : fields) names += (names.empty() ? "" : ", ") + field.name;
  return names.empty() ? "it has none" : "it has " + names;
}

}  // namespace

Result<NodeId> Graph::Application::window() {
  if (auto fine = want(0, Shape::window, false); !fine) return fine.error();
  WindowSpec spec = *at(0).attributes.window;
  const SignalDefinition& signal = graph.signals()[spec.signal];
  if (!has_word(signal.kind, op))
    return refuse(std::string{entry().name} + " does not apply to '" + signal.name + "', which is of kind " +
                  std::string{name(signal.kind)} + ": it has " + words_of(signal.kind));
  if (signal.kind == SignalKind::counter && (op == Op::w_first || op == Op::w_last))
    return refuse(in_ticks(signal.name) + " is a counter: its rows are rates, so " + std::string{entry().name} +
                  "() would be a rate. Write :rate(), or :delta() for how much it grew");
  if (op == Op::w_where || op == Op::w_except) return filtered(spec, signal);
  if (spec.span == WindowSpec::Span::earlier && follows_time(op))
    return refuse(std::string{entry().name} + " of '" + signal.name +
                  "' over \"earlier\": between the attempts before lies time of which nothing is known; write :last(), "
                  ":max(), :median() or :count(), or over = \"attempt\"");
  // What was seen so far, when it came and how often does not wait for the rest.
  if (column_of(op) == Op::w_age || op == Op::w_seen || op == Op::w_interval) spec.full = false;
  if (entry().gives == Shape::mask) return mask_of_window(std::move(spec));
  if (signal.textual() && op != Op::w_last && op != Op::w_first && op != Op::w_age && op != Op::w_count)
    return refuse(std::string{entry().name} + " of '" + signal.name + "', which is text: write :last():is(\"…\")");

  Attributes kept;
  kept.number = attributes.number;
  std::string unit = type(0).unit;
  const bool edge = op == Op::w_last || op == Op::w_first;
  if (op == Op::w_repeats || op == Op::w_distinct || (edge && signal.kind == SignalKind::event)) {
    auto field = field_of(signal, attributes.field);
    if (!field) return field.error();
    kept.field = attributes.field;
    if (edge) unit = *field;
  } else if (!attributes.field.empty()) {
    return refuse(in_ticks(signal.name) + " is not an event and has no fields: write " + std::string{entry().name} +
                  "()");
  }
  if (auto fine = check_number(signal); !fine) return fine.error();
  if (op == Op::w_time_to) {
    if (arguments.size() < 2) return refuse("time_to what? :time_to(0.95 * job.limit:last())");
    if (auto fine = want(1, Shape::column); !fine) return fine.error();
    if (!common_unit(unit, type(1).unit))
      return refuse(type(1).unit + " cannot be the goal of " + unit + ": give it in " + unit);
    if (type(1).level > type(0).level)
      return refuse("the goal is a value per " + std::string{name(type(1).level)} + ", the signal per " +
                    std::string{name(type(0).level)} + ": take the goal up through a group, :max(" +
                    quoted(name(type(0).level)) + ")");
    arguments[1] = spread(arguments[1], type(0).level);
  }
  return reduced(spec, {Shape::column, type(0).level, unit_over_time(unit, signal)}, std::move(kept));
}

Result<NodeId> Graph::Application::mask_of_window(WindowSpec spec) {
  const std::string word{entry().name};
  if (spec.freeze)
    return refuse(word + " of a need with freeze: what is held is a number. Write " +
                  (op == Op::w_seen ? ":count():above(0)"
                                    : ":age():" + std::string{op == Op::w_within ? "below" : "above"} + "(…)"));
  if (arguments.size() > 1) {
    if (auto fine = want(1, Shape::column); !fine) return fine.error();
    if (!common_unit("seconds", type(1).unit))
      return refuse(word + " takes a time, and this is in " + type(1).unit + ": :" + word + "(\"10s\")");
    if (type(1).level > type(0).level)
      return refuse("the time is a value per " + std::string{name(type(1).level)} + ", the signal per " +
                    std::string{name(type(0).level)} + ": take the time up through a group, :max(" +
                    quoted(name(type(0).level)) + ")");
    if (!coarse(type(1).level)) arguments[1] = spread(arguments[1], type(0).level);
  }
  return reduced(std::move(spec), {Shape::mask, type(0).level, "none"}, {});
}

std::string Graph::Application::unit_over_time(const std::string& unit, const SignalDefinition& signal) const {
  if (op == Op::w_rate && signal.kind == SignalKind::event) return "count/seconds";
  if (signal.kind == SignalKind::counter) {
    if (op == Op::w_delta) return signal.unit;
    if (op == Op::w_rate) return unit_quotient(signal.unit, "seconds");
  }
  switch (entry().unit) {
    case UnitRule::none: return "none";
    case UnitRule::seconds: return "seconds";
    case UnitRule::count: return "count";
    case UnitRule::ratio: return "ratio";
    case UnitRule::per_second: return unit_quotient(unit, "seconds");
    default: return op == Op::w_sum && unit == "ratio" ? "none" : unit;
  }
}

Result<NodeId> Graph::Application::reduced(WindowSpec spec, Type type_of, Attributes kept) {
  const std::optional<RuleIndex> freeze = std::exchange(spec.freeze, std::nullopt);
  if (known_from_one(column_of(op), kept.number)) spec.least = 0;
  arguments.erase(arguments.begin());
  kept.window = std::move(spec);
  const NodeId id = graph.intern(Node{op, type_of, arguments, std::move(kept)});
  if (!freeze) return id;
  Attributes of_rule;
  of_rule.rule = freeze;
  return graph.intern(Node{Op::freeze, std::move(type_of), {id}, std::move(of_rule)});
}

Result<std::string> Graph::Application::field_of(const SignalDefinition& signal, const std::string& field) const {
  for (const auto& known : signal.fields)
    if (known.name == field) return known.unit;
  if (field == job_field) return std::string{"text"};
  if (field.empty())
    return refuse(std::string{entry().name} + " of an event names a field: " + in_ticks(signal.name) + " " +
                  (signal.fields.empty() ? "has none; write :count() or :age()" : names_of(signal.fields).substr(3)));
  return refuse(in_ticks(signal.name) + " has no field " + in_ticks(field) + ": " + names_of(signal.fields));
}

Result<NodeId> Graph::Application::filtered(WindowSpec spec, const SignalDefinition& signal) {
  auto unit = field_of(signal, attributes.field);
  if (!unit) return unit.error();
  if (attributes.values.empty())
    return refuse(std::string{entry().name} + " { " + attributes.field + " = … } lists no value: give one or several");
  for (const Scalar& value : attributes.values)
    if ((*unit == "text") != std::holds_alternative<std::string>(value))
      return refuse("field " + in_ticks(attributes.field) + " of " + in_ticks(signal.name) + " holds " +
                    (*unit == "text" ? "text" : "numbers") + ", and " + shown(value) + " is " +
                    (*unit == "text" ? "a number: write it in quotes" : "text: write it without quotes"));
  EventFilter filter{attributes.field, attributes.values, op == Op::w_where};
  std::sort(filter.values.begin(), filter.values.end());
  filter.values.erase(std::unique(filter.values.begin(), filter.values.end()), filter.values.end());
  spec.filters.push_back(std::move(filter));
  return graph.window(std::move(spec));
}

Result<void> Graph::Application::check_number(const SignalDefinition& signal) const {
  const double n = attributes.number;
  if (op == Op::w_quantile) return check_quantile();
  if (op == Op::w_ewma && !(n >= 1)) return refuse("ewma of how many values? :ewma(16)");
  if (op == Op::w_fraction) {
    if (signal.textual()) return refuse("fraction of '" + signal.name + "', which is text: write :last():is(\"…\")");
    if (!(n >= 1) || !integer(n) || n > 9007199254740991.0)
      return refuse("fraction of which bits? :fraction { bits = 0x8 }");
  }
  if ((op == Op::w_last || op == Op::w_first) && n != 0) {
    if (!(n >= 1) || !integer(n) || n > 1e6)
      return refuse(std::string{entry().name} + "(" + shown(n) + "): a number of points, 1 or more");
    if (signal.kind == SignalKind::state || signal.kind == SignalKind::event)
      return refuse(std::string{entry().name} + "(n) is a median of n points; " + in_ticks(signal.name) +
                    " is of kind " + std::string{name(signal.kind)} + ": write " + std::string{entry().name} +
                    (signal.kind == SignalKind::event ? "(\"field\")" : "()"));
  }
  return {};
}

Result<void> Graph::Application::check_quantile() const {
  if (!(attributes.number >= 0 && attributes.number <= 1))
    return refuse("quantile(" + shown(attributes.number) + "): a quantile is between 0 and 1" +
                  (attributes.number > 1 && attributes.number <= 100
                       ? "; did you mean " + shown(attributes.number / 100) + "?"
                       : ""));
  return {};
}

}  // namespace tocsin::stream
