#pragma once

#include <string>

#include "dsl/load/tables.h"

namespace tocsin::dsl {

// Adds steps noise ramp silent nan to the table on top of the stack.
void register_case_values(lua_State* state);
// Reads `case "name" { … }` into the collection.
void read_case(const Table& table, const std::string& name);

}  // namespace tocsin::dsl
