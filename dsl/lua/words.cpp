// The words of values, x:above(1): turns Lua's arguments into those of the operations' table.
#include <algorithm>
#include <lua.hpp>

#include "dsl/lua/durations.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "dsl/lua/values.h"

namespace tocsin::dsl {
namespace {

using stream::NodeId;
using stream::Op;
using stream::Shape;
using stream::Takes;

const char words_key = 0;  // of the closures of all words, in the registry

// The result of one call, and its name.
struct Call {
  lua_State* state;
  Evaluation& evaluation;
  const stream::Operation& entry;
  NodeId receiver;
  std::vector<NodeId> arguments;
  stream::Attributes attributes;

  [[noreturn]] void stop(std::string message) const { Host::of(state).stop(state, std::move(message)); }
  [[nodiscard]] std::string word() const { return std::string{entry.name}; }
  [[nodiscard]] bool given(int index) const { return !lua_isnoneornil(state, index); }
  [[nodiscard]] bool is_text(int index) const { return lua_type(state, index) == LUA_TSTRING; }
  [[nodiscard]] std::string text(int index) const { return lua_tostring(state, index); }
  [[nodiscard]] bool in_cluster() const { return evaluation.rule.scope == stream::Scope::cluster; }
  // Every event in the cluster has it besides its own fields.
  void job_is_known() const {
    if (attributes.field == stream::job_field && !in_cluster()) known_field(attributes.field);
  }
  [[nodiscard]] std::string typed(int index) const {
    return given(index) ? "a " + std::string{luaL_typename(state, index)} : "nothing";
  }

  void nothing_more(int index) const {
    if (lua_gettop(state) < index || !given(index)) return;
    if (is_text(index) && entry.on == Shape::window) no_group_over_time(text(index));
    stop(word() +
         (index == 2 ? "() takes nothing in parentheses" : " takes fewer values: " + std::string{entry.documentation}));
  }
  [[noreturn]] void no_group_over_time(const std::string& group) const {
    const bool both = stream::find_operation(entry.name, Shape::column).has_value();
    const std::string across = both ? word() : "max";
    stop(word() + " over time takes no group; first over time, then across members: :" + word() + "():" + across +
         "(\"" + group + "\")");
  }

  double number(int index) const {
    if (const Value* value = value_at(state, index)) {
      const stream::Node& node = evaluation.graph[value->node];
      if (node.op == Op::constant) return node.attributes.number;
      stop(word() + " wants a plain number here, not a column: write it out, or take it from params");
    }
    if (lua_type(state, index) == LUA_TNUMBER) return lua_tonumber(state, index);
    if (is_text(index) && entry.on == Shape::window) no_group_over_time(text(index));
    if (entry.op == Op::w_quantile) stop("quantile wants a number between 0 and 1: :quantile(0.99)");
    if (entry.op == Op::w_ewma) stop("ewma of how many values? :ewma(16)");
    stop(word() + " wants a number, not " + typed(index));
  }

  void column(int index) {
    if (!given(index)) stop(word() + " wants a column or a number, not nil: " + std::string{entry.documentation});
    arguments.push_back(operand(state, evaluation, index, word()));
  }

  bool another_column(int index) const {
    const Value* value = lua_gettop(state) == index ? value_at(state, index) : nullptr;
    return value && evaluation.graph[value->node].op != Op::constant;
  }
  stream::Scalar literal(int index) const {
    if (is_text(index)) return text(index);
    if (lua_type(state, index) == LUA_TNUMBER) return lua_tonumber(state, index);
    if (const Value* value = value_at(state, index)) {
      const stream::Node& node = evaluation.graph[value->node];
      if (node.op == Op::constant) return node.attributes.number;
      stop(word() + "(…) takes numbers, texts, or one column");
    }
    stop(word() + "(…) takes numbers or texts, not " + typed(index));
  }
  // A literal, or a list of them.
  void literals(int index) {
    if (lua_type(state, index) != LUA_TTABLE) {
      attributes.values.push_back(literal(index));
      return;
    }
    const lua_Integer n = luaL_len(state, index);
    Host::of(state).charge(state, static_cast<std::uint64_t>(std::max<lua_Integer>(n, 0)));
    for (lua_Integer i = 1; i <= n; ++i) {
      lua_geti(state, index, i);
      attributes.values.push_back(literal(lua_gettop(state)));
      lua_pop(state, 1);
    }
  }

