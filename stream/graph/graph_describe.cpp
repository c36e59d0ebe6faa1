// Describes a node for explain.
#include "stream/graph/application.h"

namespace tocsin::stream {
namespace {

std::string shown_time(Duration duration) { return shown(seconds(duration)) + "s"; }

std::string shown_window(const WindowSpec& spec, const SignalTable& signals) {
  std::string text = signals[spec.signal].name + " over ";
  switch (spec.span) {
    case WindowSpec::Span::time: text += shown_time(spec.over); break;
    case WindowSpec::Span::points: text += std::to_string(spec.points); break;
    case WindowSpec::Span::attempt: text += "attempt"; break;
    case WindowSpec::Span::earlier: text += "earlier"; break;
  }
  if (spec.lag.count()) text += " lag " + shown_time(spec.lag);
  if (spec.lag_points) text += " lag " + std::to_string(spec.lag_points);
  for (const EventFilter& filter : spec.filters) {
    text += (filter.keep ? " where " : " except ") + filter.field + " =";
    for (const Scalar& value : filter.values) text += " " + shown(value);
  }
  if (spec.full) text += " full";
  if (spec.freeze) text += " frozen";
  return text;
}

}  // namespace

std::string Graph::leaf(NodeId id) const {
  const Attributes& a = (*this)[id].attributes;
  if (a.window) return shown_window(*a.window, *signals_);
  std::string text = "finding";
  for (const std::string& rule : a.findings) text += " " + rule;
  return text;
}

std::string Graph::expression(NodeId id, const Written& written) const {
  const Node& node = (*this)[id];
  const Operation& entry = operation(node.op);
  const auto operand = [&](std::size_t i) { return written(node.arguments[i], true); };
  const Attributes& a = node.attributes;
  std::string text;
  switch (node.op) {
    case Op::constant: text += shown(a.number); break;
    case Op::state: text += "state." + a.field; break;
    case Op::window:
    case Op::finding: text += leaf(id); break;
    case Op::negate: text += std::string{entry.name} + operand(0); break;
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide: text += operand(0) + " " + std::string{entry.name} + " " + operand(1); break;
    case Op::conjunction:
    case Op::disjunction:
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        if (i > 0) text += " " + std::string{entry.name} + " ";
        const MaskForm form = node.forms[i];
        if (form.opposite) text += "~";
        text += operand(i);
        if (form.decides()) text += form.unknown == MaskForm::Unknown::no ? ":surely()" : ":maybe()";
      }
      break;
    default: {
      std::string_view word = entry.name;
      if (node.op == Op::clamp_low) word = "clamp";
      if (node.op == Op::same) word = "is";
      if (node.op == Op::spread) word = "spread";
      if (node.op == Op::freeze) word = "freeze";
      std::string inside;
      const auto list = [&inside](std::string item) { inside += (inside.empty() ? "" : ", ") + std::move(item); };
      const bool function = entry.takes == Takes::columns;
      const bool reads = a.window || !a.findings.empty();
      for (std::size_t i = function || reads ? 0 : 1; i < node.arguments.size(); ++i)
        list(written(node.arguments[i], false));
      if (a.number != 0) list(shown(a.number));
      for (const Scalar& value : a.values) list(shown(value));
      if (!a.field.empty()) list('"' + a.field + '"');
      if (a.group) {
        std::string group{name(*a.group)};
        if (a.peers)
          for (const std::string& coordinate : coordinates(*a.peers)) group += " " + coordinate;
        list('"' + group + '"');
      }
      if (reads) text += written(id, true) + ":";
      else if (!function) text += (node.arguments.empty() ? "job" : operand(0)) + ":";  // job:age() has no argument
      text += std::string{word} + "(" + inside + ")";
    }
  }
  return text;
}

std::string Graph::describe(NodeId id) const {
  const Node& node = (*this)[id];
  const auto place = [](NodeId other) { return "%" + std::to_string(static_cast<std::uint32_t>(other)); };
  std::string text = place(id) + " = " + expression(id, [&](NodeId other, bool) {
                       return other == id ? "(" + leaf(id) + ")" : place(other);
                     });
  text += "  per " + std::string{name(node.type.level)} + "  ";
  text += node.type.shape == Shape::column ? node.type.unit : std::string{name(node.type.shape)};
  return text;
}

}  // namespace tocsin::stream
