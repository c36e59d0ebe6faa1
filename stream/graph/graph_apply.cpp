// What an operation can be applied to, and what it gives: shapes, levels and units. Operators read the messages.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "stream/graph/application.h"

namespace tocsin::stream {

Error refuse(std::string message) { return Error{Errc::refused, std::move(message)}; }

std::string quoted(std::string_view text) { return '"' + std::string{text} + '"'; }
std::string in_ticks(std::string_view text) { return "'" + std::string{text} + "'"; }

std::string shown(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}
std::string shown(const Scalar& value) {
  if (const auto* x = std::get_if<double>(&value)) return shown(*x);
  return quoted(std::get<std::string>(value));
}

namespace {

std::string_view article_and_name(Shape shape) {
  switch (shape) {
    case Shape::window: return "a window";
    case Shape::finding: return "a finding";
    case Shape::column: return "a column";
    case Shape::mask: return "a mask";
    case Shape::job: return "the job";
  }
  return "";
}

// What to write instead, where a value has the wrong shape.
std::string_view remedy(Shape is, Shape wanted) {
  if (is == Shape::window) return "reduce it over time first: :last(), :mean()";
  if (is == Shape::finding) return "ask it first: :now(), :ever()";
  if (is == Shape::column && wanted == Shape::mask) return "make a mask of it: :above(…), :is(…)";
  if (is == Shape::mask && wanted == Shape::column) return "take a column by it: :choose(a, b), or :count(group)";
  if (wanted == Shape::window) return "what is over time comes first, then what is across members";
  return "write it on the finding itself";
}

}  // namespace

Result<void> Graph::Application::want(std::size_t i, Shape shape, bool numbers) const {
  const Type& is = type(i);
  const bool sign = !entry().name.empty() && !std::isalpha(static_cast<unsigned char>(entry().name[0]));
  if (is.shape != shape) {
    const std::string what = i == 0 && !sign ? " is a word for " : " takes ";
    return refuse(written() + what + std::string{article_and_name(shape)} + "; this is " +
                  std::string{article_and_name(is.shape)} + " (per " + std::string{name(is.level)} +
                  "): " + std::string{remedy(is.shape, shape)});
  }
  if (numbers && is.text()) return refuse(written() + " wants numbers, and this is text: write :is(\"…\")");
  return {};
}

Result<NodeId> Graph::Application::make(Type type_of, Attributes with) const {
  return graph.intern(Node{op, std::move(type_of), arguments, std::move(with)});
}

NodeId Graph::Application::spread(NodeId id, Level level) const {
  const Type& is = graph[id].type;
  if (is.level == level) return id;
  return graph.intern(Node{Op::spread, {is.shape, level, is.unit}, {id}, {}});
}

Level Graph::Application::meet() {
  Level level = Level::none;
  for (const NodeId id : arguments) level = std::max(level, graph[id].type.level);
  for (NodeId& id : arguments)
    if (!coarse(graph[id].type.level)) id = spread(id, level);
  return level;
}

Result<std::string> Graph::Application::common(std::string_view what) const {
  std::string unit = type(0).shape == Shape::mask ? type(1).unit : type(0).unit;
  for (std::size_t i = type(0).shape == Shape::mask ? 2 : 1; i < arguments.size(); ++i) {
    auto both = common_unit(unit, type(i).unit);
    if (!both)
      return refuse(unit + " cannot " + std::string{what} + " " + type(i).unit + ": they measure different things" +
                    (dimensionless(unit) && dimensionless(type(i).unit)
                         ? "; divide one by a count, or multiply the other"
                         : "; divide each by something in its own unit first"));
    unit = std::move(*both);
  }
  return unit;
}

// ---- member by member

Result<NodeId> Graph::Application::columns(std::string_view what) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (auto fine = want(i, Shape::column); !fine) return fine.error();
  Result<std::string> unit = std::string{};
  switch (entry().unit) {
    case UnitRule::sum: unit = common(what); break;
    case UnitRule::product: unit = unit_product(type(0).unit, type(1).unit); break;
    case UnitRule::quotient: unit = unit_quotient(type(0).unit, type(1).unit); break;
    case UnitRule::none: unit = std::string{"none"}; break;
    default: unit = type(0).unit;
  }
  if (!unit) return unit.error();
  if (auto folded = fold()) return graph.constant(*folded, std::move(*unit));
  const Level level = meet();
  return make({Shape::column, level, std::move(*unit)});
}

