#include "dsl/load/declarations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <lua.hpp>
#include <sstream>

#include "dsl/lua/durations.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"

namespace tocsin::dsl {
namespace {

constexpr const char* value_type = "tocsin.case_value";
constexpr std::uint32_t most_ranks = 262'144;

struct Made {  // the result of steps, noise, ramp and silent: trivially destructible
  CaseValue::Kind kind;
  double a, b;
  bool from_given;
};

void push_made(lua_State* state, Made made) {
  *static_cast<Made*>(lua_newuserdatauv(state, sizeof(Made), 0)) = made;
  luaL_setmetatable(state, value_type);
}

double number(lua_State* state, int index, const char* usage) {
  if (lua_type(state, index) != LUA_TNUMBER) Host::of(state).stop(state, std::string{usage});
  return lua_tonumber(state, index);
}

int steps(lua_State* state) {
  constexpr auto usage = "steps(seconds, from): steps(2), or steps(2, 0) to begin at step 0";
  const double seconds = number(state, 1, usage);
  if (!(seconds > 0)) Host::of(state).stop(state, usage);
  const bool from = !lua_isnoneornil(state, 2);
  push_made(state, {CaseValue::Kind::steps, seconds, from ? number(state, 2, usage) : 0, from});
  return 1;
}
int noise(lua_State* state) {
  constexpr auto usage = "noise(mean, deviation): noise(0.9, 0.02)";
  push_made(state, {CaseValue::Kind::noise, number(state, 1, usage), number(state, 2, usage), false});
  return 1;
}
int ramp(lua_State* state) {
  constexpr auto usage = "ramp(from, to): ramp(10, 3)";
  push_made(state, {CaseValue::Kind::ramp, number(state, 1, usage), number(state, 2, usage), false});
  return 1;
}

// The value on top of the stack; pops it.
std::optional<CaseValue> take_value(lua_State* state) {
  std::optional<CaseValue> value;
  if (const auto* made = static_cast<const Made*>(luaL_testudata(state, -1, value_type)))
    value = CaseValue{made->kind, made->a, made->b, made->from_given, {}};
  else if (lua_type(state, -1) == LUA_TNUMBER)
    value = CaseValue{CaseValue::Kind::number, lua_tonumber(state, -1), 0, false, {}};
  else if (lua_type(state, -1) == LUA_TSTRING)
    value = CaseValue{CaseValue::Kind::text, 0, 0, false, lua_tostring(state, -1)};
  lua_pop(state, 1);
  return value;
}

void read_values(const Table& table, const std::vector<std::string>& others, CaseValues& values) {
  for (const std::string& name : table.names()) {
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    if (name == "fires" || name == "resolves" || name == "unknown") {
      table.problem(name, name + " belongs to the whole case: write it beside ranks, not in a segment");
      continue;
    }
    table.push(name);
    if (auto value = take_value(table.state())) values[name] = std::move(*value);
    else
      table.problem(name, "'" + name + "' in a segment: write a number, a text, noise(…), ramp(…), steps(…) or silent");
  }
}

// rank = { [3] = { sm_active = 0.1 } }
void read_members(const Table& segment, const std::string& key, std::map<std::uint32_t, CaseValues>& members) {
  lua_State* state = segment.state();
  segment.within(key, "{ [3] = { sm_active = 0.1 } }", [&](const Table&) {
    const int index = lua_gettop(state);
    for (lua_pushnil(state); lua_next(state, index); lua_pop(state, 1)) {
      const double number = lua_type(state, -2) == LUA_TNUMBER ? lua_tonumber(state, -2) : -1;
      if (number < 0 || number >= most_ranks || std::floor(number) != number || !lua_istable(state, -1))
        segment.problem(key, key + " wants numbers and their values: " + key + " = { [3] = { sm_active = 0.1 } }");
      else
        read_values(Table{state, lua_gettop(state), segment.collection(), segment.place()}, {},
                    members[static_cast<std::uint32_t>(number)]);
    }
  });
}

// The text that a table begins with; empty: it begins with another value.
std::string first_text(const Table& table) {
  const auto first = table.scalar(1).value_or("");
  const auto* text = std::get_if<std::string>(&first);
  return text ? *text : "";
}

// events = { { "xid", gpu = 3, code = 79, at = "10s" } }
void read_events(const Table& segment, std::vector<CaseEvent>& events) {
  const std::string example = "{ { \"xid\", gpu = 3, code = 79, at = \"10s\" } }";
  const std::string usage = "events lists events: events = " + example;
  segment.within("events", example, [&](const Table& list) {
    list.each("", usage, [&](const Table& table) {
      CaseEvent event;
      event.signal = first_text(table);
      if (event.signal.empty()) segment.problem("events", usage);
      event.at = table.duration("at").value_or(stream::Duration{});
      event.rank = table.whole("rank", 0, most_ranks);
      event.node = table.whole("node", 0, most_ranks);
      event.gpu = table.whole("gpu", 0, most_ranks);
      event.job = table.text("job").value_or("");
      const std::vector<std::string> others = case_event_keys.names();
      for (const std::string& name : table.names()) {
        if (std::ranges::find(others, name) != others.end()) continue;
        if (auto field = table.scalar(name)) event.fields[name] = std::move(*field);
        else segment.problem("events", usage);
      }
      events.push_back(std::move(event));
    });
  });
}

// lines = { "Training completed", { [[Watchdog caught a timeout]], rank = 3, at = "10s" } }
void read_lines(const Table& segment, std::vector<CaseLines>& lines) {
  const std::string example = "{ { \"loss is not finite\", rank = 3, at = \"10s\" } }",
                    usage = "lines lists texts: lines = ";
  const auto add = [&](const std::string& text, CaseLines with) {
    std::istringstream each{text};
    for (std::string line; std::getline(each, line);) with.texts.push_back(line);
    if (with.texts.empty()) segment.problem("lines", usage + example);
    else lines.push_back(std::move(with));
  };
  segment.within("lines", example, [&](const Table& list) {
    list.allow({}, "key", true);
    for (std::size_t i = 1; i <= list.length(); ++i) {
      if (const auto plain = list.scalar(i)) {
        const auto* text = std::get_if<std::string>(&*plain);
        add(text ? *text : "", {});
        continue;
      }
      list.push(i);
      if (lua_istable(list.state(), -1)) {
        const Table one{list.state(), lua_gettop(list.state()), list.collection(), list.place()};
        one.allow(case_line_keys);
        add(first_text(one), {{},
                              one.duration("at").value_or(stream::Duration{}),
                              one.whole("rank", 0, most_ranks),
                              one.whole("node", 0, most_ranks)});
      } else {
        segment.problem("lines", usage + example);
      }
      lua_pop(list.state(), 1);
    }
  });
}

std::optional<stream::Duration> read_sampled(const Table& table) {
  const auto sampled = table.duration("sampled");
  if (sampled && (*sampled < std::chrono::seconds{1} || *sampled > std::chrono::minutes{10} ||
                  sampled->count() % std::nano::den != 0))
    table.problem("sampled", "sampled is whole seconds, at most 10m: sampled = \"30s\"");
  return sampled;
}

CaseSegment read_segment(const Table& table) {
  CaseSegment segment;
  segment.sampled = read_sampled(table);
  segment.labels = table.text_map("labels");
  const auto lasting = table.duration("lasting");
  if (lasting && lasting->count() > 0 && *lasting <= std::chrono::hours{24 * 7}) segment.lasting = *lasting;
  else if (!table.has("lasting")) table.problem("", "a segment says how long it is: { lasting = \"5m\", … }");
  else if (lasting) table.problem("lasting", "lasting is more than 0 and at most 7d");
  segment.new_attempt = table.yes("new_attempt").value_or(false);
  segment.ends = table.text("ends", "completed").value_or("");
  read_members(table, "rank", segment.rank);
  read_members(table, "node", segment.node);
  read_members(table, "gpu", segment.gpu);
  read_events(table, segment.events);
  read_lines(table, segment.lines);
  read_values(table, segment_keys.names(), segment.all);
  return segment;
}

// fires = { { "straggler", rank = 3, cause = "compute", within = "2m" } }
std::vector<CaseExpectation> read_expectations(const Table& of_case, const std::string& key) {
  std::vector<CaseExpectation> result;
  const std::string example = "{ { \"straggler\", rank = 3 } }";
  of_case.within(key, example, [&](const Table& list) {
    list.each("", key + " lists tables: " + key + " = " + example, [&](const Table& table) {
      table.allow(expectation_keys);
      CaseExpectation expected;
      expected.rule = first_text(table);
      expected.rank = table.whole("rank", 0, most_ranks);
      expected.node = table.whole("node", 0, most_ranks);
      expected.gpu = table.whole("gpu", 0, most_ranks);
      expected.rack = table.whole("rack", 0, most_ranks);
      expected.cause = table.text("cause").value_or("");
      expected.missing = table.text("missing").value_or("");
      expected.within = table.duration("within");
      table.within("who", "{ 3 }", [&](const Table& who) {
        for (std::size_t k = 1; k <= who.length(); ++k) {
          const auto item = who.scalar(k).value_or("");
          const auto* rank = std::get_if<double>(&item);
          if (rank && *rank >= 0 && *rank < most_ranks && std::floor(*rank) == *rank)
            expected.who.push_back(static_cast<std::uint32_t>(*rank));
          else of_case.problem("who", "who lists numbers of ranks: who = { 3 }");
        }
      });
      result.push_back(std::move(expected));
    });
  });
  return result;
}

}  // namespace

void register_case_values(lua_State* state) {
  luaL_newmetatable(state, value_type);
  lua_pop(state, 1);
  set_functions(state, {{"steps", steps}, {"noise", noise}, {"ramp", ramp}});
  push_made(state, {CaseValue::Kind::silent, 0, 0, false});
  lua_setfield(state, -2, "silent");
  lua_pushnumber(state, std::numeric_limits<double>::quiet_NaN());
  lua_setfield(state, -2, "nan");
}

void read_size(const Table& table, Case& of) {
  const auto scope = table.text("scope", "attempt");
  of.cluster = scope == "cluster";
  if (scope && !of.cluster && *scope != "attempt")
    table.problem("scope", "scope = \"" + *scope + "\": write \"cluster\", or leave it out");
  const char *size = of.cluster ? "gpus" : "ranks", *other = of.cluster ? "ranks" : "gpus";
  if (table.has(other))
    table.problem(other, of.cluster ? "the cluster has no ranks: write gpus = 16"
                                    : "gpus is the size of a cluster, scope = \"cluster\": of a job write ranks = 16");
  of.ranks = table.whole(size, 1, most_ranks).value_or(1);
  if (table.has("per_rack") && !of.cluster)
    table.problem("per_rack", "per_rack, the nodes of a rack, is of scope = \"cluster\": take it out");
  of.per_rack = table.whole("per_rack", 1, 1024).value_or(0);
}

void read_case(const Table& table, const std::string& name) {
  Case result;
  result.name = name;
  result.file = table.place().file;
  result.line = table.place().line;
  table.allow(case_keys);
  read_size(table, result);
  result.per_node = table.whole("per_node", 1, 1024).value_or(8);
  result.sampled = read_sampled(table).value_or(result.sampled);
  result.records = table.text("records").value_or("");
  table.each("", "case '" + name + "' lists segments: { lasting = \"5m\", … }",
             [&](const Table& segment) { result.segments.push_back(read_segment(segment)); });
  if (result.segments.empty() && result.records.empty())
    table.problem("", "case '" + name + "' has no segment: { lasting = \"5m\", … }");
  result.fires = read_expectations(table, "fires");
  result.unknown = read_expectations(table, "unknown");
  result.resolves = read_expectations(table, "resolves");
  table.collection().cases.push_back(std::move(result));
}

}  // namespace tocsin::dsl
