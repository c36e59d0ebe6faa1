#pragma once

#include <string>

struct lua_State;

namespace tocsin::dsl {

// The functions with which files declare: rule case tune signal finding, pattern parser, signals coordinates verdict,
// steps noise ramp silent nan. Adds them to the table on top of the stack; their results go to the Host's Collection.
void register_declarations(lua_State* state);

}  // namespace tocsin::dsl
