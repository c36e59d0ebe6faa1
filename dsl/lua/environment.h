#pragma once

#include <initializer_list>
#include <lua.hpp>

namespace tocsin::dsl {

// Builds the globals that rule files see: an allow-list. No input or output, no load, pcall, coroutines, metatables or
// patterns; pairs goes in the order of keys; nothing shows an address, a random number or the clock. Kept in the
// registry. `declare` adds the functions with which files declare to the table on top of the stack.
void register_environment(lua_State* state, void (*declare)(lua_State*));
// Pushes the table that a chunk takes as its _ENV.
void push_environment(lua_State* state);
// Replaces the value on top by one of which nothing can be changed.
void seal_value(lua_State* state);
// Makes everything read-only that this function reaches through its outer variables. `function` is a place of the
// stack.
void seal_outer(lua_State* state, int function);
// Replaces a read-only table at `index` by the table that it protects, so that its keys can be listed.
void look_behind(lua_State* state, int index);

// Replaces the table on top by a read-only one with the same fields.
void make_read_only(lua_State* state);

// Pushes a table with the standard functions that files and rules may call: pairs, ipairs, type, tostring, tonumber,
// select, and read-only math, string and table. They are deterministic: pairs goes in the order of keys, and nothing
// shows an address.
void push_standard_functions(lua_State* state);

// Puts the functions into the table on top of the stack.
void set_functions(lua_State* state, std::initializer_list<luaL_Reg> functions);

}  // namespace tocsin::dsl