  void group(int index) {
    if (!given(index)) { ask_group(); }
    if (!is_text(index))
      stop(word() + " wants a group, not " + typed(index) + ": " + word() + "(\"node\"), " + word() + "(\"job\")");
    const std::string name = text(index);
    const std::string whole = in_cluster() ? "cluster" : "job";  // of all members
    if (name == (in_cluster() ? "job" : "cluster"))
      stop("\"" + name + "\" is a group of rules " +
           (in_cluster() ? "about a job: in a rule of the cluster" : "of scope cluster: in a rule about a job") +
           " write \"" + whole + "\"");
    attributes.group = stream::group_named(name == whole ? "job" : name);
    if (!attributes.group) {
      const std::vector<std::string> groups{"peers", "gpu", "node", "rack", whole};
      stop("no group \"" + name + "\"" + nearest(name, groups) + ": \"peers\", \"gpu\", \"node\", \"rack\" or \"" +
           whole + "\"");
    }
    attributes.peers = evaluation.peers;
  }
  [[noreturn]] void ask_group() const {
    std::string n;
    if (entry.op == Op::g_quantile) n = "0.9, ";
    if (entry.op == Op::m_at_least || entry.op == Op::m_at_most) n = "2, ";
    std::string choices;
    if (evaluation.peers) choices = word() + "(" + n + "\"peers\"), ";
    stop(word() + " across which members? " + choices + word() + "(" + n + "\"node\"), " + word() + "(" + n +
         (in_cluster() ? "\"cluster\")" : "\"job\")"));
  }

  void count_or_field(int index) {
    if (!given(index)) return;
    if (!is_text(index)) {
      attributes.number = number(index);
      if (attributes.number == 0) stop(word() + "(0): a number of points, 1 or more");
      return;
    }
    const auto kind = evaluation.graph.signals()[evaluation.graph[receiver].attributes.window->signal].kind;
    if (kind != stream::SignalKind::event) no_group_over_time(text(index));
    attributes.field = text(index);
    job_is_known();
  }

  void bits(int index) {
    if (lua_type(state, index) != LUA_TTABLE) stop("fraction of which bits? :fraction { bits = 0x8 }");
    lua_getfield(state, index, "bits");
    attributes.number = number(lua_gettop(state));
    lua_pop(state, 1);
  }

  // where { code = 79, pci = "…" }: one filter after the other.
  int fields(int index) {
    if (lua_type(state, index) != LUA_TTABLE)
      stop(word() + " wants fields and their values: :" + word() + " { code = 79 }");
    look_behind(state, index);
    std::vector<std::string> names;
    for (lua_pushnil(state); lua_next(state, index); lua_pop(state, 1)) {
      if (lua_type(state, -2) != LUA_TSTRING) stop(word() + " wants names of fields: :" + word() + " { code = 79 }");
      names.push_back(lua_tostring(state, -2));
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) stop(word() + " wants fields and their values: :" + word() + " { code = 79 }");
    NodeId filtered = receiver;
    for (const std::string& name : names) {
      known_field(name);
      attributes = {};
      attributes.field = name;
      lua_getfield(state, index, name.c_str());
      literals(lua_gettop(state));
      lua_pop(state, 1);
      apply(state, evaluation, entry.op, {filtered}, attributes);
      filtered = value_at(state, -1)->node;
      if (&name != &names.back()) lua_pop(state, 1);
    }
    return 1;
  }
  void known_field(const std::string& name) const {
    const stream::Node& window = evaluation.graph[receiver];
    if (window.type.shape != Shape::window) return;
    const auto& signal = evaluation.graph.signals()[window.attributes.window->signal];
    if (signal.kind != stream::SignalKind::event) return;
    std::vector<std::string> all;
    for (const auto& field : signal.fields) all.push_back(field.name);
    if (in_cluster()) all.emplace_back(stream::job_field);
    if (std::find(all.begin(), all.end(), name) == all.end())
      stop("'" + signal.name + "' has no field '" + name + "'" +
           (name == stream::job_field ? ": which job it was in is known in rules of scope cluster"
                                      : nearest(name, all)));
  }

