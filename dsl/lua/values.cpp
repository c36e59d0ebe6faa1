// Columns, masks, windows and findings in Lua: values that know only their node, and Lua's operators on them.
#include "dsl/lua/values.h"

#include <algorithm>
#include <lua.hpp>

#include "dsl/lua/durations.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "stream/topology/topology.h"

namespace tocsin::dsl {
namespace {

using stream::NodeId;
using stream::Op;
using stream::Shape;

constexpr const char* value_type = "tocsin.value";
constexpr const char* job_type = "tocsin.job";
constexpr const char* params_type = "tocsin.params";
constexpr const char* state_type = "tocsin.state";
constexpr std::uint64_t price_of_a_node = 50;  // instructions that one applied operation costs

[[noreturn]] void stop(lua_State* state, std::string message) { Host::of(state).stop(state, std::move(message)); }

std::vector<std::string> keys(const auto& map) {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : map) names.push_back(name);
  return names;
}

template <Op op>
int binary(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string sign{stream::operation(op).name};
  const std::vector arguments{operand(state, evaluation, 1, sign), operand(state, evaluation, 2, sign)};
  apply(state, evaluation, op, arguments);
  return 1;
}

std::optional<double> known_number(lua_State* state, const Evaluation& evaluation, int index) {
  if (const Value* value = value_at(state, index)) {
    const stream::Node& node = evaluation.graph[value->node];
    if (node.op != Op::constant) return std::nullopt;
    return node.attributes.number;
  }
  if (lua_type(state, index) == LUA_TNUMBER) return lua_tonumber(state, index);
  return std::nullopt;
}

int divided(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  if (const auto by = known_number(state, evaluation, 2); by && *by == 0)
    stop(state,
         "this divides by 0, and what it makes is never known: divide by something else, or take the division out");
  return binary<Op::divide>(state);
}

template <Op op>
int unary(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  apply(state, evaluation, op, {operand(state, evaluation, 1, std::string{stream::operation(op).name})});
  return 1;
}

// The operator of the source line, for the message: Lua turns a > b into b < a.
std::string sign_written(lua_State* state, std::string fallback) {
  const Host::Place place = Host::where(state);
  const Problems* problems = Host::of(state).problems;
  if (!problems) return fallback;
  std::string line = problems->source_line(place.file, place.line);
  if (const auto comment = line.find("--"); comment != std::string::npos) line.erase(comment);
  const auto at = line.find_first_of("<>");
  if (at == std::string::npos) return fallback;
  return line.substr(at, at + 1 < line.size() && line[at + 1] == '=' ? 2 : 1);
}

// `<` and `<=`: two parameters have an order; columns have a word for it.
int ordered(lua_State* state, bool or_equal) {
  Evaluation& evaluation = evaluation_of(state);
  const auto a = known_number(state, evaluation, 1), b = known_number(state, evaluation, 2);
  if (a && b) {
    lua_pushboolean(state, or_equal ? *a <= *b : *a < *b);
    return 1;
  }
  const Value* left = value_at(state, 1);
  const bool column_left = left && !a;
  const Value* column = column_left ? left : value_at(state, 2);
  const std::string sign = sign_written(state, or_equal ? "<=" : "<");
  std::string word, other = "…";
  if (column_left && (b || !value_at(state, 2))) {
    word = or_equal ? "at_most" : "below";
    if (b) other = shown(*b);
  } else if (!column_left) {
    word = or_equal ? "at_least" : "above";
    if (a) other = shown(*a);
  } else {
    word = sign[0] == '>' ? (or_equal ? "at_least" : "above") : (or_equal ? "at_most" : "below");
  }
  const stream::Type& type = evaluation.graph[column->node].type;
  const std::string what = type.shape == Shape::mask ? "a mask holds yes, no or unknown" : "a column holds a value";
  stop(state,
       what + " per " + std::string{name(type.level)} + "; '" + sign + "' cannot compare it. " +
           (type.shape == Shape::mask ? "Join masks with '&', '|' and '~'" : "Write :" + word + "(" + other + ")"));
}

template <class Text>
lua_CFunction refusing(Text) {
  return [](lua_State* state) -> int { stop(state, std::string{Text{}()}); };
}

void set_metatable(lua_State* state, const char* type, std::initializer_list<luaL_Reg> functions) {
  luaL_newmetatable(state, type);
  set_functions(state, functions);
  lua_pop(state, 1);
}

void push_marker(lua_State* state, const char* type) {
  lua_newuserdatauv(state, 0, 0);
  luaL_setmetatable(state, type);
}

std::string key_text(lua_State* state, int index) {
  if (lua_type(state, index) == LUA_TSTRING) return lua_tostring(state, index);
  return std::string{"a "} + luaL_typename(state, index);
}

// job:age().
int call_of_job(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const auto op = static_cast<Op>(lua_tointeger(state, lua_upvalueindex(1)));
  const std::string word{stream::operation(op).name};
  if (luaL_testudata(state, 1, job_type) == nullptr || lua_gettop(state) > 1)
    stop(state, "'" + word + "' is a word of the job itself, with nothing in parentheses: job:" + word + "()");
  if (evaluation.rule.scope == stream::Scope::cluster)
    stop(state, word +
                    "() is the age of a job's attempt, and the cluster has none; how long ago a signal's newest value "
                    "came is cluster.xid:age()");
  apply(state, evaluation, op, {});
  return 1;
}

int job_index(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string key = key_text(state, 2);
  const auto need = evaluation.needs.find(key);
  if (const auto word = stream::find_operation(key, Shape::job); word && need == evaluation.needs.end()) {
    lua_pushinteger(state, static_cast<lua_Integer>(*word));
    lua_pushcclosure(state, call_of_job, 1);
    return 1;
  }
  if (need == evaluation.needs.end())
    stop(state,
         "'" + key + "' is not in needs" + nearest(key, keys(evaluation.needs)) + ": what a rule reads it lists there");
  evaluation.needs_read.insert(key);
  push_value(state, evaluation, need->second);
  return 1;
}

int params_index(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string key = key_text(state, 2);
  const auto param = evaluation.rule.params.find(key);
  if (param == evaluation.rule.params.end())
    stop(state, "'" + key + "' is not in params" + nearest(key, keys(evaluation.rule.params)) +
                    ": list it there with its value");
  evaluation.params_read.insert(key);
  const auto push_number = [state](double x) {
    const auto whole = static_cast<lua_Integer>(std::clamp(x, -9e15, 9e15));
    if (static_cast<double>(whole) == x) lua_pushinteger(state, whole);
    else lua_pushnumber(state, x);
  };
  if (const auto* number = std::get_if<double>(&param->second)) push_number(*number);
  else if (const auto* yes = std::get_if<bool>(&param->second)) lua_pushboolean(state, *yes);
  else if (const auto* text = std::get_if<std::string>(&param->second)) {
    if (const auto duration = duration_named(*text))
      push_value(state, evaluation, evaluation.graph.constant(stream::seconds(*duration), "seconds"));
    else lua_pushlstring(state, text->data(), text->size());
  } else {
    const auto& list = std::get<std::vector<stream::Scalar>>(param->second);
    Host::of(state).charge(state, list.size());
    lua_createtable(state, static_cast<int>(list.size()), 0);
    lua_Integer place = 0;
    for (const stream::Scalar& item : list) {
      if (const auto* x = std::get_if<double>(&item)) push_number(*x);
      else lua_pushstring(state, std::get<std::string>(item).c_str());
      lua_rawseti(state, -2, ++place);
    }
  }
  return 1;
}

int state_index(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string key = key_text(state, 2);
  if (!evaluation.rule.state.contains(key))
    stop(state, "'" + key + "' is not in state" + nearest(key, keys(evaluation.rule.state)) +
                    ": declare it with its first value, state = { " + key + " = 0 }");
  const auto written = evaluation.written.find(key);
  push_value(state, evaluation,
             written != evaluation.written.end() ? written->second
                                                 : evaluation.graph.state(evaluation.index, key, evaluation.per));
  return 1;
}

int state_newindex(lua_State* state) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string key = key_text(state, 2);
  if (!evaluation.rule.state.contains(key))
    stop(state, "'" + key + "' is not in state" + nearest(key, keys(evaluation.rule.state)) +
                    ": declare it with its first value, state = { " + key + " = 0 }");
  const NodeId node = operand(state, evaluation, 3, "state." + key);
  const stream::Type& type = evaluation.graph[node].type;
  if (type.shape != Shape::column || type.text())
    stop(state, "state." + key + " holds numbers, and this is " +
                    (type.text() ? "text" : "a " + std::string{name(type.shape)}) +
                    (type.shape == Shape::mask ? ": write m:choose(1, 0)" : ""));
  if (type.level > evaluation.per)
    stop(state, "state." + key + " is a value per " + std::string{name(type.level)} + ", but per = '" +
                    std::string{name(evaluation.per)} + "': take it up through a group");
  evaluation.written[key] = node;
  return 0;
}

}  // namespace