std::optional<double> Graph::Application::fold() const {
  std::vector<double> x;
  for (const NodeId id : arguments) {
    if (graph[id].op != Op::constant || !std::isfinite(graph[id].attributes.number)) return std::nullopt;
    x.push_back(graph[id].attributes.number);
  }
  double value = 0;
  switch (op) {
    case Op::add: value = x[0] + x[1]; break;
    case Op::subtract: value = x[0] - x[1]; break;
    case Op::multiply: value = x[0] * x[1]; break;
    case Op::divide: value = x[1] == 0 ? HUGE_VAL : x[0] / x[1]; break;
    case Op::negate: value = -x[0]; break;
    case Op::abs: value = std::fabs(x[0]); break;
    case Op::fill: value = x[0]; break;
    case Op::clamp_low:
    case Op::greatest:
    case Op::greatest_known: value = std::max(x[0], x[1]); break;
    case Op::least:
    case Op::least_known: value = std::min(x[0], x[1]); break;
    default: return std::nullopt;
  }
  return std::isfinite(value) ? std::optional{value} : std::nullopt;
}

Result<NodeId> Graph::Application::comparing() {
  for (std::size_t i = 0; i < 2; ++i)
    if (auto fine = want(i, Shape::column); !fine) return fine.error();
  if (at(1).op == Op::constant && std::isnan(at(1).attributes.number))
    return refuse(written() +
                  " compares with NaN, which is not a number, so it would never be known: compare with a number; "
                  ":nonfinite() counts NaN");
  if (at(1).op == Op::constant && type(0).unit == "ratio" && type(1).unit != "seconds") {
    const double limit = at(1).attributes.number;
    if (limit > 1 && std::isfinite(limit)) {
      char two[32];
      std::snprintf(two, sizeof two, "%.2f", limit / 100);
      return refuse(shown(limit) + " is compared with a ratio (0 to 1); did you mean " +
                    (limit <= 100 ? two : "a value between 0 and 1") + "?");
    }
  }
  if (auto unit = common("be compared with"); !unit) return unit.error();
  return make_mask();
}

Result<NodeId> Graph::Application::make_mask() {
  const Level level = meet();
  return make({Shape::mask, level, "none"});
}

const std::vector<std::string>* Graph::Application::closed_values(NodeId id) const {
  const Node& node = graph[id];
  if (node.op == Op::spread || node.op == Op::freeze) return closed_values(node.arguments[0]);
  if (node.op != Op::w_last && node.op != Op::w_first) return nullptr;
  const SignalDefinition& signal = graph.signals()[node.attributes.window->signal];
  return signal.kind == SignalKind::state && !signal.values.empty() ? &signal.values : nullptr;
}

Result<NodeId> Graph::Application::same() {
  if (auto fine = want(1, Shape::column, false); !fine) return fine.error();
  if (type(0).text() != type(1).text()) return refuse("is(…): one of the two columns holds text and the other numbers");
  if (!type(0).text())
    if (auto unit = common("be compared with"); !unit) return unit.error();
  op = Op::same;
  return make_mask();
}

