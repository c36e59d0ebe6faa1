// The declarations in files: rule, tune, case, signal, finding, and the tables of signals.lua and verdict.lua.
#include "dsl/declarations.h"

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "dsl/case_reader.h"
#include "dsl/durations.h"
#include "dsl/tables.h"

namespace tocsin::dsl {
namespace {

constexpr const char* need_type = "tocsin.need";

using Strings = std::vector<std::string>;

Collection& collection_of(lua_State* state) {
  Host& host = Host::of(state);
  if (!host.collection) host.stop(state, "files declare while they load; evaluate cannot");
  return *host.collection;
}

std::string name_argument(lua_State* state, const char* word) {
  if (lua_type(state, 1) != LUA_TSTRING) Host::of(state).stop(state, std::string{word} + " wants a name: " + word + " \"…\"");
  std::string name = lua_tostring(state, 1);
  if (name.empty() || name.size() > 100) Host::of(state).stop(state, std::string{word} + " wants a name of 1 to 100 letters");
  return name;
}

Table table_argument(lua_State* state, int index, const std::string& word) {
  if (!lua_istable(state, index)) Host::of(state).stop(state, word + " wants a table: " + word + " { … }");
  return Table{state, index, collection_of(state), Host::where(state)};
}

void push_need(lua_State* state, Collection& collection, NeedSource need) {
  const std::size_t number = collection.declared.size();
  collection.declared.push_back(std::move(need));
  auto* held = static_cast<std::size_t*>(lua_newuserdatauv(state, sizeof(std::size_t), 0));
  *held = number;
  luaL_setmetatable(state, need_type);
}

// ---- signal "x" { over = … }

void read_over(const Table& table, NeedSource& need) {
  using Span = stream::WindowSpec::Span;
  table.push("over");
  lua_State* state = table.state();
  const int kind = lua_type(state, -1);
  const std::string text = kind == LUA_TSTRING ? lua_tostring(state, -1) : "";
  lua_pop(state, 1);
  if (kind == LUA_TNIL)
    return table.problem("", "signal \"" + need.signal + "\" needs over: over = \"30s\", a number of points, or \"attempt\"");
  if (kind == LUA_TNUMBER) {
    if (const auto points = table.whole("over", 1, 65'536)) need.window.span = Span::points, need.window.points = *points;
  } else if (text == "attempt") {
    need.window.span = Span::attempt;
  } else if (text == "earlier") {
    table.problem("over", "over = \"earlier\", the attempts before this one, comes later: write \"attempt\" or a time");
  } else if (const auto over = duration_named(text); over && over->count() > 0) {
    need.window.over = *over;
  } else {
    table.problem("over", "over = \"" + text + "\": " + duration_remedy(text) + ", a number of points, or \"attempt\"");
  }
}

void read_lag(const Table& table, NeedSource& need) {
  if (!table.has("lag")) return;
  table.push("lag");
  const bool number = lua_type(table.state(), -1) == LUA_TNUMBER;
  lua_pop(table.state(), 1);
  const bool points = need.window.span == stream::WindowSpec::Span::points;
  if (number != points) return table.problem("lag", "lag and over: both a time, or both a number of points");
  if (number) {
    if (const auto lag = table.whole("lag", 0, 65'536)) need.window.lag_points = *lag;
  } else if (const auto lag = table.duration("lag")) {
    need.window.lag = *lag;
  }
}

int signal_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "signal \"" + name + "\"");
  table.allow({"over", "lag", "least", "freeze"});
  NeedSource need;
  need.file = table.place().file;
  need.line = table.place().line;
  need.signal = name;
  read_over(table, need);
  read_lag(table, need);
  if (const auto least = table.whole("least", 1, 65'536)) need.window.least = *least;
  need.freeze = table.yes("freeze").value_or(false);
  push_need(state, table.collection(), std::move(need));
  return 1;
}

int signal(lua_State* state) {
  const std::string name = name_argument(state, "signal");
  Collection& collection = collection_of(state);
  if (!collection.find_signal(name)) {
    const Host::Place place = Host::where(state);
    collection.no_signal(place.file, place.line, name);
  }
  lua_pushvalue(state, 1);
  lua_pushcclosure(state, signal_table, 1);
  return 1;
}

int finding(lua_State* state) {
  Collection& collection = collection_of(state);
  NeedSource need;
  const Host::Place place = Host::where(state);
  need.file = place.file;
  need.line = place.line;
  if (lua_istable(state, 1)) {
    const auto n = static_cast<lua_Integer>(lua_rawlen(state, 1));
    for (lua_Integer i = 1; i <= n && i <= 1000; ++i) {
      if (lua_rawgeti(state, 1, i) != LUA_TSTRING) Host::of(state).stop(state, "finding lists names of rules: finding { \"…\", \"…\" }");
      need.findings.emplace_back(lua_tostring(state, -1));
      lua_pop(state, 1);
    }
  } else {
    need.findings.push_back(name_argument(state, "finding"));
  }
  if (need.findings.empty()) Host::of(state).stop(state, "finding of no rule: name one, or \"*\" for all others");
  need.joined = need.findings.size() > 1 || need.findings[0] == "*";
  push_need(state, collection, std::move(need));
  return 1;
}

// ---- rule "x" { … }

const Strings rule_keys{"family", "severity",  "summary", "per",    "every",    "needs", "peers", "params", "fire",
                        "clear",  "yields_to", "shows",   "causes", "evaluate", "scope", "jobs",  "state",  "mode"};

void read_needs(const Table& table, RuleSource& rule) {
  lua_State* state = table.state();
  table.push("needs");
  if (!lua_istable(state, -1)) {
    table.problem("needs", "needs wants a table: needs = { sm = signal \"sm_active\" { over = \"30s\" } }");
    lua_pop(state, 1);
    return;
  }
  const Table needs{state, lua_gettop(state), table.collection(), table.place()};
  for (const std::string& name : needs.names()) {
    needs.push(name);
    if (const auto* number = static_cast<const std::size_t*>(luaL_testudata(state, -1, need_type)))
      rule.needs[name] = table.collection().declared[*number];
    else if (lua_isfunction(state, -1)) needs.problem(name, "need '" + name + "' has no span: write signal \"…\" { over = \"30s\" }");
    else
      needs.problem(name,
                    "need '" + name + "' is a " + luaL_typename(state, -1) + ": write signal \"…\" { over = \"30s\" } or finding \"…\"");
    rule.needs_refused |= !rule.needs.contains(name);
    lua_pop(state, 1);
  }
  if (needs.length() > 0) table.problem("needs", "a need has a name: needs = { sm = signal \"sm_active\" { over = \"30s\" } }");
  lua_pop(state, 1);
}

void read_state(const Table& table, RuleSource& rule) {
  for (const auto& [name, value] : table.params("state")) {
    if (const auto* number = std::get_if<double>(&value)) rule.state[name] = *number;
    else table.problem(name, "state." + name + " is a column of numbers: give its first value, " + name + " = 0");
  }
}

void read_evaluate(const Table& table, RuleSource& rule) {
  lua_State* state = table.state();
  table.push("evaluate");
  if (!lua_isfunction(state, -1) || lua_iscfunction(state, -1)) {
    lua_pop(state, 1);
    table.problem(table.has("evaluate") ? "evaluate" : "", "evaluate is missing: write evaluate = function(job, p) … return mask end");
    return;
  }
  lua_Debug debug{};
  lua_pushvalue(state, -1);
  lua_getinfo(state, ">S", &debug);
  rule.first_line = debug.linedefined;
  rule.last_line = debug.lastlinedefined;
  rule.evaluate = luaL_ref(state, LUA_REGISTRYINDEX);
}

int rule_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "rule \"" + name + "\"");
  Collection& collection = table.collection();
  Problems& problems = *collection.problems;
  problems.about(name);
  if (collection.part != Collection::Part::rules) {
    table.problem("", "rules stand in files of their own, not in signals.lua or verdict.lua");
    return 0;
  }
  if (const auto first = collection.rules.find(name); first != collection.rules.end())
    table.problem("", "a second rule '" + name + "': the first is at " + first->second.file + ":" + std::to_string(first->second.line) +
                          "; give this one another name");
  table.allow(rule_keys);

  RuleSource rule;
  rule.name = name;
  rule.file = table.place().file;
  rule.line = table.place().line;
  rule.family = table.text("family").value_or("");
  rule.summary = table.text("summary").value_or("");
  rule.shows = table.text("shows").value_or("");
  rule.severity = table.severity();
  rule.mode = table.mode();
  rule.per = table.text("per", "rank").value_or("");
  rule.every = table.texts("every");
  rule.fire = table.persistence("fire");
  rule.clear = table.persistence("clear");
  rule.yields_to = table.texts("yields_to");
  rule.peers = table.texts("peers");
  rule.params = table.params("params");
  rule.jobs = table.text_map("jobs");
  rule.causes = table.text_map("causes");
  if (table.has("needs")) read_needs(table, rule);
  else table.problem("", "needs is missing: what a rule reads it lists there, needs = { sm = signal \"sm_active\" { over = \"30s\" } }");
  if (table.has("state")) read_state(table, rule);
  read_evaluate(table, rule);

  if (!table.has("per")) table.problem("", "per is missing: write per = \"rank\" (or gpu, node, rack, job)");
  else if (!stream::level_named(rule.per)) {
    static const Strings levels{"job", "rack", "node", "gpu", "rank"};
    if (!rule.per.empty())
      table.problem("per", "per = \"" + rule.per + "\"" + nearest(rule.per, levels) + ": write job, rack, node, gpu or rank");
    rule.per.clear();
  }
  if (rule.every.empty() && !table.has("every"))
    table.problem("", "every is missing: write every = \"10s\", the name of a need, or \"end\"");
  const auto scope = table.text("scope", "attempt");
  if (scope && (*scope == "job" || *scope == "cluster"))
    table.problem("scope", "scope = \"" + *scope + "\" comes later: leave it out, and the rule is about an attempt");
  else if (scope && *scope != "attempt") table.problem("scope", "scope = \"" + *scope + "\": write \"attempt\", or leave it out");
  collection.rules.emplace(name, std::move(rule));
  problems.about("");
  return 0;
}

int tune_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "tune \"" + name + "\"");
  static const Strings keys{"jobs", "params", "mode", "severity", "fire", "clear", "row", "lateness"};
  for (const std::string& key : table.names())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      table.problem(key, "tune '" + name + "': '" + key + "' cannot be tuned" + nearest(key, keys) + ": write a rule of your own instead");
  TuneSource tune;
  tune.name = name;
  tune.file = table.place().file;
  tune.line = table.place().line;
  tune.severity = table.severity();
  tune.mode = table.mode();
  tune.fire = table.persistence("fire");
  tune.clear = table.persistence("clear");
  tune.params = table.params("params");
  if (table.has("jobs")) tune.jobs = table.text_map("jobs");
  tune.row = table.duration("row");
  tune.lateness = table.duration("lateness");
  table.collection().tunes.push_back(std::move(tune));
  return 0;
}

int case_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  read_case(table_argument(state, 1, "case \"" + name + "\""), name);
  return 0;
}

// word "name" gives a function that takes the table.
template <lua_CFunction then>
int named(lua_State* state) {
  (void)name_argument(state, lua_tostring(state, lua_upvalueindex(1)));
  lua_settop(state, 1);
  lua_pushcclosure(state, then, 1);
  return 1;
}

// ---- signals.lua

double positive_factor(const Table& alias, const std::string& key) {
  const double factor = alias.number(key).value_or(1.0);
  if (!(std::isfinite(factor) && factor != 0)) alias.problem(key, key + ": a factor is a number other than 0");
  return factor;
}

void read_fields(const Table& table, stream::SignalDefinition& signal) {
  for (const auto& [name, unit] : table.text_map("fields")) signal.fields.push_back({name, unit});
}

// aliases = { "a", b = 1e-9 }: other names, with the factors of their values.
void read_aliases(const Table& table, stream::SignalDefinition& signal) {
  if (!table.has("aliases")) return;
  lua_State* state = table.state();
  table.push("aliases");
  if (!lua_istable(state, -1)) {
    lua_pop(state, 1);
    return table.problem("aliases", "aliases wants a table: { \"other_name\", scaled_name = 0.001 }");
  }
  const Table aliases{state, lua_gettop(state), table.collection(), table.place()};
  for (std::size_t i = 1; i <= aliases.length(); ++i) {
    aliases.push(i);
    if (lua_type(state, -1) == LUA_TSTRING) signal.aliases.push_back({lua_tostring(state, -1), 1.0});
    else table.problem("aliases", "aliases lists names, or names with a factor: { \"other_name\", scaled_name = 0.001 }");
    lua_pop(state, 1);
  }
  for (const std::string& name : aliases.names()) signal.aliases.push_back({name, positive_factor(aliases, name)});
  lua_pop(state, 1);
}

void read_signal(const Table& table, const std::string& name) {
  table.allow({"kind", "unit", "owner", "row", "lateness", "points", "source", "values", "fields", "aliases", "documentation"});
  stream::SignalDefinition signal;
  signal.name = name;
  static const Strings kinds{"gauge", "counter", "state", "step", "time", "event", "liveness"};
  static const Strings owners{"job", "rack", "node", "gpu", "rank"};
  const std::string kind = table.text("kind", "gauge").value_or("gauge"), owner = table.text("owner", "rank").value_or("rank");
  if (const auto known = stream::signal_kind_named(kind)) signal.kind = *known;
  else
    table.problem("kind",
                  "kind = \"" + kind + "\"" + nearest(kind, kinds) + ": write gauge, counter, state, step, time, event or liveness");
  if (const auto known = stream::level_named(owner)) signal.owner = *known;
  else table.problem("owner", "owner = \"" + owner + "\"" + nearest(owner, owners) + ": write job, rack, node, gpu or rank");
  signal.unit = table.text("unit", "none").value_or("none");
  const bool quick = signal.kind == stream::SignalKind::event;
  signal.lateness = table.duration("lateness").value_or(quick ? std::chrono::seconds{1} : std::chrono::seconds{5});
  signal.row = table.duration("row").value_or(std::chrono::seconds{1});
  if (signal.row < std::chrono::milliseconds{10} || signal.row > std::chrono::minutes{10}) {
    table.problem("row", "row is between 0.01s and 10m");
    signal.row = std::chrono::seconds{1};
  }
  if (signal.lateness > std::chrono::minutes{10}) table.problem("lateness", "lateness is at most 10m");
  signal.points = table.yes("points").value_or(false);
  signal.source = table.text("source", "log").value_or("");
  signal.values = table.texts("values");
  if (!signal.values.empty() && signal.kind != stream::SignalKind::state)
    table.problem("values", "values belong to a state: kind = \"state\"");
  if (table.has("fields") && signal.kind != stream::SignalKind::event)
    table.problem("fields", "fields belong to an event: kind = \"event\"");
  if (signal.textual() && signal.kind != stream::SignalKind::state) table.problem("unit", "text is the unit of a state: kind = \"state\"");
  read_fields(table, signal);
  read_aliases(table, signal);
  signal.documentation = table.text("documentation").value_or("");
  if (!table.collection().signals.emplace(name, std::move(signal)).second)
    table.problem("", "signal '" + name + "' is defined twice: remove one");
}

void only_in_signals(const Table& table, const char* word) {
  if (table.collection().part != Collection::Part::signals)
    Host::of(table.state()).stop(table.state(), std::string{word} + " stands in signals.lua");
}

int signals(lua_State* state) {
  const Table table = table_argument(state, 1, "signals");
  only_in_signals(table, "signals { … }");
  for (const std::string& name : table.names()) {
    table.push(name);
    if (lua_istable(state, -1)) {
      Host::Place place = table.place();
      place.line = table.line_of(name);
      read_signal(Table{state, lua_gettop(state), table.collection(), place}, name);
    } else {
      table.problem(name, "signal '" + name + "' is a " + luaL_typename(state, -1) + ": write " + name +
                              " = { kind = \"gauge\", unit = \"none\", owner = \"rank\" }");
    }
    lua_pop(state, 1);
  }
  return 0;
}

int coordinates(lua_State* state) {
  const Table table = table_argument(state, 1, "coordinates");
  only_in_signals(table, "coordinates { … }");
  for (const std::string& name : table.names()) {
    const auto owner = table.text(name, "rank");
    if (!owner) continue;
    if (const auto level = stream::level_named(*owner)) table.collection().coordinates[name] = *level;
    else table.problem(name, "coordinate '" + name + "' is owned by a node, a gpu or a rank: " + name + " = \"rank\"");
  }
  return 0;
}

int verdict(lua_State* state) {
  const Table table = table_argument(state, 1, "verdict");
  if (table.collection().part != Collection::Part::verdict) Host::of(state).stop(state, "verdict { … } stands in verdict.lua");
  table.allow({"precedence", "explains", "pauses"});
  stream::VerdictPolicy& policy = table.collection().verdict;
  policy.precedence = table.texts("precedence");
  policy.pauses = table.texts("pauses");
  for (const auto& [family, explained] : table.params("explains")) {
    auto& list = policy.explains[family];
    if (const auto* one = std::get_if<std::string>(&explained)) list.push_back(*one);
    if (const auto* many = std::get_if<std::vector<stream::Scalar>>(&explained))
      for (const auto& item : *many)
        if (const auto* text = std::get_if<std::string>(&item)) list.push_back(*text);
    if (list.empty()) table.problem("explains", "explains." + family + " lists families: " + family + " = { \"A2\" }");
  }
  return 0;
}

}  // namespace

