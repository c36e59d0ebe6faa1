#include "stream/graph/graph.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "stream/values/units.h"

namespace tocsin::stream {
namespace {

// The bytes by which two nodes are compared.
class Key {
 public:
  Key() { bytes_.reserve(256); }  // of most nodes
  void number(std::uint64_t value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
    bytes_.append(bytes.data(), bytes.size());
  }
  void number(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    bytes_ += value;
  }
  void scalar(const Scalar& value) {
    number(static_cast<std::uint64_t>(value.index()));
    if (const auto* x = std::get_if<double>(&value)) number(*x);
    else text(std::get<std::string>(value));
  }
  void window(const WindowSpec& spec) {
    for (const auto x : {static_cast<std::uint64_t>(spec.signal), static_cast<std::uint64_t>(spec.span),
                         static_cast<std::uint64_t>(spec.over.count()), static_cast<std::uint64_t>(spec.lag.count()),
                         std::uint64_t{spec.points}, std::uint64_t{spec.lag_points}, std::uint64_t{spec.least},
                         std::uint64_t{spec.full}, static_cast<std::uint64_t>(spec.settle.count()),
                         static_cast<std::uint64_t>(spec.filters.size())})
      number(x);
    for (const EventFilter& filter : spec.filters) {
      text(filter.field);
      number(std::uint64_t{filter.keep});
      number(static_cast<std::uint64_t>(filter.values.size()));
      for (const Scalar& value : filter.values) scalar(value);
    }
    number(spec.freeze ? static_cast<std::uint64_t>(*spec.freeze) + 1 : 0);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

std::string key_of(const Node& node) {
  Key key;
  key.number(static_cast<std::uint64_t>(node.op));
  key.number(static_cast<std::uint64_t>(node.type.shape) << 8 | static_cast<std::uint64_t>(node.type.level));
  key.text(node.type.unit);
  key.number(static_cast<std::uint64_t>(node.arguments.size()));
  for (const NodeId argument : node.arguments) key.number(static_cast<std::uint64_t>(argument));
  for (const MaskForm form : node.forms)
    key.number(static_cast<std::uint64_t>(form.unknown) << 1 | std::uint64_t{form.opposite});
  const Attributes& a = node.attributes;
  key.number(a.number);
  key.number(static_cast<std::uint64_t>(a.values.size()));
  for (const Scalar& value : a.values) key.scalar(value);
  key.text(a.field);
  key.number(a.group ? static_cast<std::uint64_t>(*a.group) + 1 : 0);
  key.number(a.peers ? static_cast<std::uint64_t>(*a.peers) + 1 : 0);
  key.number(a.rule ? static_cast<std::uint64_t>(*a.rule) + 1 : 0);
  key.number(static_cast<std::uint64_t>(a.findings.size()));
  for (const std::string& rule : a.findings) key.text(rule);
  if (a.window) key.window(*a.window);
  return key.take();
}

Source source_of(const Node& node) {
  switch (node.op) {
    case Op::constant:
    case Op::window:
    case Op::finding: return Source::nothing;
    case Op::state:
    case Op::freeze:
    case Op::job_age:
    case Op::f_ever: return Source::leaf;
    case Op::f_now: return Source::finding;
    case Op::is: return Source::texts;
    default: return operation(node.op).on == Shape::window ? Source::window : Source::arguments;
  }
}

// The unit of a window's values. The rows of a counter are rates.
std::string window_unit(const SignalDefinition& signal) {
  return signal.kind == SignalKind::counter ? unit_quotient(signal.unit, "seconds") : signal.unit;
}

// A mask that changes about as often as what it is made of. The answer to a comparison with a limit hardly ever changes
// while its column does all the time: with values of its own it saves what follows from it.
bool follows_arguments(Op op) { return joins_masks(op) || op == Op::is || op == Op::same || op == Op::known; }
bool folds_members(Op op) { return op >= Op::g_median && op <= Op::m_count; }
bool computes_masks(Op op) { return joins_masks(op) || op == Op::choose || (op >= Op::m_any && op <= Op::m_count); }

}  // namespace

NodeId Graph::intern(Node node) {
  // Units are checked before: one constant serves for seconds and for counts.
  for (NodeId& argument : node.arguments)
    if (const Node& of = (*this)[argument]; of.op == Op::constant) argument = constant(of.attributes.number);
  std::string key = key_of(node);
  const auto [place, fresh] = by_key_.try_emplace(std::move(key), static_cast<NodeId>(nodes_.size()));
  if (fresh) {
    const Level level = node.type.level;
    NodeStep step{node.op, node.type.shape, level};
    step.source = source_of(node);
    step.arity = static_cast<std::uint8_t>(node.arguments.size());
    assert(node.arguments.size() <= step.arguments.size());
    std::copy(node.arguments.begin(), node.arguments.end(), step.arguments.begin());
    std::copy(node.forms.begin(), node.forms.end(), step.forms.begin());
    if (folds_members(step.op)) step.grouping = grouping(node);
    number(step);
    steps_.push_back(step);
    for (const NodeId argument : node.arguments) users_[static_cast<std::size_t>(argument)].push_back(place->second);
    users_.emplace_back();
    leaves_.resize(nodes_.size() + 1);
    if (step.source == Source::leaf || has_reading(step.source)) leaves_.add(place->second);
    else leaves_.remove(place->second);  // another node had the id before
    nodes_.push_back(std::move(node));
    keys_.push_back(place->first);
  }
  return place->second;
}

void Graph::number(NodeStep& step) {
  const auto level = static_cast<std::size_t>(step.level);
  if (has_reading(step.source)) step.reading = numbered_.readings++;
  if (step.has_column()) step.column = numbered_.columns[level]++;
  if (step.has_mask()) step.mask = numbered_.masks[level]++;
}

std::uint32_t Graph::grouping(const Node& node) {
  const Group by = node.attributes.group.value_or(Group::job);
  const Grouping one{step(node.arguments[0]).level, by,
                     by == Group::peers ? node.attributes.peers.value_or(PeersId{}) : PeersId{}};
  const auto known = std::ranges::find(groupings_, one);
  if (known == groupings_.end()) return groupings_.push_back(one), static_cast<std::uint32_t>(groupings_.size() - 1);
  return static_cast<std::uint32_t>(known - groupings_.begin());
}

NodeId Graph::constant(double value, std::string unit) {
  Node node{Op::constant, {Shape::column, Level::none, std::move(unit)}, {}, {}};
  node.attributes.number = value;
  return intern(std::move(node));
}

NodeId Graph::window(WindowSpec spec) {
  const SignalDefinition& signal = (*signals_)[spec.signal];
  // Filters commute, so their order does not distinguish two windows.
  std::sort(spec.filters.begin(), spec.filters.end(), [](const EventFilter& a, const EventFilter& b) {
    return std::tie(a.field, a.keep, a.values) < std::tie(b.field, b.keep, b.values);
  });
  spec.filters.erase(std::unique(spec.filters.begin(), spec.filters.end()), spec.filters.end());
  Node node{Op::window, {Shape::window, signal.owner, window_unit(signal)}, {}, {}};
  node.attributes.window = std::move(spec);
  return intern(std::move(node));
}

NodeId Graph::finding(std::vector<std::string> rules, Level level) {
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  Node node{Op::finding, {Shape::finding, level, "none"}, {}, {}};
  node.attributes.findings = std::move(rules);
  return intern(std::move(node));
}

NodeId Graph::state(RuleIndex rule, std::string field, Level per) {
  Node node{Op::state, {Shape::column, per, "any"}, {}, {}};
  node.attributes.rule = rule;
  node.attributes.field = std::move(field);
  return intern(std::move(node));
}

PeersId Graph::peers(std::vector<std::string> coordinates) {
  std::sort(coordinates.begin(), coordinates.end());
  coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
  const auto known = std::find(peers_.begin(), peers_.end(), coordinates);
  const auto id = static_cast<PeersId>(known - peers_.begin());
  if (known == peers_.end()) peers_.push_back(std::move(coordinates));
  return id;
}

void Graph::truncate(std::size_t mark) {
  assert(mark <= nodes_.size());
  for (std::size_t i = nodes_.size(); i-- > mark;) {
    for (const NodeId argument : nodes_[i].arguments) users_[static_cast<std::size_t>(argument)].pop_back();
    const NodeStep& step = steps_[i];
    const auto level = static_cast<std::size_t>(step.level);
    if (has_reading(step.source)) --numbered_.readings;
    if (step.has_column()) --numbered_.columns[level];
    if (step.has_mask()) --numbered_.masks[level];
    by_key_.erase(keys_[i]);
  }
  steps_.resize(mark), users_.resize(mark);
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(mark), nodes_.end());
  keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(mark), keys_.end());
}

void Graph::save(Writer& out) const {
  std::vector<NodeId> with_values;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (!steps_[i].in_place) with_values.push_back(static_cast<NodeId>(i));
  out(1, nodes_), out(2, peers_), out(3, with_values);
}

void Graph::load(Reader& in) {
  std::vector<Node> nodes;
  std::vector<NodeId> with_values;
  in(1, nodes), in(2, peers_), in(3, with_values);
  const auto unknown = [this](NodeId id) { return static_cast<std::size_t>(id) >= nodes_.size(); };
  for (Node& node : nodes) {
    const bool too_many = node.arguments.size() > most_arguments || node.forms.size() > most_arguments;
    if (too_many || std::ranges::any_of(node.arguments, unknown)) return in.fail("a node has no such arguments");
    (void)intern(std::move(node));
  }
  if (nodes_.size() != nodes.size() || std::ranges::any_of(with_values, unknown))
    return in.fail("its nodes are not those of a graph");
  compute_in_place(with_values);
}

std::vector<NodeId> Graph::reach(std::span<const NodeId> roots) const {
  std::vector<bool> seen(nodes_.size());
  std::vector<NodeId> pending(roots.begin(), roots.end()), found;
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen[static_cast<std::size_t>(id)]) continue;
    seen[static_cast<std::size_t>(id)] = true;
    found.push_back(id);
    for (const NodeId argument : (*this)[id].arguments) pending.push_back(argument);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::unordered_map<NodeId, NodeId> Graph::keep(std::span<const NodeId> roots) {
  Graph kept{*signals_};
  kept.peers_ = std::move(peers_);
  std::unordered_map<NodeId, NodeId> now;
  for (const NodeId id : reach(roots)) {
    Node node = std::move(nodes_[static_cast<std::size_t>(id)]);
    for (NodeId& argument : node.arguments) argument = now.at(argument);
    now[id] = kept.intern(std::move(node));
  }
  *this = std::move(kept);
  return now;
}

void Graph::compute_in_place(std::span<const NodeId> roots) {
  std::vector<bool> has_values(nodes_.size());
  for (const NodeId root : roots) has_values[static_cast<std::size_t>(root)] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;) {  // users come first
    auto& users = users_[i];
    if (has_values[i] || users.size() != 1 || !follows_arguments(nodes_[i].op)) continue;
    const NodeId user = users.front();
    if (!computes_masks((*this)[user].op)) continue;
    steps_[i].in_place = true;
    const NodeId reader = step(user).in_place ? this->users(user).front() : user;
    for (const NodeId argument : nodes_[i].arguments)
      std::ranges::replace(users_[static_cast<std::size_t>(argument)], static_cast<NodeId>(i), reader);
    users = {reader};
  }
  number_first({});
}

void Graph::number_first(std::span<const NodeId> nodes) {
  std::vector<bool> first(steps_.size(), nodes.empty());
  for (const NodeId id : nodes) first[static_cast<std::size_t>(id)] = true;
  numbered_ = {}, first_.reset();
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (first[i]) number(steps_[i]);
  if (!nodes.empty()) first_ = numbered_;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (!first[i]) number(steps_[i]);
}

}  // namespace tocsin::stream
