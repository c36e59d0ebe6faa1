// What can be asked across members: reductions over a group, their levels, and values spread to finer ones.
#include <algorithm>
#include <utility>

#include "stream/graph/application.h"

namespace tocsin::stream {

Result<NodeId> Graph::Application::grouped() {
  const bool of_masks = entry().on == Shape::mask;
  const bool numbers = op != Op::g_count && op != Op::g_mode;
  if (auto fine = want(0, of_masks ? Shape::mask : Shape::column, numbers); !fine) return fine.error();
  if (op == Op::g_quantile)
    if (auto fine = check_quantile(); !fine) return fine.error();
  auto to = group_level();
  if (!to) return to.error();
  const bool number = op == Op::m_at_least || op == Op::m_at_most;
  if (*to == type(0).level && attributes.group != Group::peers) return alone();
  if (auto outer = read_outside()) return *outer;
  Attributes kept;
  kept.group = attributes.group;
  kept.peers = attributes.peers;
  if (op == Op::g_quantile) kept.number = attributes.number;
  if (number)
    if (auto fine = limit(*to, kept); !fine) return fine.error();
  std::string unit = type(0).unit;
  if (entry().unit == UnitRule::count) unit = "count";
  else if (of_masks) unit = "none";
  else if (op == Op::g_sum && unit == "ratio") unit = "none";
  return make({entry().gives, *to, std::move(unit)}, std::move(kept));
}

// any(~x) is ~all(x), and any(x:surely()) is any(x):surely(): a form of the answer needs no node per member.
std::optional<Result<NodeId>> Graph::Application::read_outside() const {
  const Node& mask = at(0);
  if ((op != Op::m_any && op != Op::m_all) || !joins_masks(mask.op) || mask.arguments.size() > 1) return {};
  const bool opposite = mask.forms[0] == MaskForm::negation();
  // Of fewer than three peers nothing is known, whatever counts as no.
  const bool sure = mask.forms[0] == MaskForm::surely() && op == Op::m_any && attributes.group != Group::peers;
  if ((!opposite && !sure) || graph[mask.arguments[0]].type.level != mask.type.level) return {};
  const Op inner = !opposite ? op : op == Op::m_any ? Op::m_all : Op::m_any;
  auto answer = graph.apply(inner, mask.arguments, attributes);
  if (!answer) return answer;
  return graph.apply(opposite ? Op::negation : Op::surely, {&*answer, 1});
}

Result<void> Graph::Application::limit(Level to, Attributes& kept) {
  if (arguments.size() < 2) {
    kept.number = attributes.number;
    if (!(kept.number >= 0))
      return refuse(std::string{entry().name} + "(" + shown(kept.number) + ", …): how many members? 0 or more");
    return {};
  }
  if (auto fine = want(1, Shape::column); !fine) return fine.error();
  if (at(1).op == Op::constant) {
    kept.number = at(1).attributes.number;
    arguments.pop_back();
    return {};
  }
  if (!dimensionless(type(1).unit) && type(1).unit != "any")
    return refuse(std::string{entry().name} + " counts members; its limit is in " + type(1).unit +
                  ": give a number of members");
  if (type(1).level > to)
    return refuse("the limit of " + std::string{entry().name} + " is a value per " + std::string{name(type(1).level)} +
                  ": it must have one value for each group, so take it up through a group first");
  if (!coarse(type(1).level)) arguments[1] = spread(arguments[1], to);
  return {};
}

Result<NodeId> Graph::Application::alone() const {
  switch (op) {
    case Op::g_median:
    case Op::g_mean:
    case Op::g_min:
    case Op::g_max:
    case Op::g_sum:
    case Op::g_mode:
    case Op::g_quantile:
    case Op::m_any:
    case Op::m_all: return arguments[0];
    default:
      return refuse(std::string{entry().name} + " over " + quoted(name(*attributes.group)) +
                    ": there is one value per " + std::string{name(type(0).level)} +
                    " already; take a finer value, or a coarser group");
  }
}

Result<Level> Graph::Application::group_level() {
  const std::string word{entry().name};
  const std::string n = op == Op::g_quantile ? "0.9, " : op == Op::m_at_least || op == Op::m_at_most ? "2, " : "";
  if (!attributes.group)
    return refuse(word + " across which members? " + word + "(" + n + "\"peers\"), " + word + "(" + n + "\"node\"), " +
                  word + "(" + n + "\"job\")");
  const Level from = type(0).level;
  if (from == Level::none) return refuse(word + " of a number: it has no members. Take it of a column of the job");
  if (*attributes.group == Group::peers) {
    if (!attributes.peers)
      return refuse("this rule names no peers: write peers = { \"pipeline_stage\" } in its head, or the group \"job\"");
    Level level = from;
    for (const std::string& coordinate : graph.coordinates(*attributes.peers))
      if (const auto owner = graph.signals().coordinate(coordinate)) level = std::max(level, *owner);
    arguments[0] =
        spread(arguments[0], level);  // a value coarser than the coordinates is spread to each of their owners
    return level;
  }
  attributes.peers.reset();
  const Level to = static_cast<Level>(*level_named(name(*attributes.group)));
  if (to > from)
    return refuse("a value per " + std::string{name(from)} + " cannot be taken up to " + quoted(name(to)) +
                  ", which is finer: :at(" + quoted(name(to)) + ") spreads it");
  return to;
}

Result<NodeId> Graph::Application::at_level() {
  if (type(0).shape != Shape::column && type(0).shape != Shape::mask) return want(0, Shape::column, false).error();
  const auto level = level_named(attributes.field);
  if (!level)
    return refuse("at(" + quoted(attributes.field) + "): no such level. Levels are job, rack, node, gpu and rank");
  if (*level < type(0).level)
    return refuse("at(" + quoted(attributes.field) + "): a value per " + std::string{name(type(0).level)} +
                  " cannot be spread to it; up only through a group: :max(" + quoted(attributes.field) + "), :any(" +
                  quoted(attributes.field) + ")");
  if (type(0).level == Level::none) return arguments[0];  // a constant fits any level
  return spread(arguments[0], *level);
}

}  // namespace tocsin::stream
