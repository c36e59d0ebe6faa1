#include "dsl/load/known_values.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace tocsin::dsl {
namespace {

using stream::Graph;
using stream::Level;
using stream::MaskForm;
using stream::Node;
using stream::NodeId;
using stream::Op;
using stream::Truth;

// Operations whose result is unknown where an argument is.
bool strict(Op op) { return (op >= Op::add && op <= Op::least && op != Op::fill) || op == Op::spread; }
// Reductions that are known where one member is.
bool of_any_member(Op op) { return op == Op::g_mean || op == Op::g_min || op == Op::g_max || op == Op::g_sum; }

// What follows from masks that are yes.
class Premises {
 public:
  Premises(const Graph& graph, std::vector<NodeId> yes) : graph_(&graph), yes_(std::move(yes)) {}

  [[nodiscard]] Premises with(NodeId mask) const {
    Premises more{*graph_, yes_};
    more.yes_.push_back(mask);
    return more;
  }
  // Whether the column is a number, or the mask decided.
  [[nodiscard]] bool known(NodeId id) {
    if (const auto done = known_.find(id); done != known_.end()) return done->second;
    return known_[id] = entailed([&](const Node& node, bool truth) { return compares(node, truth, id); }) || made(id);
  }
  // Whether a member of the mask is yes.
  [[nodiscard]] bool some(NodeId mask) const {
    return entailed(
        [&](const Node& node, bool truth) { return truth && counted(node) && within(*counted(node), mask); });
  }

 private:
  // What a mask that is neither joined nor negated says where it is yes or no.
  using Leaf = std::function<bool(const Node& node, bool truth)>;

  const Node& node(NodeId id) const { return (*graph_)[id]; }
  bool entailed(const Leaf& leaf) const {
    return std::any_of(yes_.begin(), yes_.end(), [&](NodeId mask) { return entails(mask, true, leaf); });
  }
  bool entails(NodeId mask, bool truth, const Leaf& leaf) const {
    const Node& of = node(mask);
    // Where a term is yes by an assumption, nothing follows.
    const auto term = [&](NodeId id, MaskForm form) {
      const bool is = truth != form.opposite;
      return form.of(Truth::unknown) != stream::truth(truth) && entails(id, is, leaf);
    };
    switch (of.op) {
      case Op::conjunction:
      case Op::disjunction: return (of.op == Op::conjunction) == truth ? any_term(of, term) : all_terms(of, term);
      case Op::spread: return entails(of.arguments[0], truth, leaf);
      default: return leaf(of, truth);
    }
  }
  bool compares(const Node& mask, bool truth, NodeId id) const {
    if (mask.op >= Op::above && mask.op <= Op::is)
      return std::any_of(mask.arguments.begin(), mask.arguments.end(), [&](NodeId of) { return carries(of, id); });
    if (mask.op == Op::known) return truth && carries(mask.arguments[0], id);
    const auto members = truth ? counted(mask) : std::nullopt;
    if (!members) return false;
    // Of one member at least; what is coarser is the same for all of them.
    const Node& wanted = node(id);
    const NodeId of_member = of_any_member(wanted.op) ? wanted.arguments[0] : id;
    return (of_member != id || wanted.type.level <= mask.type.level) &&
           entails(*members, true, [&](const Node& n, bool is) { return compares(n, is, of_member); });
  }
  // Whether this one is unknown where `id` is.
  bool carries(NodeId of, NodeId id) const {
    if (of == id) return true;
    const Node& user = node(of);
    return of > id && strict(user.op) &&
           std::any_of(user.arguments.begin(), user.arguments.end(), [&](NodeId one) { return carries(one, id); });
  }
  // The mask of which a member is yes if this one is.
  std::optional<NodeId> counted(const Node& mask) const {
    if (mask.op == Op::m_any || mask.op == Op::m_all) return mask.arguments[0];
    if (mask.op == Op::m_at_least && mask.arguments.size() == 1 && mask.attributes.number >= 1)
      return mask.arguments[0];
    if ((mask.op == Op::above || mask.op == Op::at_least) && node(mask.arguments[0]).op == Op::m_count) {
      const Node& limit = node(mask.arguments[1]);
      if (limit.op == Op::constant && limit.attributes.number >= (mask.op == Op::above ? 0 : 1))
        return node(mask.arguments[0]).arguments[0];
    }
    return std::nullopt;
  }
  bool within(NodeId part, NodeId mask) const {  // each member of `part` is one of `mask`
    if (part == mask) return true;
    return within(part, {}, mask, {});
  }
  bool within(NodeId part, MaskForm form, NodeId mask, MaskForm mask_form) const {
    if (part == mask && form.opposite == mask_form.opposite &&
        (form == mask_form || form.of(Truth::unknown) != Truth::yes))
      return true;
    const Node &of = node(part), &whole = node(mask);
    const auto holds_mask = [&](NodeId id, MaskForm f) { return within(part, form, id, mask_form.after(f)); };
    if (is_all(whole, mask_form)) return all_terms(whole, holds_mask);
    if (is_any(whole, mask_form) && any_term(whole, holds_mask)) return true;
    const auto in_mask = [&](NodeId id, MaskForm f) { return within(id, form.after(f), mask, mask_form); };
    if (is_any(of, form)) return all_terms(of, in_mask);
    return is_all(of, form) && any_term(of, in_mask);
  }
  static bool is_all(const Node& node, MaskForm form) {
    return node.op == (form.opposite ? Op::disjunction : Op::conjunction);
  }
  static bool is_any(const Node& node, MaskForm form) {
    return node.op == (form.opposite ? Op::conjunction : Op::disjunction);
  }
  static bool any_term(const Node& node, auto&& holds) {
    for (std::size_t i = 0; i < node.arguments.size(); ++i)
      if (holds(node.arguments[i], node.forms[i])) return true;
    return false;
  }
  static bool all_terms(const Node& node, auto&& holds) {
    return !any_term(node, [&](NodeId id, MaskForm form) { return !holds(id, form); });
  }
  // Whether it is known because of what it is made of.
  bool made(NodeId id) {
    const Node& of = node(id);
    const auto argument = [&](NodeId one) { return known(one); };
    switch (of.op) {
      case Op::constant:
      case Op::state:
      case Op::known:
      case Op::w_seen:
      case Op::w_within:
      case Op::w_older_than:
      case Op::job_age:
      case Op::g_count: return true;
      case Op::fill:
      case Op::greatest_known:
      case Op::least_known: return std::any_of(of.arguments.begin(), of.arguments.end(), argument);
      case Op::choose:
        return argument(of.arguments[0]) && argument(of.arguments[2]) &&
               (argument(of.arguments[1]) || with(of.arguments[0]).known(of.arguments[1]));
      case Op::freeze: return argument(of.arguments[0]);
      case Op::log: return false;
      case Op::conjunction:
      case Op::disjunction:
        return all_terms(of, [&](NodeId one, MaskForm form) { return form.decides() || known(one); });
      default: break;
    }
    const bool of_masks =
        (of.op >= Op::above && of.op <= Op::is) || of.op == Op::m_any || of.op == Op::m_all || of.op == Op::m_count;
    return (strict(of.op) || of_masks || of_any_member(of.op)) &&
           std::all_of(of.arguments.begin(), of.arguments.end(), argument);
  }

