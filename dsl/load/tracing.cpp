#include "dsl/load/tracing.h"

#include <algorithm>
#include <lua.hpp>

#include "dsl/load/known_values.h"
#include "dsl/load/templates.h"
#include "dsl/lua/bytecode.h"
#include "dsl/lua/durations.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "dsl/lua/values.h"
#include "stream/graph/time_range.h"
#include "stream/windows/panes.h"

namespace tocsin::dsl {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Op;
using stream::Shape;

std::string quoted(Level level) { return "\"" + std::string(name(level)) + "\""; }

// One rule's trace, and the checks of its result.
struct Trace {
  Collection& collection;
  const RuleSource& source;
  const stream::Graph& traced;
  stream::Rule& rule;
  Evaluation& evaluation;
  Answer answer;

  Problems& problems() const { return *collection.problems; }
  const stream::Graph& graph() const { return traced; }
  const stream::Type& type(NodeId node) const { return graph()[node].type; }
  void problem(int line, std::string message) const { problems().add(source.file, line, std::move(message)); }
  int line_of(const std::string& key) const { return problems().line_of_key(source.file, source.line, key); }
  int line_of_output(const std::string& key) const {
    const int line = problems().line_of_key(source.file, std::max(1, source.first_line), key);
    return line <= source.last_line ? line : source.last_line;
  }
  bool fits(NodeId node) const { return type(node).level <= rule.per; }

  void check_answer() {
    const NodeId mask = answer.mask;
    if (!fits(mask))
      problem(line_of("per"), "per = '" + std::string(name(rule.per)) + "', but evaluate returned a value per " +
                                  std::string(name(type(mask).level)) + ": use :any(" + quoted(rule.per) +
                                  ") or :all(" + quoted(rule.per) + ")");
    rule.answer = mask;
    for (const auto& made : evaluation.made)
      if (!made.used)
        problems().add(made.file, made.line, "this mask was made and never used. Between masks write '&', not 'and'");
  }

  void take_outputs() {
    for (const auto& [name, node] : answer.outputs) {
      if (name == "who") {
        check_who(node);
        rule.who = node;
        continue;
      }
      if (source.causes.contains(name)) check_cause(name, node);
      rule.outputs.push_back({name, node});
    }
    rule.shows = texts_of("shows", source.shows, "shows");
    for (const auto& [cause, written] : source.causes) {
      const auto node = answer.outputs.find(cause);
      if (node == answer.outputs.end()) {
        problem(line_of("causes"), "causes names '" + cause + "', which evaluate does not return" +
                                       nearest(cause, output_names()) + ": add it to the second value");
        continue;
      }
      rule.causes.push_back({cause, node->second, texts_of("causes." + cause, written, cause)});
    }
    for (const auto& [cause, written] : source.actions)
      rule.actions.push_back({cause == "otherwise" ? "" : cause, texts_of("actions." + cause, written, "actions")});
  }

  // A value that nothing guards: the text is then not what its author reads in the file.
  void warn_of_unknown() const {
    const auto check = [&](const std::string& what, const stream::Texts& texts, const std::string& key,
                           std::optional<NodeId> cause, const char* then) {
      if (texts.empty()) return;
      for (const std::string& name : unknown_places(texts.back(), rule, graph(), cause))
        problems().warn(source.file, line_of(key),
                        what + ": {" + name + "} can be unknown, and " + then +
                            " is left out then: put what needs it in brackets, \"…[ of {" + name +
                            "}]\", or list a text without it after this one");
    };
    check("shows", rule.shows, "shows", std::nullopt, "its clause");
    for (const auto& cause : rule.causes)
      check("causes." + cause.name, cause.texts, cause.name, cause.node, "its clause");
    for (const auto& action : rule.actions) {
      const auto node = answer.outputs.find(action.cause);
      if (!action.cause.empty() && (node == answer.outputs.end() || source.actions.contains("otherwise"))) continue;
      check("actions." + (action.cause.empty() ? "otherwise" : action.cause), action.texts, "actions",
            action.cause.empty() ? std::nullopt : std::optional{node->second}, "the action");
    }
  }

  std::vector<std::string> output_names() const {
    std::vector<std::string> names;
    for (const auto& [name, node] : answer.outputs) names.push_back(name);
    return names;
  }

  void check_who(NodeId who) const {
    if (type(who).shape != Shape::mask)
      return problem(line_of_output("who"), "who must be a mask: for each member, whether it is a culprit");
    if (type(who).level <= rule.per)
      problem(line_of_output("who"), "who is a value per " + std::string(name(type(who).level)) +
                                         ": it must be finer than per = '" + std::string(name(rule.per)) +
                                         "', for it names members within");
  }

