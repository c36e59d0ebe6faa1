#include "dsl/load/text_definitions.h"

#include <lua.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "dsl/load/unfinished.h"
#include "dsl/lua/bytecode.h"
#include "dsl/lua/host.h"

namespace tocsin::dsl {
namespace {

using text::Definition;
using text::Value;
using text::ValueSource;

constexpr std::size_t most_bytes = 32u << 20;

// The result of running one file: an upvalue of the words.
struct Run {
  std::string file;
  std::vector<Definition>* definitions = nullptr;
  UnfinishedDeclarations unfinished;
};

const char* word_of(Definition::Kind kind) { return kind == Definition::Kind::pattern ? "pattern" : "parser"; }

// Reads the table of one definition. An error ends the file's run, at the line of the definition.
class TableReader {
 public:
  TableReader(lua_State* lua, int table, const char* what) : lua_(lua), table_(lua_absindex(lua, table)), what_(what) {}

  [[noreturn]] void fail(const std::string& message) { Host::of(lua_).stop(lua_, std::string(what_) + ": " + message); }

  std::string text(const char* key) {
    lua_getfield(lua_, table_, key);
    std::string value;
    if (lua_type(lua_, -1) == LUA_TSTRING) value = string_at(-1);
    else if (!lua_isnil(lua_, -1)) fail(std::string(key) + " is a " + luaL_typename(lua_, -1) + "; write a text");
    lua_pop(lua_, 1);
    return value;
  }

  std::vector<std::string> texts(const char* key) {
    lua_getfield(lua_, table_, key);
    std::vector<std::string> values;
    if (lua_type(lua_, -1) == LUA_TSTRING) {
      values.push_back(string_at(-1));
    } else if (lua_istable(lua_, -1)) {
      for (lua_Integer i = 1; lua_rawgeti(lua_, -1, i) != LUA_TNIL; ++i, lua_pop(lua_, 1)) {
        if (lua_type(lua_, -1) != LUA_TSTRING)
          fail(std::string(key) + " has a " + luaL_typename(lua_, -1) + "; write texts");
        values.push_back(string_at(-1));
      }
      lua_pop(lua_, 1);
    } else if (!lua_isnil(lua_, -1)) {
      fail(std::string(key) + " is a " + luaL_typename(lua_, -1) + "; write a text or a list of texts");
    }
    lua_pop(lua_, 1);
    return values;
  }

  std::optional<double> number(const char* key) {
    lua_getfield(lua_, table_, key);
    std::optional<double> value;
    if (lua_type(lua_, -1) == LUA_TNUMBER) value = lua_tonumber(lua_, -1);
    else if (!lua_isnil(lua_, -1)) fail(std::string(key) + " is a " + luaL_typename(lua_, -1) + "; write a number");
    lua_pop(lua_, 1);
    return value;
  }

  bool flag(const char* key) {
    lua_getfield(lua_, table_, key);
    if (!lua_isnil(lua_, -1) && !lua_isboolean(lua_, -1))
      fail(std::string(key) + " is a " + luaL_typename(lua_, -1) + "; write true");
    const bool value = lua_toboolean(lua_, -1) != 0;
    lua_pop(lua_, 1);
    return value;
  }

  // Every key must be one of these.
  void only(std::initializer_list<std::string_view> keys, bool list) {
    lua_pushnil(lua_);
    while (lua_next(lua_, table_) != 0) {
      lua_pop(lua_, 1);
      if (lua_type(lua_, -1) == LUA_TSTRING) {
        const std::string key = string_at(-1);
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
          std::string known;
          for (std::string_view each : keys) known += (known.empty() ? "" : ", ") + std::string(each);
          fail("\"" + key + "\" is no key here; there are " + known);
        }
      } else if (!list) {
        fail("a value without a key; write key = value");
      }
    }
  }

  // Values by name, sorted: a Lua table has no order of its own.
  std::vector<Value> values(const char* key) {
    lua_getfield(lua_, table_, key);
    std::vector<Value> out;
    if (lua_istable(lua_, -1)) {
      lua_pushnil(lua_);
      while (lua_next(lua_, -2) != 0) {
        if (lua_type(lua_, -2) != LUA_TSTRING)
          fail(std::string(key) + " has a value without a name; write name = capture");
        Value value;
        value.name = string_at(-2);
        value_at(value);
        out.push_back(std::move(value));
        lua_pop(lua_, 1);
      }
      std::sort(out.begin(), out.end(), [](const Value& a, const Value& b) { return a.name < b.name; });
    } else if (!lua_isnil(lua_, -1)) {
      fail(std::string(key) + " is a " + luaL_typename(lua_, -1) + "; write { name = capture, … }");
    }
    lua_pop(lua_, 1);
    return out;
  }

