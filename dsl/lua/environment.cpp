#include "dsl/lua/environment.h"

#include <algorithm>
#include <lua.hpp>

#include "dsl/lua/host.h"
#include "dsl/lua/problems.h"
#include "dsl/lua/values.h"

namespace tocsin::dsl {

void look_behind(lua_State* state, int index) {
  if (!lua_getmetatable(state, index)) return;
  lua_getfield(state, -1, "__index");
  if (lua_istable(state, -1)) lua_replace(state, index);
  else lua_pop(state, 1);
  lua_pop(state, 1);
}

namespace {

[[noreturn]] void stop(lua_State* state, std::string message) { Host::of(state).stop(state, std::move(message)); }

int refuse_change(lua_State* state) {
  stop(state, "a table of the file is read-only once it is loaded: use a local table, or state for what is remembered");
}

int hidden_length(lua_State* state) {
  lua_pushinteger(state, static_cast<lua_Integer>(lua_rawlen(state, lua_upvalueindex(1))));
  return 1;
}

}  // namespace

void make_read_only(lua_State* state) {
  lua_createtable(state, 0, 0);
  lua_createtable(state, 0, 3);
  lua_pushvalue(state, -3);
  lua_setfield(state, -2, "__index");
  lua_pushvalue(state, -3);
  lua_pushcclosure(state, hidden_length, 1);
  lua_setfield(state, -2, "__len");
  lua_pushcfunction(state, refuse_change);
  lua_setfield(state, -2, "__newindex");
  lua_setmetatable(state, -2);
  lua_remove(state, -2);
}

namespace {

const char environment_key = 0;
const char names_key = 0;     // the globals behind it
const char sealed_key = 0;    // tables that were sealed already, and what stands for them
constexpr int deepest = 100;  // tables within tables

// ---- the globals

std::vector<std::string> near_names(lua_State* state) {
  std::vector<std::string> names;
  lua_rawgetp(state, LUA_REGISTRYINDEX, &names_key);
  for (lua_pushnil(state); lua_next(state, -2); lua_pop(state, 1)) names.push_back(lua_tostring(state, -2));
  lua_pop(state, 1);
  lua_Debug debug{};
  if (lua_getstack(state, 1, &debug))  // the locals of the function that asks
    for (int i = 1; const char* local = lua_getlocal(state, &debug, i); ++i) {
      lua_pop(state, 1);
      if (local[0] != '(') names.emplace_back(local);
    }
  return names;
}

int global_index(lua_State* state) {
  lua_rawgetp(state, LUA_REGISTRYINDEX, &names_key);
  lua_pushvalue(state, 2);
  if (lua_rawget(state, -2) != LUA_TNIL) return 1;
  const std::string name = lua_type(state, 2) == LUA_TSTRING ? lua_tostring(state, 2) : luaL_typename(state, 2);
  for (const char* withheld :
       {"io",      "os",     "debug",    "load",   "loadstring", "dofile",         "loadfile",     "require",
        "package", "pcall",  "xpcall",   "error",  "assert",     "coroutine",      "setmetatable", "getmetatable",
        "rawget",  "rawset", "rawequal", "rawlen", "next",       "collectgarbage", "print",        "utf8",
        "_G"})
    if (name == withheld)
      stop(state,
           "'" + name + "' is not part of the language: a rule reads its needs and returns a mask, nothing else");
  if (name == "state") stop(state, "state is the third argument: write evaluate = function(job, p, state)");
  stop(state, "nothing is called '" + name + "'" + nearest(name, near_names(state)) +
                  ": declare it with local, or read it from job or p");
}

int global_newindex(lua_State* state) {
  const std::string name = lua_type(state, 2) == LUA_TSTRING ? lua_tostring(state, 2) : "?";
  std::string value = "…";
  if (lua_type(state, 3) == LUA_TNUMBER) {
    lua_pushvalue(state, 3);
    value = lua_tostring(state, -1);
  } else if (lua_type(state, 3) == LUA_TSTRING) {
    value = '"' + std::string{lua_tostring(state, 3)}.substr(0, 40) + '"';
  } else if (lua_type(state, 3) == LUA_TFUNCTION) {
    stop(state, "assign to a local: write 'local function " + name + "(…)'");
  }
  stop(state, "assign to a local: write 'local " + name + " = " + value + "'");
}

}  // namespace

void register_environment(lua_State* state, void (*declare)(lua_State*)) {
  register_values(state);
  push_standard_functions(state);
  for (const stream::Operation& entry : stream::operations()) {
    if (entry.takes != stream::Takes::columns) continue;
    push_function(state, entry.op);
    lua_setfield(state, -2, std::string{entry.name}.c_str());
  }
  declare(state);
  lua_rawsetp(state, LUA_REGISTRYINDEX, &names_key);

  lua_newtable(state);
  lua_rawsetp(state, LUA_REGISTRYINDEX, &sealed_key);

  lua_newtable(state);
  lua_newtable(state);
  lua_pushcfunction(state, global_index);
  lua_setfield(state, -2, "__index");
  lua_pushcfunction(state, global_newindex);
  lua_setfield(state, -2, "__newindex");
  lua_setmetatable(state, -2);
  lua_rawsetp(state, LUA_REGISTRYINDEX, &environment_key);
}

void push_environment(lua_State* state) { lua_rawgetp(state, LUA_REGISTRYINDEX, &environment_key); }

namespace {

// Replaces the value on top by what may be reached after loading: tables by read-only ones, with all that is in them.
void seal(lua_State* state, int depth) {
  luaL_checkstack(state, 10, "tables within tables");
  if (depth > deepest) stop(state, "tables within tables, more than 100 deep");
  const int kind = lua_type(state, -1);
  if (kind != LUA_TTABLE && kind != LUA_TFUNCTION) return;
  Host::of(state).charge(state, 10);
  lua_rawgetp(state, LUA_REGISTRYINDEX, &sealed_key);
  lua_pushvalue(state, -2);
  if (lua_rawget(state, -2) != LUA_TNIL) {  // done already
    lua_replace(state, -3);
    lua_pop(state, 1);
    return;
  }
  lua_pop(state, 1);
  if (kind == LUA_TFUNCTION) {
    lua_pushvalue(state, -2);
    lua_pushvalue(state, -1);
    lua_rawset(state, -3);  // itself: it may reach itself
    lua_pop(state, 1);
    if (!lua_iscfunction(state, -1)) {
      const int function = lua_gettop(state);
      for (int i = 1; lua_getupvalue(state, function, i); ++i) {
        push_environment(state);
        const bool globals = lua_rawequal(state, -1, -2);
        lua_pop(state, 1);
        if (globals) {
          lua_pop(state, 1);
          continue;
        }
        seal(state, depth + 1);
        lua_setupvalue(state, function, i);
      }
    }
    return;
  }
  if (lua_getmetatable(state, -2)) {  // read-only from the start
    lua_pop(state, 2);
    return;
  }
  lua_pushvalue(state, -2);  // the stand-in, before what is inside: tables may go in circles
  make_read_only(state);
  lua_pushvalue(state, -3);
  lua_pushvalue(state, -2);
  lua_rawset(state, -4);
  lua_pushvalue(state, -1);
  lua_pushvalue(state, -1);
  lua_rawset(state, -4);  // and for itself
  lua_remove(state, -2);  // table, stand-in
  for (lua_pushnil(state); lua_next(state, -3);) {
    seal(state, depth + 1);
    lua_pushvalue(state, -2);
    lua_insert(state, -2);  // key, key, value
    lua_rawset(state, -5);  // assigning to a field that is there keeps the traversal valid
  }
  lua_remove(state, -2);
}

}  // namespace

void seal_value(lua_State* state) { seal(state, 0); }

void seal_outer(lua_State* state, int function) {
  lua_pushvalue(state, function);
  seal_value(state);
  lua_pop(state, 1);
}

void set_functions(lua_State* state, std::initializer_list<luaL_Reg> functions) {
  for (const auto& [name, function] : functions) {
    lua_pushcfunction(state, function);
    lua_setfield(state, -2, name);
  }
}

}  // namespace tocsin::dsl