  const Graph* graph_;
  std::vector<NodeId> yes_;
  std::map<NodeId, bool> known_;
};

// A member has the name of its own level, and a GPU that of its node; its rack, or the node of a rank, no record may
// have named.
bool has_name(Level level, const std::string& name) {
  return stream::level_named(name) == level || (level == Level::gpu && name == "node");
}

}  // namespace

std::vector<std::string> unknown_places(const stream::TextTemplate& text, const stream::Rule& rule, const Graph& graph,
                                        std::optional<NodeId> cause) {
  using Place = stream::TextTemplate::Place;
  Premises premises{graph, {rule.answer}};
  if (cause) premises = premises.with(*cause);
  const auto named = [&] { return rule.who && premises.some(*rule.who); };
  const auto known = [&](const Place& place) {
    switch (place.kind) {
      case Place::Kind::parameter: return true;
      case Place::Kind::label: return false;
      case Place::Kind::member: return has_name(rule.per, place.name);
      case Place::Kind::who: return named();
      case Place::Kind::culprit: return named() && has_name(graph[*rule.who].type.level, place.name);
      case Place::Kind::value: break;
    }
    const auto output = std::find_if(rule.outputs.begin(), rule.outputs.end(),
                                     [&](const stream::Output& one) { return one.name == place.name; });
    if (output == rule.outputs.end()) return true;  // a problem already
    if (graph[output->node].type.level <= rule.per) return premises.known(output->node);
    return named() && premises.with(*rule.who).known(output->node);
  };
  std::vector<std::string> unknown;
  for (const auto& part : text.parts)
    for (const Place& place : part.places)
      if (!part.optional && !known(place)) unknown.push_back(place.name);
  return unknown;
}

}  // namespace tocsin::dsl