Evaluation& evaluation_of(lua_State* state) {
  Evaluation* evaluation = Host::of(state).evaluation;
  if (!evaluation) stop(state, "columns exist only while evaluate runs");
  return *evaluation;
}

Value* value_at(lua_State* state, int index) { return static_cast<Value*>(luaL_testudata(state, index, value_type)); }

void use(Evaluation& evaluation, const Value& value) {
  if (value.made != Value::no_mask) evaluation.made[value.made].used = true;
}

void push_value(lua_State* state, Evaluation& evaluation, NodeId node) {
  auto* value = static_cast<Value*>(lua_newuserdatauv(state, sizeof(Value), 0));
  *value = Value{node, Value::no_mask};
  luaL_setmetatable(state, value_type);
  if (evaluation.scratch || evaluation.graph[node].type.shape != Shape::mask) return;
  value->made = static_cast<std::uint32_t>(evaluation.made.size());
  Host::Place place = Host::where(state);
  evaluation.made.push_back({std::move(place.file), place.line, false});
}

NodeId operand(lua_State* state, Evaluation& evaluation, int index, const std::string& word) {
  if (const Value* value = value_at(state, index)) {
    use(evaluation, *value);
    return value->node;
  }
  switch (lua_type(state, index)) {
    case LUA_TNUMBER: return evaluation.graph.constant(stream::canonical(lua_tonumber(state, index)));
    case LUA_TSTRING: {
      const std::string text = lua_tostring(state, index);
      if (const auto duration = duration_named(text))
        return evaluation.graph.constant(stream::seconds(*duration), "seconds");
      stop(state, "'" + word + "' wants a column or a number, not the text \"" + text.substr(0, 40) +
                      "\": " + number_remedy(text));
    }
    case LUA_TBOOLEAN:
      stop(state,
           "'==', 'not' or a comparison made a plain true or false here; '==' never holds for a column. Write :is(…), "
           "and '~' for not");
    default:
      stop(state, "'" + word + "' wants a column or a number, not " +
                      (lua_isnoneornil(state, index) ? "nil" : "a " + std::string{luaL_typename(state, index)}));
  }
}