  void check_cause(const std::string& cause, NodeId node) const {
    if (type(node).shape != Shape::mask)
      problem(line_of_output(cause),
              "cause '" + cause + "' is not a mask: a cause is given where it is yes, so write :above(…) or :is(…)");
    else if (!fits(node))
      problem(line_of_output(cause), "cause '" + cause + "' is a value per " + std::string(name(type(node).level)) +
                                         ", but per = '" + std::string(name(rule.per)) + "': use :any(" +
                                         quoted(rule.per) + ") or :all(" + quoted(rule.per) + ")");
  }

  stream::Texts texts_of(const std::string& what, const std::vector<std::string>& written, const std::string& key) {
    auto texts = parse_texts(
        written, rule.per, [this](const std::string& name) { return answer.outputs.contains(name); },
        [&](const std::string& message) { problem(line_of(key), what + ": " + message); });
    for (const auto& text : texts) text.each_place([&](const auto& place) { check_place(what, place, line_of(key)); });
    return texts;
  }

  void check_place(const std::string& what, const stream::TextTemplate::Place& place, int line) {
    using Kind = stream::TextTemplate::Place::Kind;
    const std::string& name = place.name;
    if (place.kind == Kind::member) return;
    if (place.kind == Kind::label) {
      if (rule.scope == stream::Scope::cluster)
        problem(line, what + ": {job." + name + "} is a label of a job, and a rule of the cluster is about none");
      return;
    }
    if (place.kind == Kind::culprit) {
      const Level wanted = *stream::level_named(name);
      const auto who = answer.outputs.find("who");
      if (who == answer.outputs.end() || type(who->second).level < wanted)
        problem(line, what + " names '" + name + "', but per = '" + std::string(stream::name(rule.per)) +
                          "' has several: return who, a mask per " + name +
                          ", and it stands for those that are at fault");
      return;
    }
    if (place.kind == Kind::parameter) {
      evaluation.params_read.insert(name);
      std::vector<std::string> names;
      for (const auto& [param, value] : source.params) names.push_back(param);
      if (!source.params.contains(name))
        problem(line, what + " names 'p." + name + "', which is not in params" + nearest(name, names));
      return;
    }
    const auto output = answer.outputs.find(name);
    if (output == answer.outputs.end()) {
      auto known = output_names();
      for (std::string& member : member_names(rule.per)) known.push_back(std::move(member));
      return problem(line, what + " names '" + name + "', which evaluate does not return" + nearest(name, known) +
                               ": add it to the second value");
    }
    if (place.kind == Kind::who) return;
    const NodeId node = output->second;
    const stream::Type& is = type(node);
    if (is.shape == Shape::mask)
      return problem(line, what + ": {" + name + "} is a mask, yes or no: show the column that it was made of");
    const auto culprits = answer.outputs.find("who");
    const bool of_culprits = culprits != answer.outputs.end() && is.level <= type(culprits->second).level;
    if (!fits(node) && !of_culprits)
      problem(line_of_output(name), what + ": {" + name + "} is a value per " + std::string(stream::name(is.level)) +
                                        ", but per = '" + std::string(stream::name(rule.per)) +
                                        "': take it up through a group, :max(" + quoted(rule.per) + ")");
    if (is.text() && place.conversion != 's' && !(place.conversion == 'g' && place.precision < 0))
      problem(line, what + ": {" + name + "} is text, which takes no format: write {" + name + "}");
    if (place.conversion == '%') check_percentage(what, place, node, line);
  }

  void check_percentage(const std::string& what, const stream::TextTemplate::Place& place, NodeId node,
                        int line) const {
    for (const auto& compared : evaluation.compared) {
      if (compared.column != node || compared.limit <= 1.5) continue;
      char two[32];
      std::snprintf(two, sizeof two, "%.2f", compared.limit / 100);
      problem(line, what + ": {" + place.name + "} is shown as a percentage and compared with " +
                        (compared.name.empty() ? "" : compared.name + " = ") + shown(compared.limit) +
                        "; did you mean " + two + "?");
      return;
    }
  }

  void take_locals() {
    for (const auto& [name, node] : evaluation.locals)
      if (const Shape shape = graph()[node].type.shape; shape == Shape::column || shape == Shape::mask)
        rule.locals.push_back({name, node});
  }

  void take_state() {
    for (auto& field : rule.state)
      if (const auto written = evaluation.written.find(field.name); written != evaluation.written.end())
        field.write = written->second;
  }