 private:
  std::string string_at(int index) {
    std::size_t size = 0;
    const char* data = lua_tolstring(lua_, index, &size);
    return {data, size};
  }

  // The value on top of the stack: a capture's name, a number, a source, or a list of sources.
  void value_at(Value& value) {
    const int type = lua_type(lua_, -1);
    if (type == LUA_TSTRING) {
      value.sources.emplace_back().capture = string_at(-1);
    } else if (type == LUA_TNUMBER) {
      value.sources.emplace_back().number = lua_tonumber(lua_, -1);
    } else if (type == LUA_TTABLE) {
      if (lua_rawgeti(lua_, -1, 1) == LUA_TTABLE) {
        lua_pop(lua_, 1);
        for (lua_Integer i = 1; lua_rawgeti(lua_, -1, i) != LUA_TNIL; ++i, lua_pop(lua_, 1)) {
          if (!lua_istable(lua_, -1)) fail(value.name + " mixes sources and others; write a list of { … }");
          source_at(value);
        }
      } else {
        lua_pop(lua_, 1);
        return source_at(value);
      }
      lua_pop(lua_, 1);
    } else {
      fail(value.name + " is a " + luaL_typename(lua_, -1) + "; write a capture's name or a table");
    }
  }

  void source_at(Value& value) {
    TableReader table(lua_, -1, what_);
    table.only({"find", "last", "text", "number", "scale", "epoch", "per_epoch", "first_epoch"}, true);
    ValueSource& source = value.sources.emplace_back();
    if (lua_rawgeti(lua_, -1, 1) == LUA_TSTRING) source.capture = string_at(-1);
    lua_pop(lua_, 1);
    source.find = table.text("find");
    source.last = table.flag("last");
    source.text = table.text("text");
    source.number = table.number("number");
    source.scale = table.number("scale").value_or(1.0);
    source.epoch = table.text("epoch");
    source.per_epoch = table.text("per_epoch");
    source.first_epoch = table.number("first_epoch").value_or(0.0);
    const int found = !source.capture.empty() + !source.find.empty();
    const int constant = !source.text.empty() + source.number.has_value();
    if (found + constant == 0) fail(value.name + " needs a capture's name, find, text or number");
    if (found > 1 || constant > 1 || (!source.capture.empty() && constant))
      fail(value.name + " has two sources in one; write a list of { … }");
  }