void apply(lua_State* state, Evaluation& evaluation, Op op, const std::vector<NodeId>& arguments,
           stream::Attributes attributes) {
  Host& host = Host::of(state);
  host.charge(state, price_of_a_node);
  auto made = evaluation.graph.apply(op, arguments, std::move(attributes));
  if (!made) {
    std::string message = made.error().message;
    // "20 is compared with a ratio": for a parameter the message gives the name.
    if (arguments.size() == 2 && evaluation.graph[arguments[1]].op == Op::constant) {
      const double limit = evaluation.graph[arguments[1]].attributes.number;
      if (message.starts_with(shown(limit) + " is compared"))
        for (const auto& [name, value] : evaluation.rule.params)
          if (const auto* number = std::get_if<double>(&value); number && *number == limit) {
            message = name + " = " + message;
            break;
          }
    }
    stop(state, std::move(message));
  }
  if (evaluation.graph.size() > evaluation.most_nodes)
    stop(state, "it makes more than " + std::to_string(host.budgets().nodes) +
                    " operations: a loop that builds columns without an end?");
  const bool comparison = op == Op::above || op == Op::below || op == Op::at_least || op == Op::at_most;
  if (comparison && evaluation.graph[arguments[1]].op == Op::constant) {
    Evaluation::Compared entry{arguments[0], evaluation.graph[arguments[1]].attributes.number, {}};
    for (const auto& [name, value] : evaluation.rule.params)
      if (const auto* number = std::get_if<double>(&value); number && *number == entry.limit) entry.name = name;
    evaluation.compared.push_back(std::move(entry));
  }
  if (evaluation.scratch) {
    if (evaluation.graph[*made].op == Op::freeze && static_cast<std::size_t>(*made) >= evaluation.lasting_nodes)
      stop(state, "a frozen need is reduced before the first :number(), :yes() or :each(): move ':" +
                      std::string{stream::operation(op).name} + "()' up, so that what it holds lasts");
    const Shape shape = evaluation.graph[*made].type.shape;
    if (shape == Shape::column || shape == Shape::mask) {
      const stream::Level level = evaluation.graph[*made].type.level;
      const std::uint64_t elements = level == stream::Level::none ? 1 : evaluation.scratch->topology().size(level);
      if (elements > evaluation.elements_left)
        stop(state, "it spent its budget of " + std::to_string(host.budgets().elements) +
                        " elements: fewer operations, or coarser columns");
      evaluation.elements_left -= elements;
      evaluation.scratch->compute(*made);
    }
  }
  push_value(state, evaluation, *made);
}