  // What only texts, causes and culprits read is computed when a member fires, except what a rule remembers: a frozen
  // value is that of the tick before the alert, and a state field has the value before this evaluation wrote it.
  void divide_nodes() {
    std::vector<NodeId> roots{rule.answer}, reported;
    for (const auto& field : rule.state)
      if (field.write) roots.push_back(*field.write);
    for (const auto& output : rule.outputs) reported.push_back(output.node);
    for (const auto& cause : rule.causes) reported.push_back(cause.node);
    if (rule.who) reported.push_back(*rule.who);
    const auto all = graph().reach(reported);
    const auto remembered = [&](NodeId id) {
      return graph()[id].op == stream::Op::freeze || graph()[id].op == stream::Op::state;
    };
    std::copy_if(all.begin(), all.end(), std::back_inserter(roots), remembered);
    rule.hot = graph().reach(roots);
    std::set_difference(all.begin(), all.end(), rule.hot.begin(), rule.hot.end(), std::back_inserter(rule.cold));
  }

  void warn_of_unread() const {
    for (const auto& [name, value] : source.params)
      if (!evaluation.params_read.contains(name))
        problems().warn(source.file, line_of(name), "params." + name + " is never read: take it out");
    for (const auto& [name, need] : source.needs) {
      const bool trigger = std::find(source.every.begin(), source.every.end(), name) != source.every.end();
      if (!trigger && !evaluation.needs_read.contains(name))
        problems().warn(need.file, need.line,
                        "need '" + name + "' is never read: take it out, for what is listed is stored");
    }
  }

  // A window that reaches back more than 5 minutes holds whole panes only: where it ends within one, that and the one
  // in which it begins are not counted. A short one then never has as many values as make it known.
  void warn_of_short() const {
    for (const auto& [name, node] : rule.needs) {
      const auto& window = graph()[node].attributes.window;
      if (!window || !window->baseline()) continue;
      const auto& signal = graph().signals()[window->signal];
      if (signal.kind == stream::SignalKind::event || signal.kind == stream::SignalKind::state)
        continue;  // known from one on
      constexpr std::int64_t rows = stream::Panes<float>::rows_a_pane;
      const auto least = static_cast<std::int64_t>(stream::least_of(*window));
      const stream::Duration pane = signal.row * rows;
      const std::int64_t values = std::max<std::int64_t>(window->over / pane - 1, 0) * rows;
      if (values >= least || !reduced_of_many(*window)) continue;
      const NeedSource& need = source.needs.at(name);
      const auto seconds_of = [](stream::Duration span) { return shown(stream::seconds(span)); };
      problems().warn(need.file, need.line,
                      "need '" + name + "' reaches back more than 5 minutes and is read in whole panes of " +
                          seconds_of(pane) + " s: of these " + seconds_of(window->over) +
                          " s it may hold no more than " + std::to_string(values) + " values, and it is known from " +
                          std::to_string(least) + " on. Write over = \"" +
                          seconds_of(pane * ((least + rows - 1) / rows + 1)) + "s\" or more" +
                          (values > 0 ? ", or least = " + std::to_string(values) : ""));
    }
  }
  // Whether a word is asked of the window that needs more than one value of it.
  bool reduced_of_many(const stream::WindowSpec& window) const {
    const auto asks = [&](NodeId id) {
      const stream::Node& node = graph()[id];
      if (stream::operation(node.op).on != Shape::window || node.type.shape != Shape::column) return false;
      if (node.op == Op::w_last || node.op == Op::w_first || node.op == Op::w_count || node.op == Op::w_age ||
          node.op == Op::w_interval)
        return false;
      const auto& of = node.attributes.window;
      return of && stream::same_values(*of, window) && of->least == window.least;
    };
    return std::any_of(rule.hot.begin(), rule.hot.end(), asks) || std::any_of(rule.cold.begin(), rule.cold.end(), asks);
  }
};

}  // namespace

Answer read_answer(lua_State* state, Evaluation& evaluation) {
  Host& host = Host::of(state);
  const RuleSource& rule = evaluation.rule;
  const auto refuse = [&](const std::string& message) { host.stop_at(state, rule.file, rule.last_line, message); };
  Answer answer;
  const Value* mask = value_at(state, -2);
  if (!mask) {
    if (lua_isnil(state, -2))
      refuse("evaluate must return a mask; this path returned nothing: end it with 'return mask'");
    refuse(std::string{"evaluate must return a mask; it returned a "} + luaL_typename(state, -2));
  }
  use(evaluation, *mask);
  answer.mask = mask->node;
  const stream::Type& type = evaluation.graph[mask->node].type;
  if (type.shape != Shape::mask)
    refuse("evaluate must return a mask; it returned a " + std::string(name(type.shape)) +
           (type.shape == Shape::column ? ": make a mask of it, :above(…)" : ""));
  if (lua_isnil(state, -1)) return answer;
  if (!lua_istable(state, -1))
    refuse(std::string{"the second value is a "} + luaL_typename(state, -1) + ": write return mask, { name = column }");
  const int table = lua_gettop(state);
  for (lua_pushnil(state); lua_next(state, table); lua_pop(state, 1)) {
    if (lua_type(state, -2) != LUA_TSTRING)
      refuse("the second value names what it holds: write return mask, { name = column }");
    const std::string name = lua_tostring(state, -2);
    if (!value_at(state, -1) && lua_type(state, -1) != LUA_TNUMBER)
      refuse("'" + name + "' in the second value is a " + luaL_typename(state, -1) + ": it holds columns and masks");
    const NodeId node = operand(state, evaluation, lua_gettop(state), name);
    const Shape shape = evaluation.graph[node].type.shape;
    if (shape != Shape::column && shape != Shape::mask)
      refuse("'" + name + "' in the second value is a " + std::string(stream::name(shape)) +
             (shape == Shape::window ? ": reduce it over time first, :last()" : ": ask it first, :now()"));
    answer.outputs[name] = node;
  }
  return answer;
}

