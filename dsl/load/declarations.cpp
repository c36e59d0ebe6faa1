// The declarations in files: rule, tune, case, signal, finding, pattern, parser.
#include "dsl/load/declarations.h"

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "dsl/load/tables.h"
#include "dsl/load/text_definitions.h"
#include "dsl/lua/durations.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "stream/rules/alert.h"

namespace tocsin::dsl {
namespace {

constexpr const char* need_type = "tocsin.need";

using Strings = std::vector<std::string>;

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
  if (!table.has("over"))
    return table.problem("", "signal \"" + need.signal +
                                 "\" needs over: over = \"30s\", a number of points, \"attempt\" or \"earlier\"");
  const auto written = table.scalar("over").value_or("");
  if (std::holds_alternative<double>(written)) {
    if (const auto points = table.whole("over", 1, 65'536))
      need.window.span = Span::points, need.window.points = *points;
    return;
  }
  const std::string& text = std::get<std::string>(written);
  if (text == "attempt") need.window.span = Span::attempt;
  else if (text == "earlier") need.window.span = Span::earlier;
  else if (const auto over = duration_named(text); over && over->count() > 0) need.window.over = *over;
  else
    table.problem("over", "over = \"" + text + "\": " + duration_remedy(text) +
                              ", a number of points, \"attempt\" or \"earlier\"");
}

void read_lag(const Table& table, NeedSource& need) {
  if (!table.has("lag")) return;
  if (need.window.span == stream::WindowSpec::Span::earlier)
    return table.problem("lag",
                         "lag and over = \"earlier\": the attempts before this one end where they end; leave lag out");
  const bool number = std::holds_alternative<double>(table.scalar("lag").value_or(""));
  if (number != (need.window.span == stream::WindowSpec::Span::points))
    return table.problem("lag", "lag and over: both a time, or both a number of points");
  if (number) need.window.lag_points = table.whole("lag", 0, 65'536).value_or(0);
  else need.window.lag = table.duration("lag").value_or(stream::Duration{});
}

// A window that never holds so many values is never known.
void check_least(const Table& table, const NeedSource& need) {
  using Span = stream::WindowSpec::Span;
  const auto* signal = table.collection().find_signal(need.signal);
  if (!signal || !need.window.least) return;
  double most = 0;
  std::string why;
  if (need.window.span == Span::points) {
    most = need.window.points;
    why = "over = " + shown(most);
  } else if (need.window.span == Span::time && signal->kind != stream::SignalKind::event && signal->row.count() > 0) {
    most = stream::seconds(need.window.over) / stream::seconds(signal->row);
    why = "'" + need.signal + "' has a value each " + shown(stream::seconds(signal->row)) + " s, so " +
          shown(stream::seconds(need.window.over)) + " s";
  } else {
    return;
  }
  if (need.window.least > most)
    table.collection().problems->warn(need.file, table.line_of("least"),
                                      "least = " + std::to_string(need.window.least) + " is never reached: " + why +
                                          " holds at most " + shown(std::floor(most)) +
                                          "; the need would be unknown for ever: lower least, or lengthen over");
}

void read_full(const Table& table, NeedSource& need) {
  need.window.full = table.yes("full").value_or(false);
  if (need.window.full && need.window.accumulated())
    table.problem("full",
                  "full and over = \"attempt\" or \"earlier\": they have no length to fill; leave full out, or write "
                  "over as a time or a number of points");
  if (need.window.full && need.window.least && need.window.span == stream::WindowSpec::Span::points)
    table.problem("least",
                  "full = true waits for all " + std::to_string(need.window.points) + " points: leave least out");
}

int signal_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "signal \"" + name + "\"");
  table.allow(need_keys);
  NeedSource need;
  need.file = table.place().file;
  need.line = table.place().line;
  need.signal = name;
  read_over(table, need);
  read_lag(table, need);
  if (const auto least = table.whole("least", 1, 65'536)) need.window.least = *least;
  need.freeze = table.yes("freeze").value_or(false);
  check_least(table, need);
  read_full(table, need);
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
  const bool whole = !lua_isnoneornil(state, 2);  // signal("x", { … })
  lua_settop(state, 2);
  lua_pushvalue(state, 1);
  lua_pushcclosure(state, signal_table, 1);
  if (!whole) return 1;
  lua_pushvalue(state, 2);
  lua_call(state, 1, 1);
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
      if (lua_rawgeti(state, 1, i) != LUA_TSTRING)
        Host::of(state).stop(state, "finding lists names of rules: finding { \"…\", \"…\" }");
      need.findings.push_back(text_at(state, -1));
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

void read_needs(const Table& table, RuleSource& rule) {
  lua_State* state = table.state();
  table.within("needs", "{ sm = signal \"sm_active\" { over = \"30s\" } }", [&](const Table& needs) {
    for (const std::string& name : needs.names()) {
      needs.push(name);
      if (const auto* number = static_cast<const std::size_t*>(luaL_testudata(state, -1, need_type)))
        rule.needs[name] = table.collection().declared[*number];
      else if (lua_isfunction(state, -1))
        needs.problem(name, "need '" + name + "' has no span: write signal \"…\" { over = \"30s\" }");
      else
        needs.problem(name, "need '" + name + "' is a " + luaL_typename(state, -1) +
                                ": write signal \"…\" { over = \"30s\" } or finding \"…\"");
      rule.needs_refused |= !rule.needs.contains(name);
      lua_pop(state, 1);
    }
    if (needs.length() > 0)
      table.problem("needs", "a need has a name: needs = { sm = signal \"sm_active\" { over = \"30s\" } }");
  });
}

// actions = { cause = "kill -CONT {pid}[ on {node}]", otherwise = { "restart {node}", "restart the job" } }
void read_actions(const Table& table, RuleSource& rule) {
  rule.actions = table.texts_map("actions");
  Strings causes{"otherwise"};
  for (const auto& [cause, texts] : rule.causes) causes.push_back(cause);
  if (rule.causes.contains("otherwise"))
    table.problem("causes", "a cause cannot be called otherwise: in actions that is what to do where no cause is yes");
  for (const auto& [name, texts] : rule.actions)
    if (std::find(causes.begin(), causes.end(), name) == causes.end())
      table.problem("actions", "actions names '" + name + "', which is not in causes" + nearest(name, causes) +
                                   ": name a cause, or write otherwise = \"…\"");
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
    table.problem(table.has("evaluate") ? "evaluate" : "",
                  "evaluate is missing: write evaluate = function(job, p) … return mask end");
    return;
  }
  lua_Debug debug{};
  lua_pushvalue(state, -1);
  lua_getinfo(state, ">S", &debug);
  rule.first_line = debug.linedefined;
  rule.last_line = debug.lastlinedefined;
  rule.evaluate = luaL_ref(state, LUA_REGISTRYINDEX);
}

bool lists_nothing(const Table& table, const std::string& key) {
  table.push(key);
  const bool nothing = lua_istable(table.state(), -1) && lua_rawlen(table.state(), -1) == 0;
  lua_pop(table.state(), 1);
  return nothing;
}

int rule_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "rule \"" + name + "\"");
  Collection& collection = table.collection();
  collection.unfinished.end("rule", name);
  Problems& problems = *collection.problems;
  problems.about(name);
  if (collection.part != Collection::Part::rules) {
    table.problem("", "rules stand in files of their own, not in signals.lua or verdict.lua");
    return 0;
  }
  if (const auto first = collection.rules.find(name); first != collection.rules.end()) {
    table.problem("", "a second rule '" + name + "': the first is at " + first->second.file + ":" +
                          std::to_string(first->second.line) +
                          "; give this one another name, or change that one by tune \"" + name + "\" { … }");
    return 0;
  }
  if (name == stream::limit_rule)
    table.problem("",
                  "the engine's own alerts about their limit are called '" + name + "': give the rule another name");
  table.allow(rule_keys);

  RuleSource rule;
  rule.name = name;
  rule.file = table.place().file;
  rule.line = table.place().line;
  rule.family = table.text("family").value_or("");
  rule.summary = table.text("summary").value_or("");
  if (const auto brace = rule.summary.find('{'); brace != std::string::npos)
    table.problem("summary", "'" + rule.summary.substr(brace, rule.summary.find('}', brace) + 1 - brace) +
                                 "' in summary, which is fixed text: write what values say into shows, shows = \"rank "
                                 "{rank}: …\"");
  rule.shows = table.texts("shows");
  table.severity(rule.severity, rule.severities);
  rule.runbook = table.address("runbook");
  rule.owner = table.text("owner");
  rule.mode = table.mode();
  rule.every = table.texts("every");
  rule.fire = table.persistence("fire");
  rule.clear = table.persistence("clear");
  if (rule.every == std::vector<std::string>{"end"} && rule.fire && (rule.fire->timed || rule.fire->n > 1))
    table.problem("fire",
                  "a rule that runs once, at the end, would never fire: leave fire out, or add a time to every");
  rule.yields_to = table.texts("yields_to");
  rule.peers = table.texts("peers");
  rule.params = table.params("params");
  rule.jobs = table.texts_map("jobs");
  rule.causes = table.texts_map("causes");
  read_actions(table, rule);
  if (table.has("needs")) read_needs(table, rule);
  else
    table.problem(
        "",
        "needs is missing: what a rule reads it lists there, needs = { sm = signal \"sm_active\" { over = \"30s\" } }");
  if (table.has("state")) read_state(table, rule);
  read_evaluate(table, rule);

  if (rule.severity.value_or(stream::Severity::warning) != stream::Severity::none) {
    if (rule.summary.empty())
      problems.warn(rule.file, rule.line,
                    "summary is missing: its alert would not say what is wrong; write summary = \"One rank is slow\"",
                    true);
    if (rule.shows.empty())
      problems.warn(rule.file, rule.line,
                    "shows is missing: its alert would not say what was seen; write shows = \"rank {rank}: …\"", true);
  }
  rule.scope = table.scope();
  rule.per = table.per(rule.scope);
  if (!table.has("every")) table.problem("", "every is missing: write every = \"10s\", the name of a need, or \"end\"");
  else if (lists_nothing(table, "every"))
    table.problem(
        "every",
        "every lists nothing, so the rule would never run: write every = \"10s\", the name of a need, or \"end\"");
  collection.rules.emplace(name, std::move(rule));
  problems.about("");
  return 0;
}

int tune_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "tune \"" + name + "\"");
  table.collection().unfinished.end("tune", name);
  const Strings keys = tune_keys.names();
  for (const std::string& key : table.names())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      table.problem(key, "tune '" + name + "': '" + key + "' cannot be tuned" +
                             (key == "enabled" ? ": mode = \"shadow\" keeps the rule from posting alerts"
                                               : nearest(key, keys) + ": write a rule of your own instead"));
  table.allow(table.names());
  TuneSource tune;
  tune.name = name;
  tune.file = table.place().file;
  tune.line = table.place().line;
  table.severity(tune.severity, tune.severities);
  tune.runbook = table.address("runbook");
  tune.owner = table.text("owner");
  tune.mode = table.mode();
  tune.fire = table.persistence("fire");
  tune.clear = table.persistence("clear");
  tune.params = table.params("params");
  if (table.has("jobs")) tune.jobs = table.texts_map("jobs");
  const RowSettings rows = read_row_settings(table);
  tune.row = rows.row, tune.lateness = rows.lateness;
  table.collection().tunes.push_back(std::move(tune));
  return 0;
}