  int run();
};

int Call::run() {
  if (entry.op == Op::number || entry.op == Op::yes || entry.op == Op::each) {
    nothing_more(2);
    return concrete(state, entry.op);
  }
  arguments.push_back(receiver);
  int last = 2;
  switch (entry.takes) {
    case Takes::nothing: last = 1; break;
    case Takes::column:
      column(2);
      if (lua_gettop(state) > 2 && given(3))
        stop(word() + " of a column takes one value; a mask takes a number and a group");
      break;
    case Takes::columns:
    case Takes::masks: break;
    case Takes::low_high:
      column(2);
      if (given(3)) column(3);
      last = 3;
      break;
    case Takes::literals:
      if (!given(2)) stop("is what? :is(79), :is(\"eval\", \"checkpoint\")");
      if (another_column(2)) arguments.push_back(operand(state, evaluation, 2, word()));
      else
        for (int i = 2; i <= lua_gettop(state); ++i) literals(i);
      last = lua_gettop(state);
      break;
    case Takes::group: group(2); break;
    case Takes::number_group:
      if (is_text(2) && !given(3))
        stop(word() + " wants a number, then a group: " + word() +
             (entry.op == Op::g_quantile ? "(0.9, \"" : "(2, \"") + text(2) + "\")");
      if (entry.op == Op::g_quantile) {
        if (!given(2)) ask_group();
        attributes.number = number(2);
      } else if (value_at(state, 2)) {
        arguments.push_back(operand(state, evaluation, 2, word()));
      } else {
        if (!given(2)) ask_group();
        attributes.number = number(2);
      }
      group(3);
      last = 3;
      break;
    case Takes::number:
      if (given(2) || entry.op != Op::w_cusum) attributes.number = number(2);
      break;
    case Takes::count: count_or_field(2); break;
    case Takes::field:
      if (!is_text(2)) stop(word() + " of which field? :" + word() + "(\"code\")");
      attributes.field = text(2);
      job_is_known();
      break;
    case Takes::fields: return fields(2);
    case Takes::bits: bits(2); break;
    case Takes::level:
      if (!is_text(2)) stop("at which level? :at(\"rank\")");
      attributes.field = text(2);
      break;
    case Takes::choice:
      column(2);
      column(3);
      last = 3;
      break;
  }
  nothing_more(last + 1);
  apply(state, evaluation, entry.op, arguments, std::move(attributes));
  return 1;
}

int call_word(lua_State* state) {
  const auto op = static_cast<Op>(lua_tointeger(state, lua_upvalueindex(1)));
  Evaluation& evaluation = evaluation_of(state);
  const stream::Operation& entry = stream::operation(op);
  const Value* receiver = value_at(state, 1);
  if (!receiver)
    Host::of(state).stop(state, "write ':' before a word and '(' after it: x:" + std::string{entry.name} + "(…)");
  use(evaluation, *receiver);
  return Call{state, evaluation, entry, receiver->node, {}, {}}.run();
}

int call_function(lua_State* state) {
  const auto op = static_cast<Op>(lua_tointeger(state, lua_upvalueindex(1)));
  Evaluation& evaluation = evaluation_of(state);
  const std::string word{stream::operation(op).name};
  std::vector<NodeId> arguments;
  for (int i = 1; i <= lua_gettop(state); ++i) arguments.push_back(operand(state, evaluation, i, word));
  apply(state, evaluation, op, arguments);
  return 1;
}

std::string word_of_another_language(std::string_view key) {
  static constexpr std::pair<std::string_view, const char*> words[] = {
      {"avg", ":mean()"},           {"average", ":mean()"},
      {"avg_over_time", ":mean()"}, {"std", ":stddev()"},
      {"stdev", ":stddev()"},       {"stdvar", ":stddev()"},
      {"var", ":stddev()"},         {"percentile", ":quantile(0.99)"},
      {"p99", ":quantile(0.99)"},   {"p95", ":quantile(0.95)"},
      {"p50", ":median()"},         {"increase", ":delta()"},
      {"deriv", ":slope()"},        {"gt", ":above(…)"},
      {"lt", ":below(…)"},          {"ge", ":at_least(…)"},
      {"le", ":at_most(…)"},        {"eq", ":is(…)"},
      {"greater", ":above(…)"},     {"less", ":below(…)"},
      {"length", ":count()"},       {"size", ":count()"},
      {"len", ":count()"},          {"latest", ":last()"},
      {"current", ":last()"},       {"absent", ":count():is(0)"},
      {"default", ":fill(0)"},      {"ifelse", "mask:choose(a, b)"},
      {"where_", ":where { … }"}};
  for (const auto& [theirs, ours] : words)
    if (key == theirs) return ours;
  return "";
}

std::string_view advice(Shape shape) {
  switch (shape) {
    case Shape::window: return "reduce it over time first: :last(), :mean()";
    case Shape::column: return "make a mask of it: :above(…), :is(…)";
    case Shape::finding: return ":now(), :ever()";
    case Shape::mask:
    case Shape::job: return "";
  }
  return "";
}

}  // namespace

void push_function(lua_State* state, Op op) {
  lua_pushinteger(state, static_cast<lua_Integer>(op));
  lua_pushcclosure(state, call_function, 1);
}

void register_words(lua_State* state) {
  lua_createtable(state, static_cast<int>(stream::operations().size()), 0);
  for (const stream::Operation& entry : stream::operations()) {
    lua_pushinteger(state, static_cast<lua_Integer>(entry.op));
    lua_pushcclosure(state, call_word, 1);
    lua_rawseti(state, -2, static_cast<lua_Integer>(entry.op) + 1);
  }
  lua_rawsetp(state, LUA_REGISTRYINDEX, &words_key);
}

int index_word(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const Value* value = value_at(state, 1);
  const stream::Type& type = evaluation.graph[value->node].type;
  const std::string key =
      lua_type(state, 2) == LUA_TSTRING ? lua_tostring(state, 2) : std::string{luaL_typename(state, 2)};
  const bool word =
      lua_type(state, 2) == LUA_TSTRING && !key.empty() && std::isalpha(static_cast<unsigned char>(key[0]));
  auto op = word ? stream::find_operation(key, type.shape) : std::nullopt;
  if (op && stream::operation(*op).takes == Takes::columns)
    Host::of(state).stop(state, "'" + key + "' is a function: write " + key + "(a, b)");
  if (op) {
    lua_rawgetp(state, LUA_REGISTRYINDEX, &words_key);
    lua_rawgeti(state, -1, static_cast<lua_Integer>(*op) + 1);
    return 1;
  }
  const std::string shape{name(type.shape)};
  if (!word)
    Host::of(state).stop(state, "a " + shape + " has no numbered entries: it holds a value per " +
                                    std::string{name(type.level)} +
                                    ", and a rule describes any one of them; one value of them all is x:max(\"job\"), "
                                    "one after the other x:each()");
  if (const std::string ours = word_of_another_language(key); !ours.empty())
    Host::of(state).stop(state, "no word '" + key + "' for a " + shape + ": write " + ours);
  if (word)
    for (const Shape other : {Shape::column, Shape::mask, Shape::window, Shape::finding})
      if (stream::find_operation(key, other)) {
        std::string why = "per " + std::string{name(type.level)};
        if (!advice(type.shape).empty() && other != Shape::window) why = advice(type.shape);
        if (other == Shape::window && type.shape != Shape::window)
          why = "what is over time comes first, then what is across members";
        if (other == Shape::finding && type.shape == Shape::window) why = "reduce it over time: :last(), :mean()";
        Host::of(state).stop(state, "'" + key + "' is a word for a " + std::string{name(other)} + "; this is a " +
                                        shape + " (" + why + ")");
      }
  std::vector<std::string> words;
  for (const stream::Operation& entry : stream::operations())
    if (!entry.name.empty() && stream::find_operation(entry.name, type.shape)) words.emplace_back(entry.name);
  Host::of(state).stop(state, "no word '" + key + "' for a " + shape + nearest(key, words));
}

}  // namespace tocsin::dsl
