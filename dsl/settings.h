#pragma once

struct lua_State;

namespace tocsin::dsl {

// The tables of signals.lua and verdict.lua: signals, coordinates, verdict. Adds their functions to the table on top of the stack; what
// they read goes to the Host's Collection.
void register_settings(lua_State* state);

}  // namespace tocsin::dsl
