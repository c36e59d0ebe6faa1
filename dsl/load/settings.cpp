#include "dsl/load/declarations.h"

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "dsl/load/tables.h"
#include "dsl/lua/durations.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "stream/values/units.h"

namespace tocsin::dsl {
namespace {

using Strings = std::vector<std::string>;
using stream::Level;

constexpr std::initializer_list<Level> owners{Level::rank, Level::gpu, Level::node, Level::rack, Level::job};

double positive_factor(const Table& alias, const std::string& key) {
  const double factor = alias.number(key).value_or(1.0);
  if (!(std::isfinite(factor) && factor != 0)) alias.problem(key, key + ": a factor is a number other than 0");
  return factor;
}

// A unit that nothing else has is a slip of the pen: numbers would not be converted, and comparisons refused or let
// pass.
void check_unit(const Table& table, const std::string& key, const std::string& unit) {
  static const Strings units{"none", "ratio", "count",   "seconds", "bytes", "bits",   "text",
                             "MHz",  "watts", "celsius", "joules",  "hertz", "tokens", "samples"};
  // A value of a line is converted from it; a signal is kept in the unit that others have.
  const auto kept_in = [](std::string_view part) {
    const auto same = std::find(units.begin(), units.end(), part);
    return same != units.end() ? same : std::find_if(units.begin(), units.end(), [&](const std::string& one) {
      return stream::unit_factor(part, one).has_value();
    });
  };
  std::string_view left = unit;
  for (;;) {
    const std::size_t end = std::min(left.find_first_of("/*"), left.size());
    const auto part = left.substr(0, end);
    const auto kept = kept_in(part);
    if (kept != units.end() && *kept != part && key == "unit")
      table.collection().problems->warn(
          table.place().file, table.line_of(key),
          "unit \"" + std::string{part} + "\" is neither shown in alerts nor comparable with " + *kept + ": write \"" +
              *kept + "\", and convert values that come in " + std::string{part} +
              " by an alias, aliases = { name = " + shown(*stream::unit_factor(part, *kept)) + " }");
    if (kept == units.end())
      return table.problem(key, "no unit \"" + std::string{part} + "\"" + nearest(part, units) +
                                    ": write none, ratio, count, seconds, bytes, bits, MHz, watts, celsius, tokens, "
                                    "samples or text, or a quotient of them, bytes/seconds");
    if (end == left.size()) return;
    left.remove_prefix(end + 1);
  }
}

void read_fields(const Table& table, stream::SignalDefinition& signal) {
  for (const auto& [name, unit] : table.text_map("fields")) {
    check_unit(table, "fields", unit);
    signal.fields.push_back({name, unit});
  }
}

// Takes the name for the signal; `key` has it, or it is the signal's own. False: it means another, or this one already.
bool take_name(const Table& table, const std::string& key, const std::string& name, const std::string& signal) {
  const auto place = table.place();
  const auto [at, fresh] =
      table.collection().names_of_signals.emplace(name, Collection::SignalName{signal, place.file, place.line});
  if (fresh) return true;
  const auto& [first, file, line] = at->second;
  const std::string there = file + ":" + std::to_string(line);
  if (signal != first)
    table.problem(key, "'" + name + "' names two signals, '" + first + "' (" + there + ") and '" + signal +
                           "': read '" + first + "', or give this one another name");
  else if (!key.empty()) table.problem(key, "'" + name + "' names '" + signal + "' twice: remove one");
  else
    table.problem(key, "signal '" + name + "' is defined twice, first at " + there +
                           ": give this one another name; tune \"" + name + "\" { … } changes row and lateness");
  return false;
}

// aliases = { "a", b = 1e-9 }: other names, with the factors of their values.
void read_aliases(const Table& table, stream::SignalDefinition& signal) {
  const auto add = [&](const std::string& name, double factor) {
    if (take_name(table, "aliases", name, signal.name)) signal.aliases.push_back({name, factor});
  };
  const std::string example = "{ \"other_name\", scaled_name = 0.001 }";
  table.within("aliases", example, [&](const Table& aliases) {
    for (std::size_t i = 1; i <= aliases.length(); ++i) {
      const auto item = aliases.scalar(i).value_or(0.0);
      if (const auto* name = std::get_if<std::string>(&item)) add(*name, 1.0);
      else table.problem("aliases", "aliases lists names, or names with a factor: " + example);
    }
    for (const std::string& name : aliases.names()) add(name, positive_factor(aliases, name));
  });
}

void read_signal(const Table& table, const std::string& name) {
  table.allow(signal_keys);
  if (!take_name(table, "", name, name)) return;
  stream::SignalDefinition signal;
  signal.name = name;
  using enum stream::SignalKind;
  signal.kind = table.one_of("kind", {gauge, counter, state, step, time, event, liveness}).value_or(signal.kind);
  signal.owner = table.one_of("owner", owners).value_or(signal.owner);
  signal.unit = table.text("unit", "none").value_or("none");
  check_unit(table, "unit", signal.unit);
  const bool quick = signal.kind == event;
  const RowSettings rows = read_row_settings(table);
  signal.lateness = rows.lateness.value_or(quick ? std::chrono::seconds{1} : std::chrono::seconds{5});
  signal.row = rows.row.value_or(std::chrono::seconds{1});
  signal.points = table.yes("points").value_or(false);
  signal.source = table.text("source", "log").value_or("");
  signal.values = table.texts("values");
  if (!signal.values.empty() && signal.kind != stream::SignalKind::state)
    table.problem("values", "values belong to a state: kind = \"state\"");
  if (table.has("fields") && signal.kind != stream::SignalKind::event)
    table.problem("fields", "fields belong to an event: kind = \"event\"");
  if (signal.textual() && signal.kind != stream::SignalKind::state)
    table.problem("unit", "text is the unit of a state: kind = \"state\"");
  read_fields(table, signal);
  read_aliases(table, signal);
  signal.documentation = table.text("documentation").value_or("");
  table.collection().signals.emplace(name, std::move(signal));
}

void only_in_signals(const Table& table, const char* word) {
  if (table.collection().part != Collection::Part::signals)
    Host::of(table.state()).stop(table.state(), std::string{word} + " stands in signals.lua");
}

int signals(lua_State* state) {
  const Table table = table_argument(state, 1, "signals");
  only_in_signals(table, "signals { … }");
  for (const std::string& name : table.names())
    table.within(name, "{ kind = \"gauge\", unit = \"none\", owner = \"rank\" }", [&](const Table&) {
      const Host::Place place{table.place().file, table.line_of(name)};
      read_signal(Table{state, lua_gettop(state), table.collection(), place}, name);
    });
  return 0;
}

int coordinates(lua_State* state) {
  const Table table = table_argument(state, 1, "coordinates");
  only_in_signals(table, "coordinates { … }");
  for (const std::string& name : table.names())
    if (const auto level = table.one_of(name, owners)) table.collection().coordinates[name] = *level;
  return 0;
}

int verdict(lua_State* state) {
  const Table table = table_argument(state, 1, "verdict");
  if (table.collection().part != Collection::Part::verdict)
    Host::of(state).stop(state, "verdict { … } stands in verdict.lua");
  table.allow(verdict_keys);
  stream::VerdictPolicy& policy = table.collection().verdict;
  policy.precedence = table.texts("precedence");
  policy.passes = table.texts("passes");
  for (const auto& family : table.texts("pauses"))
    policy.passes.push_back(family);  // its name in packs of before, which states still hold
  policy.families = table.text_map("families");
  Strings codes;
  for (const auto& [code, words] : policy.families) codes.push_back(code);
  const auto check = [&](const std::string& key, const Strings& named) {
    for (const std::string& code : named)
      if (!codes.empty() && !policy.families.contains(code))
        table.problem(key, key + " names the family '" + code + "', which is not in families" + nearest(code, codes) +
                               ": write one of them, or add it there with its words");
  };
  check("precedence", policy.precedence);
  check("passes", policy.passes);
  for (const auto& [family, explained] : table.params("explains")) {
    auto& list = policy.explains[family];
    if (const auto* one = std::get_if<std::string>(&explained)) list.push_back(*one);
    if (const auto* many = std::get_if<std::vector<stream::Scalar>>(&explained))
      for (const auto& item : *many)
        if (const auto* text = std::get_if<std::string>(&item)) list.push_back(*text);
    check("explains", {family});
    check("explains", list);
    if (list.empty()) table.problem("explains", "explains." + family + " lists families: " + family + " = { \"A2\" }");
  }
  return 0;
}

}  // namespace

RowSettings read_row_settings(const Table& table) {
  RowSettings read{table.duration("row"), table.duration("lateness")};
  if (read.row && (*read.row < std::chrono::milliseconds{10} || *read.row > std::chrono::minutes{10})) {
    table.problem("row", "row is between 0.01s and 10m");
    read.row.reset();
  }
  if (read.lateness && *read.lateness > std::chrono::minutes{10}) {
    table.problem("lateness", "lateness is at most 10m");
    read.lateness.reset();
  }
  // Records of one arrival are judged together, in however many entries they come.
  if (read.lateness) read.lateness = std::max(*read.lateness, stream::Duration{1});
  return read;
}

void register_settings(lua_State* state) {
  set_functions(state, {{"signals", signals}, {"coordinates", coordinates}, {"verdict", verdict}});
}

}  // namespace tocsin::dsl