Result<NodeId> Graph::Application::is_any() {
  if (auto fine = want(0, Shape::column, false); !fine) return fine.error();
  if (arguments.size() == 2) return same();
  if (attributes.values.empty()) return refuse("is what? :is(79), :is(\"eval\", \"checkpoint\")");
  const bool text = type(0).text();
  const auto* closed = text ? closed_values(arguments[0]) : nullptr;
  for (const Scalar& value : attributes.values) {
    if (text != std::holds_alternative<std::string>(value))
      return refuse("is(" + shown(value) + "): this column holds " +
                    (text ? "text: write it in quotes" : "numbers: write one without quotes"));
    if (const auto* number = std::get_if<double>(&value); number && std::isnan(*number))
      return refuse("is(NaN): nothing is equal to NaN, which is not a number; :nonfinite() counts them");
    if (closed && std::find(closed->begin(), closed->end(), std::get<std::string>(value)) == closed->end()) {
      std::string may;
      for (const std::string& known : *closed) may += (may.empty() ? "" : ", ") + known;
      return refuse("is(" + shown(value) + "): it is never that; it may be " + may);
    }
  }
  Attributes kept;
  kept.values = attributes.values;
  std::sort(kept.values.begin(), kept.values.end());
  kept.values.erase(std::unique(kept.values.begin(), kept.values.end()), kept.values.end());
  return make({Shape::mask, type(0).level, "none"}, std::move(kept));
}

namespace {

MaskForm form_of(Op op) {
  switch (op) {
    case Op::negation: return MaskForm::negation();
    case Op::surely: return MaskForm::surely();
    case Op::maybe: return MaskForm::maybe();
    default: return {};
  }
}

// The operation that a node is when it is read in this form: ~(a | b) is ~a & ~b; surely and maybe apply to each side.
Op read_as(const Node& node, MaskForm form) {
  if (!form.opposite) return node.op;
  return node.op == Op::conjunction ? Op::disjunction : Op::conjunction;
}

bool never_unknown(const Node& node) {
  return node.op == Op::w_seen || node.op == Op::w_within || node.op == Op::w_older_than || node.op == Op::known;
}

}  // namespace

void Graph::Application::add_term(NodeId mask, MaskForm form, Op joining,
                                  std::vector<std::pair<NodeId, MaskForm>>& terms) const {
  const Node& node = graph[mask];
  if (joins_masks(node.op) && (node.arguments.size() == 1 || read_as(node, form) == joining)) {
    for (std::size_t i = 0; i < node.arguments.size(); ++i)
      add_term(node.arguments[i], form.after(node.forms[i]), joining, terms);
    return;
  }
  if (never_unknown(node)) form.unknown = MaskForm::Unknown::stays;
  terms.emplace_back(mask, form);
}

Result<NodeId> Graph::Application::masks() {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (auto fine = want(i, Shape::mask); !fine) return fine.error();
  const Type type_of{Shape::mask, meet(), "none"};
  const MaskForm form = form_of(op);
  Op joining = op;
  if (arguments.size() == 1) joining = joins_masks(at(0).op) ? read_as(at(0), form) : Op::conjunction;
  std::vector<std::pair<NodeId, MaskForm>> terms;
  for (const NodeId mask : arguments) add_term(mask, form, joining, terms);
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  if (terms.size() == 1) joining = Op::conjunction;
  const auto join = [&](std::size_t count) {
    Node node{joining, type_of, {}, {}, {}};
    for (std::size_t i = 0; i < count; ++i)
      node.arguments.push_back(terms[i].first), node.forms.push_back(terms[i].second);
    return graph.intern(std::move(node));
  };
  while (terms.size() > most_arguments) {
    const NodeId first = join(most_arguments);
    terms.erase(terms.begin(), terms.begin() + most_arguments);
    terms.emplace_back(first, MaskForm{});
  }
  const auto& [mask, last] = terms.front();
  if (terms.size() == 1 && last == MaskForm{} && graph[mask].type.level == type_of.level) return mask;
  return join(terms.size());
}

Result<NodeId> Graph::Application::choice() {
  if (auto fine = want(0, Shape::mask); !fine) return fine.error();
  for (std::size_t i = 1; i < 3; ++i)
    if (auto fine = want(i, Shape::column); !fine) return fine.error();
  auto unit = common("be chosen beside");
  if (!unit) return unit.error();
  const Level level = meet();
  return make({Shape::column, level, std::move(*unit)});
}