void declare_needs(const Collection& collection, const RuleSource& source, stream::RuleIndex index, stream::Pack& pack,
                   stream::Graph& graph) {
  stream::Rule& rule = pack.rules[static_cast<std::size_t>(index)];
  for (const auto& [name, need] : source.needs) {
    if (need.signal.empty()) {
      Level level = Level::job;  // several rules make one mask per job
      if (!need.joined)
        if (const auto found = collection.rules.find(need.findings[0]); found != collection.rules.end())
          level = stream::level_named(found->second.per).value_or(Level::job);
      rule.needs.emplace_back(name, graph.finding(need.findings, level));
      continue;
    }
    const auto id = pack.signals.find(need.signal);
    if (!id) continue;
    stream::WindowSpec spec = need.window;
    spec.signal = *id;
    spec.settle = rule.settle;
    if (need.freeze) spec.freeze = index;
    rule.needs.emplace_back(name, graph.window(std::move(spec)));
    if (std::find(rule.signals.begin(), rule.signals.end(), *id) == rule.signals.end()) rule.signals.push_back(*id);
  }
}

void trace(Host& host, Collection& collection, const RuleSource& source, stream::RuleIndex index, stream::Pack& pack,
           stream::Graph& graph) {
  stream::Rule& rule = pack.rules[static_cast<std::size_t>(index)];
  Problems& problems = *collection.problems;
  Evaluation evaluation{graph,        source,  index, rule.per, {rule.needs.begin(), rule.needs.end()},
                        std::nullopt, nullptr, 0,     0,        0,
                        {},           {},      {},    {},       {}};
  evaluation.most_nodes = host.budgets().nodes;
  if (!source.peers.empty()) evaluation.peers = graph.peers(source.peers);
  Answer answer;
  std::vector<Finding> decided;
  host.evaluation = &evaluation;
  const auto failure = host.guarded(host.budgets().load_instructions, [&](lua_State* state) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, source.evaluate);
    if (const auto code = bytecode_of(state, -1)) decided = decisions(*code, true);
    push_job(state);
    push_params(state);
    push_state(state);
    lua_call(state, 3, 2);
    answer = read_answer(state, evaluation);
  });
  host.evaluation = nullptr;
  for (const Finding& one : decided) {
    // Bytecode does not tell '~=' from '=='.
    constexpr std::string_view equal = "'==' never holds for a column. Write :is(";
    const std::string line = problems.source_line(source.file, one.line);
    const bool differs = line.find("~=") != line.npos && line.find("==") == line.npos;
    problems.add(source.file, one.line,
                 differs && one.message.starts_with(equal)
                     ? "'~=' always holds for a column. Write ~x:is(" + one.message.substr(equal.size())
                     : one.message);
  }
  if (failure && failure->scripted) {
    if (decided.empty()) rule.scripted = failure->message;
    return;
  }
  if (failure) {
    // A problem from the bytecode of a line replaces that of the plain true or false that it led to.
    const bool reported =
        failure->message.starts_with("'=='") &&
        std::any_of(decided.begin(), decided.end(), [&](const Finding& one) { return one.line == failure->line; });
    if (reported) return;
    problems.add(failure->file.empty() ? source.file : failure->file, failure->line > 0 ? failure->line : source.line,
                 failure->message);
    return;
  }
  Trace checks{collection, source, graph, rule, evaluation, std::move(answer)};
  checks.check_answer();
  checks.take_outputs();
  checks.take_locals();
  checks.take_state();
  checks.divide_nodes();
  if (!problems.fatal()) checks.warn_of_unknown();
  checks.warn_of_unread();
  checks.warn_of_short();
}

}  // namespace tocsin::dsl
