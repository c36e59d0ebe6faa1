
#include <algorithm>
#include <cmath>
#include <lua.hpp>
#include <numbers>
#include <tuple>

#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "dsl/lua/values.h"

namespace tocsin::dsl {
namespace {

[[noreturn]] void stop(lua_State* state, std::string message) { Host::of(state).stop(state, std::move(message)); }

struct Key {
  int rank;  // numbers, then texts, then no and yes
  double number;
  std::string text;
  bool operator<(const Key& other) const {
    return std::tie(rank, number, text) < std::tie(other.rank, other.number, other.text);
  }
};

int next_pair(lua_State* state) {  // upvalues: keys in order, position, table
  for (;;) {
    const lua_Integer place = lua_tointeger(state, lua_upvalueindex(2)) + 1;
    lua_pushinteger(state, place);
    lua_replace(state, lua_upvalueindex(2));
    if (lua_rawgeti(state, lua_upvalueindex(1), place) == LUA_TNIL) return 1;
    lua_pushvalue(state, -1);
    if (lua_rawget(state, lua_upvalueindex(3)) != LUA_TNIL) return 2;
    lua_pop(state, 2);  // taken out meanwhile
    Host::of(state).charge(state, 1);
  }
}

int pairs(lua_State* state) {
  if (value_at(state, 1))
    stop(state, "a column is not a table: :each() gives its members and values, and makes the rule scripted");
  if (!lua_istable(state, 1)) stop(state, std::string{"pairs wants a table, not a "} + luaL_typename(state, 1));
  look_behind(state, 1);
  std::vector<Key> keys;
  for (lua_pushnil(state); lua_next(state, 1); lua_pop(state, 1)) {
    switch (lua_type(state, -2)) {
      case LUA_TNUMBER: keys.push_back({0, lua_tonumber(state, -2), {}}); break;
      case LUA_TSTRING: keys.push_back({1, 0, lua_tostring(state, -2)}); break;
      case LUA_TBOOLEAN: keys.push_back({2, lua_toboolean(state, -2) ? 1.0 : 0.0, {}}); break;
      default: stop(state, "pairs goes in the order of keys: they must be numbers, texts or booleans");
    }
    Host::of(state).charge(state, 4 + keys.back().text.size() / 16);
  }
  std::sort(keys.begin(), keys.end());
  lua_createtable(state, static_cast<int>(keys.size()), 0);
  lua_Integer place = 0;
  for (const Key& key : keys) {
    if (key.rank == 0) {
      const auto whole = static_cast<lua_Integer>(std::clamp(key.number, -9e15, 9e15));
      if (static_cast<double>(whole) == key.number) lua_pushinteger(state, whole);
      else lua_pushnumber(state, key.number);
    } else if (key.rank == 1) {
      lua_pushlstring(state, key.text.data(), key.text.size());
    } else {
      lua_pushboolean(state, key.number != 0);
    }
    lua_rawseti(state, -2, ++place);
  }
  lua_pushinteger(state, 0);
  lua_pushvalue(state, 1);
  lua_pushcclosure(state, next_pair, 3);
  return 1;
}

int next_index(lua_State* state) {
  const lua_Integer place = lua_tointeger(state, 2) + 1;
  lua_pushinteger(state, place);
  return lua_geti(state, 1, place) == LUA_TNIL ? 1 : 2;
}

int ipairs(lua_State* state) {
  if (value_at(state, 1))
    stop(state, "a column is not a table: :each() gives its members and values, and makes the rule scripted");
  if (!lua_istable(state, 1)) stop(state, std::string{"ipairs wants a table, not a "} + luaL_typename(state, 1));
  lua_pushcfunction(state, next_index);
  lua_pushvalue(state, 1);
  lua_pushinteger(state, 0);
  return 3;
}

int type(lua_State* state) {
  luaL_checkany(state, 1);
  if (const Value* value = value_at(state, 1)) {
    const auto shape = name(evaluation_of(state).graph[value->node].type.shape);
    lua_pushlstring(state, shape.data(), shape.size());
  } else {
    lua_pushstring(state, luaL_typename(state, 1));
  }
  return 1;
}

int tostring(lua_State* state) {
  luaL_checkany(state, 1);
  switch (lua_type(state, 1)) {
    case LUA_TNIL: lua_pushstring(state, "nil"); break;
    case LUA_TBOOLEAN: lua_pushstring(state, lua_toboolean(state, 1) ? "true" : "false"); break;
    case LUA_TNUMBER:
    case LUA_TSTRING:
      lua_pushvalue(state, 1);
      lua_tolstring(state, -1, nullptr);
      break;
    case LUA_TUSERDATA:
      if (value_at(state, 1))
        stop(state, "a column is not a text: name it in the second value and write {name} in shows");
      [[fallthrough]];
    default: lua_pushstring(state, luaL_typename(state, 1));  // never an address
  }
  return 1;
}

int tonumber(lua_State* state) {
  if (value_at(state, 1))
    stop(state,
         "a column is not a number; :number() gives the one value of a column per job, and makes the rule scripted");
  if (lua_type(state, 1) == LUA_TNUMBER) {
    lua_settop(state, 1);
    return 1;
  }
  if (lua_type(state, 1) == LUA_TSTRING && lua_stringtonumber(state, lua_tostring(state, 1)) != 0) return 1;
  lua_pushnil(state);
  return 1;
}

int select(lua_State* state) {
  const int n = lua_gettop(state);
  if (lua_type(state, 1) == LUA_TSTRING && std::string_view{lua_tostring(state, 1)} == "#") {
    lua_pushinteger(state, n - 1);
    return 1;
  }
  const lua_Integer from = luaL_checkinteger(state, 1);
  if (from < 1) stop(state, "select wants a place from 1 on, or '#'");
  return from >= n ? 0 : n - static_cast<int>(from);
}

int unpack(lua_State* state) {
  if (!lua_istable(state, 1)) stop(state, std::string{"table.unpack wants a table, not a "} + luaL_typename(state, 1));
  const lua_Integer n = luaL_len(state, 1);
  if (n > 200) stop(state, "table.unpack of more than 200 values: go through them with ipairs");
  luaL_checkstack(state, static_cast<int>(n) + 1, "table.unpack");
  for (lua_Integer i = 1; i <= n; ++i) lua_geti(state, 1, i);
  return static_cast<int>(n);
}

double number(lua_State* state, int index, const char* word) {
  if (value_at(state, index)) {
    const std::string_view called{word};
    std::string instead = called == "abs"   ? "x:abs()"
                          : called == "max" ? "greatest(a, b), or :clamp(1)"
                          : called == "min" ? "least(a, b), or :clamp(low, high)"
                                            : "";
    stop(state, std::string{"math."} + word + " cannot take columns" +
                    (instead.empty() ? ": only numbers of params" : "; write " + instead));
  }
  if (lua_type(state, index) != LUA_TNUMBER)
    stop(state, std::string{"math."} + word + " wants numbers, not a " + luaL_typename(state, index));
  return lua_tonumber(state, index);
}

void push_number(lua_State* state, double x) {
  if (std::floor(x) == x && std::fabs(x) < 9e15) lua_pushinteger(state, static_cast<lua_Integer>(x));
  else lua_pushnumber(state, x);
}

int extreme(lua_State* state, const char* word, bool greatest) {
  if (lua_gettop(state) < 1) stop(state, std::string{"math."} + word + " wants numbers");
  double best = number(state, 1, word);
  for (int i = 2; i <= lua_gettop(state); ++i) {
    const double x = number(state, i, word);
    if (greatest ? x > best : x < best) best = x;
  }
  push_number(state, best);
  return 1;
}

// %d %i %x %f %e %g %s %%, with flags, width and precision up to 99: no address can be shown.
int format(lua_State* state) {
  if (lua_type(state, 1) != LUA_TSTRING) stop(state, "string.format wants a text first");
  std::size_t length = 0;
  const char* text = lua_tolstring(state, 1, &length);
  Host::of(state).charge(state, length / 16 + 1);
  std::string out;
  int argument = 1;
  for (std::size_t i = 0; i < length; ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (++i < length && text[i] == '%') {
      out += '%';
      continue;
    }
    std::string spec = "%";
    while (i < length && (std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '.' || text[i] == '-' ||
                          text[i] == '+' || text[i] == ' ' || text[i] == '0'))
      spec += text[i++];
    const char conversion = i < length ? text[i] : '\0';
    int run = 0;
    for (const char c : spec) {
      run = std::isdigit(static_cast<unsigned char>(c)) ? run + 1 : 0;
      if (run > 2) stop(state, "string.format: a width or precision has at most two digits");
    }
    ++argument;
    char buffer[512];
    if (conversion == 'd' || conversion == 'i' || conversion == 'x') {
      if (!lua_isinteger(state, argument))
        stop(state, "string.format: %" + std::string{conversion} + " wants a whole number");
      spec += "ll";
      spec += conversion;
      std::snprintf(buffer, sizeof buffer, spec.c_str(), static_cast<long long>(lua_tointeger(state, argument)));
      out += buffer;
    } else if (conversion == 'f' || conversion == 'e' || conversion == 'g') {
      if (lua_type(state, argument) != LUA_TNUMBER)
        stop(state, "string.format: %" + std::string{conversion} + " wants a number");
      spec += conversion;
      std::snprintf(buffer, sizeof buffer, spec.c_str(), lua_tonumber(state, argument));
      out += buffer;
    } else if (conversion == 's') {
      lua_pushcfunction(state, tostring);
      lua_pushvalue(state, argument);
      lua_call(state, 1, 1);
      out += lua_tostring(state, -1);
      lua_pop(state, 1);
    } else {
      stop(state, "string.format: write %d %x %f %e %g %s or %%");
    }
    if (out.size() > 65536) stop(state, "string.format: the text is longer than 64 KiB");
  }
  lua_pushlstring(state, out.data(), out.size());
  return 1;
}

}  // namespace

void push_standard_functions(lua_State* state) {
  lua_newtable(state);
  set_functions(state, {{"pairs", pairs},
                        {"ipairs", ipairs},
                        {"type", type},
                        {"tostring", tostring},
                        {"tonumber", tonumber},
                        {"select", select}});
  lua_newtable(state);
  set_functions(state, {
                           {"floor",
                            [](lua_State* s) {
                              push_number(s, std::floor(number(s, 1, "floor")));
                              return 1;
                            }},
                           {"ceil",
                            [](lua_State* s) {
                              push_number(s, std::ceil(number(s, 1, "ceil")));
                              return 1;
                            }},
                           {"abs",
                            [](lua_State* s) {
                              push_number(s, std::fabs(number(s, 1, "abs")));
                              return 1;
                            }},
                           {"sqrt",
                            [](lua_State* s) {
                              lua_pushnumber(s, std::sqrt(number(s, 1, "sqrt")));
                              return 1;
                            }},
                           {"max", [](lua_State* s) { return extreme(s, "max", true); }},
                           {"min", [](lua_State* s) { return extreme(s, "min", false); }},
                       });
  lua_pushnumber(state, HUGE_VAL);
  lua_setfield(state, -2, "huge");
  lua_pushnumber(state, std::numbers::pi);
  lua_setfield(state, -2, "pi");
  make_read_only(state);
  lua_setfield(state, -2, "math");
  lua_newtable(state);
  set_functions(state, {{"format", format}});
  make_read_only(state);
  lua_setfield(state, -2, "string");
  lua_newtable(state);
  set_functions(state, {{"unpack", unpack}});
  make_read_only(state);
  lua_setfield(state, -2, "table");
}

}  // namespace tocsin::dsl