Result<NodeId> Graph::Application::run() {
  switch (op) {
    case Op::constant:
    case Op::window:
    case Op::finding:
    case Op::state:
    case Op::same:
    case Op::spread:
    case Op::freeze: return refuse("this operation is not a word of the language: the builder adds it");
    case Op::number:
    case Op::yes:
    case Op::each: return refuse(std::string{entry().name} + "() gives a concrete value: only a scripted rule has one");
    case Op::f_now:
    case Op::f_ever:
      if (auto fine = want(0, Shape::finding); !fine) return fine.error();
      attributes.findings = at(0).attributes.findings;
      return graph.intern(Node{op, {Shape::mask, type(0).level, "none"}, {}, std::move(attributes)});
    case Op::add: return columns("be added to");
    case Op::subtract: return columns("be subtracted with");
    case Op::multiply:
    case Op::divide:
    case Op::negate:
    case Op::abs: return columns("");
    case Op::log:
      if (auto fine = want(0, Shape::column); !fine) return fine.error();
      if (!dimensionless(type(0).unit) && type(0).unit != "any")
        return refuse("log of " + type(0).unit + ": divide by something in the same unit first");
      return columns("");
    case Op::clamp_low: return columns("be clamped by");
    case Op::clamp:
      if (arguments.size() == 2) op = Op::clamp_low;
      return columns("be clamped by");
    case Op::fill: return columns("be filled with");
    case Op::greatest:
    case Op::least:
    case Op::greatest_known:
    case Op::least_known: return columns("stand beside");
    case Op::choose: return choice();
    case Op::above:
    case Op::below:
    case Op::at_least:
    case Op::at_most: return comparing();
    case Op::is: return is_any();
    case Op::known:
      if (auto fine = want(0, Shape::column, false); !fine) return fine.error();
      return make_mask();
    case Op::job_age: return make({Shape::column, Level::job, "seconds"});
    case Op::conjunction:
    case Op::disjunction:
    case Op::negation:
    case Op::surely:
    case Op::maybe: return masks();
    case Op::at: return at_level();
    default: return entry().on == Shape::window ? window() : grouped();
  }
}

Result<NodeId> Graph::apply(Op op, std::span<const NodeId> arguments, Attributes attributes) {
  const std::size_t n = arguments.size();
  const Operation& entry = operation(op);
  std::size_t least = 1, most = 1;
  switch (entry.takes) {
    case Takes::column:
    case Takes::masks: least = most = 2; break;
    case Takes::low_high:
      least = 2;
      most = 3;
      break;
    case Takes::choice: least = most = 3; break;
    case Takes::columns:
      least = 2;
      most = std::size_t(-1);
      break;
    case Takes::literals: most = 2; break;
    case Takes::number_group: most = op == Op::m_at_least || op == Op::m_at_most ? 2 : 1; break;
    default:
      if (entry.on == Shape::job) least = most = 0;
  }
  if (n < least || n > most) {
    const bool few = n < least;
    return refuse(in_ticks(entry.name.empty() ? operation(Op::clamp).name : entry.name) +
                  (few ? " wants a value: " : " takes fewer values: ") + std::string{entry.documentation});
  }
  // greatest(a, b, c) is greatest(greatest(a, b), c), because kernels have two operands.
  if (entry.takes == Takes::columns && n > 2) {
    NodeId so_far = arguments[0];
    for (std::size_t i = 1; i < n; ++i) {
      const NodeId two[] = {so_far, arguments[i]};
      auto next = apply(op, two);
      if (!next) return next;
      so_far = *next;
    }
    return so_far;
  }
  return Application{*this, op, {arguments.begin(), arguments.end()}, std::move(attributes)}.run();
}

}  // namespace tocsin::stream