void register_declarations(lua_State* state) {
  luaL_newmetatable(state, need_type);
  lua_pop(state, 1);
  const auto add = [state](const char* name, lua_CFunction function) {
    lua_pushcfunction(state, function);
    lua_setfield(state, -2, name);
  };
  const auto add_named = [state](const char* name, lua_CFunction function) {
    lua_pushstring(state, name);
    lua_pushcclosure(state, function, 1);
    lua_setfield(state, -2, name);
  };
  add_named("rule", named<rule_table>);
  add_named("tune", named<tune_table>);
  add_named("case", named<case_table>);
  add("signal", signal);
  add("finding", finding);
  add("signals", signals);
  add("coordinates", coordinates);
  add("verdict", verdict);
  register_case_values(state);
}

std::vector<std::string> Collection::signal_names() const {
  std::vector<std::string> names;
  for (const auto& [name, signal] : signals) {
    names.push_back(name);
    for (const auto& alias : signal.aliases) names.push_back(alias.name);
  }
  return names;
}

std::vector<std::string> Collection::rule_names() const {
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules) names.push_back(name);
  return names;
}

void Collection::no_signal(const std::string& file, int line, const std::string& name) const {
  if (!signals_read) return;
  const std::string meant = nearest(name, signal_names());
  problems->add(file, line, "no signal '" + name + "' in signals.lua" + (meant.empty() ? ": declare it there" : meant));
}

void Collection::no_rule(const std::string& file, int line, const std::string& name, const std::string& where) const {
  if (!rules_read) return;
  const std::string meant = nearest(name, rule_names());
  problems->add(file, line,
                where + "no rule '" + name + "'" + (meant.empty() ? " in this directory: add its file, or take the name out" : meant));
}

const stream::SignalDefinition* Collection::find_signal(const std::string& name) const {
  if (const auto found = signals.find(name); found != signals.end()) return &found->second;
  for (const auto& [ignored, signal] : signals)
    for (const auto& alias : signal.aliases)
      if (alias.name == name) return &signal;
  return nullptr;
}

}  // namespace tocsin::dsl