void register_values(lua_State* state) {
  const auto changed = refusing([] { return "a column cannot be changed: make a new one"; });
  set_metatable(state, value_type,
                {
                    {"__index", index_word},
                    {"__newindex", changed},
                    {"__add", binary<Op::add>},
                    {"__sub", binary<Op::subtract>},
                    {"__mul", binary<Op::multiply>},
                    {"__div", divided},
                    {"__unm", unary<Op::negate>},
                    {"__band", binary<Op::conjunction>},
                    {"__bor", binary<Op::disjunction>},
                    {"__bnot", unary<Op::negation>},
                    {"__lt", [](lua_State* s) { return ordered(s, false); }},
                    {"__le", [](lua_State* s) { return ordered(s, true); }},
                    {"__eq", refusing([] { return "'==' never holds for a column. Write :is(…)"; })},
                    {"__concat", refusing([] {
                       return "a column is not a text: name it in the second value and write {name} in shows";
                     })},
                    {"__len", refusing([] { return "'#' of a column: write :count(\"job\")"; })},
                    {"__call", refusing([] { return "a column is not a function: ':' before a word, '(' after it"; })},
                    {"__pow", refusing([] { return "'^' of a column: write x * x"; })},
                    {"__mod", refusing([] { return "'%' is not an operation of columns"; })},
                    {"__idiv", refusing([] { return "'//' is not an operation of columns: write '/'"; })},
                    {"__bxor", refusing([] { return "'~' between masks: write (a & ~b) | (~a & b)"; })},
                    {"__shl", refusing([] { return "'<<' is not an operation of columns: write :below(…)"; })},
                    {"__shr", refusing([] { return "'>>' is not an operation of columns: write :above(…)"; })},
                });
  const auto needs = refusing([] { return "job cannot be changed: it is what the rule reads"; });
  const auto params = refusing([] { return "params cannot be changed: use a local, or state for what is remembered"; });
  set_metatable(state, job_type, {{"__index", job_index}, {"__newindex", needs}});
  set_metatable(state, params_type, {{"__index", params_index}, {"__newindex", params}});
  set_metatable(state, state_type, {{"__index", state_index}, {"__newindex", state_newindex}});
  register_words(state);
}

void push_job(lua_State* state) { push_marker(state, job_type); }
void push_params(lua_State* state) { push_marker(state, params_type); }
void push_state(lua_State* state) { push_marker(state, state_type); }

}  // namespace tocsin::dsl