  lua_State* lua_;
  int table_;
  const char* what_;
};

// pattern "name" { … }: the second call. Upvalues: the kind, the name, and the run.
int define(lua_State* lua) {
  Run& run = *static_cast<Run*>(lua_touserdata(lua, lua_upvalueindex(3)));
  const auto kind = static_cast<Definition::Kind>(lua_tointeger(lua, lua_upvalueindex(1)));
  const char* name = lua_tostring(lua, lua_upvalueindex(2));
  const bool pattern = kind == Definition::Kind::pattern;
  luaL_argexpected(lua, lua_istable(lua, 1), 1, "table");
  run.unfinished.end(word_of(kind), name);
  const std::string what = std::string(word_of(kind)) + " \"" + name + "\"";
  TableReader table(lua, 1, what.c_str());
  table.only({"line",    "scan",   "unless",    "event",           "also", "source",    "fields", "texts",
              "samples", "states", "rank",      "rank_if_unknown", "gpu",  "continues", "ends",   "wrapped",
              "lines",   "same",   "remembers", "equal",           "about"},
             false);
  Definition definition;
  definition.kind = kind;
  definition.name = name;
  definition.file = run.file;
  definition.line = Host::where(lua).line;
  definition.lines = table.texts("line");
  definition.scan = table.text("scan");
  definition.unless = table.text("unless");
  definition.event = table.text("event");
  definition.also = table.text("also");
  if (!definition.also.empty() && definition.event.empty())
    table.fail("`also` names a second event; write `event` first");
  if (std::string source = table.text("source"); !source.empty()) definition.source = std::move(source);
  definition.fields = table.values("fields");
  for (Value& text : table.values("texts")) {
    text.textual = true;
    definition.fields.push_back(std::move(text));
  }
  definition.samples = table.values("samples");
  for (Value& state : table.values("states")) {  // constants in the place of captures' names
    for (ValueSource& source : state.sources) source.text = std::move(source.capture), source.capture.clear();
    state.textual = true;
    definition.samples.push_back(std::move(state));
  }
  definition.rank = table.text("rank");
  if (std::string rank = table.text("rank_if_unknown"); !rank.empty()) {
    if (!definition.rank.empty()) table.fail("both rank and rank_if_unknown; write one");
    definition.rank = std::move(rank);
    definition.rank_yields = true;
  }
  definition.gpu = table.text("gpu");
  definition.continues = table.text("continues");
  definition.until = table.text("ends");
  definition.wrapped = table.flag("wrapped");
  if (const auto lines = table.number("lines")) {
    if (!(*lines >= 1 && *lines <= 512)) table.fail("lines is not between 1 and 512");
    definition.most_lines = static_cast<std::uint32_t>(*lines);
  }
  definition.equal = table.texts("equal");
  definition.same = table.text("same");
  definition.remembers = table.text("remembers");
  if (!pattern && !definition.event.empty()) table.fail("a parser makes samples; write a pattern for the event");
  run.definitions->push_back(std::move(definition));
  return 0;
}

// pattern "name": the first call. Upvalues: the kind, and the run.
int name_definition(lua_State* lua) {
  luaL_argexpected(lua, lua_type(lua, 1) == LUA_TSTRING, 1, "name");
  const auto kind = static_cast<Definition::Kind>(lua_tointeger(lua, lua_upvalueindex(1)));
  Run& run = *static_cast<Run*>(lua_touserdata(lua, lua_upvalueindex(2)));
  run.unfinished.begin(word_of(kind), lua_tostring(lua, 1), Host::where(lua));
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_pushvalue(lua, 1);
  lua_pushvalue(lua, lua_upvalueindex(2));
  lua_pushcclosure(lua, define, 3);
  return 1;
}

// Runs the file with these words.
void run_chunk(lua_State* lua, Run& run, const std::string& source, std::vector<text::TextProblem>& problems) {
  lua_newtable(lua);
  const std::array<std::pair<const char*, Definition::Kind>, 2> words{
      {{"pattern", Definition::Kind::pattern}, {"parser", Definition::Kind::parser}}};
  for (const auto& [word, kind] : words) {
    lua_pushinteger(lua, static_cast<lua_Integer>(kind));
    lua_pushlightuserdata(lua, &run);
    lua_pushcclosure(lua, name_definition, 2);
    lua_setfield(lua, -2, word);
  }
  if (luaL_loadbufferx(lua, source.data(), source.size(), ("@" + run.file).c_str(), "t") != LUA_OK) lua_error(lua);
  if (const auto code = bytecode_of(lua, -1))
    for (const Finding& one : repeated_keys(*code)) problems.push_back({run.file, one.line, one.message});
  lua_pushvalue(lua, -2);
  lua_setupvalue(lua, -2, 1);
  lua_call(lua, 0, 0);
}

text::TextProblem problem_of(const std::string& file, const Failure& failure) {
  if (failure.spent) return {file, failure.line, "the file computes too long: patterns and parsers are data"};
  text::TextProblem problem{file, failure.line, failure.message};
  const std::string front = file + ":";  // of a text that does not compile: "file:12: message"
  if (problem.message.compare(0, front.size(), front) == 0) {
    char* end = nullptr;
    problem.line = static_cast<int>(std::strtol(failure.message.c_str() + front.size(), &end, 10));
    const char* rest = end;
    while (*rest == ':' || *rest == ' ') ++rest;
    problem.message = rest;
  }
  return problem;
}

}  // namespace

bool is_text_file(const std::string& path) {
  const auto in = [&](const std::string& folder) {
    return path.starts_with(folder) || path.find('/' + folder) != path.npos;
  };
  return path.ends_with(".lua") && (in("patterns/") || in("progress/"));
}

TextDefinitions read_text_definitions(const std::map<std::string, std::string>& files, std::uint64_t instructions) {
  TextDefinitions out;
  for (const auto& [path, source] : files) {
    if (!is_text_file(path)) continue;
    Run run{path, &out.definitions, {}};
    Budgets budgets;
    budgets.bytes = most_bytes;
    Host host{budgets};
    if (const auto failure = host.guarded(
            instructions, [&, &text = source](lua_State* lua) { run_chunk(lua, run, text, out.problems); }))
      out.problems.push_back(problem_of(path, *failure));
    else
      run.unfinished.report_to([&](const Host::Place& at, const std::string& message) {
        out.problems.push_back({at.file, at.line, message});
      });
  }
  return out;
}

text::Compiled compile_text(const std::map<std::string, std::string>& files, text::DatabaseStore* store) {
  TextDefinitions read = read_text_definitions(files);
  if (!read.problems.empty()) return {nullptr, std::move(read.problems)};
  return text::compile(read.definitions, store);
}

}  // namespace tocsin::dsl