int case_table(lua_State* state) {
  const std::string name = lua_tostring(state, lua_upvalueindex(1));
  const Table table = table_argument(state, 1, "case \"" + name + "\"");
  table.collection().unfinished.end("case", name);
  read_case(table, name);
  return 0;
}

template <text::Definition::Kind kind>
int definition_table(lua_State* state) {
  const std::string word = kind == text::Definition::Kind::pattern ? "pattern" : "parser";
  const std::string name = lua_tostring(state, lua_upvalueindex(1)), what = word + " \"" + name + "\"";
  const Table table = table_argument(state, 1, what);
  table.collection().unfinished.end(word, name);
  table.collection().problems->about(what);
  read_definition(table, kind, name);
  table.collection().problems->about("");
  return 0;
}

// word "name" gives a function that takes the table.
template <lua_CFunction then>
int named(lua_State* state) {
  const std::string word = lua_tostring(state, lua_upvalueindex(1)), name = name_argument(state, word.c_str());
  if (collection_of(state).part == Collection::Part::shared)
    Host::of(state).stop(state,
                         "a " + word + " does not stand in shared/: a file there returns functions and constants");
  if ((word == "pattern" || word == "parser") != (collection_of(state).part == Collection::Part::texts))
    Host::of(state).stop(state, "a " + word +
                                    " does not stand in this file: patterns/ and progress/ hold patterns and "
                                    "parsers, and nothing else does");
  collection_of(state).unfinished.begin(word, name, Host::where(state));
  const bool whole = !lua_isnoneornil(state, 2);  // rule("x", { … })
  lua_settop(state, 2);
  lua_pushvalue(state, 1);
  lua_pushcclosure(state, then, 1);
  if (!whole) return 1;
  lua_pushvalue(state, 2);
  lua_call(state, 1, 0);
  return 0;
}

}  // namespace

void register_declarations(lua_State* state) {
  luaL_newmetatable(state, need_type);
  lua_pop(state, 1);
  const auto add_named = [state](const char* name, lua_CFunction function) {
    lua_pushstring(state, name);
    lua_pushcclosure(state, function, 1);
    lua_setfield(state, -2, name);
  };
  add_named("rule", named<rule_table>);
  add_named("tune", named<tune_table>);
  add_named("case", named<case_table>);
  add_named("pattern", named<definition_table<text::Definition::Kind::pattern>>);
  add_named("parser", named<definition_table<text::Definition::Kind::parser>>);
  set_functions(state, {{"signal", signal}, {"finding", finding}});
  register_expressions(state);
  register_settings(state);
  register_shared(state);
  register_case_values(state);
}

}  // namespace tocsin::dsl
