#pragma once

struct lua_State;

namespace tocsin::dsl {

// Pushes a table with the standard functions that files and rules may call: pairs, ipairs, type, tostring, tonumber,
// select, and read-only math, string and table. They are deterministic: pairs goes in the order of keys, and nothing
// shows an address.
void push_standard_functions(lua_State* state);

}  // namespace tocsin::dsl
