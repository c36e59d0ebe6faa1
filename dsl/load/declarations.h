#pragma once

#include <optional>
#include <string>

#include "dsl/load/tables.h"

struct lua_State;

namespace tocsin::dsl {

// The functions with which files declare: rule case tune signal finding, pattern parser, signals coordinates verdict,
// steps noise ramp silent nan. Adds them to the table on top of the stack; their results go to the Host's Collection.
void register_declarations(lua_State* state);

// How a signal's samples go into rows: as its definition or a tune of it says, where that is within the limits.
struct RowSettings {
  std::optional<stream::Duration> row, lateness;
};
[[nodiscard]] RowSettings read_row_settings(const Table& table);

// The tables of signals.lua and verdict.lua: signals, coordinates, verdict. Adds their functions to the table on top of
// the stack; what they read goes to the Host's Collection.
void register_settings(lua_State* state);

// Adds steps noise ramp silent nan to the table on top of the stack.
void register_case_values(lua_State* state);
// Reads `case "name" { … }` into the collection.
void read_case(const Table& table, const std::string& name);

}  // namespace tocsin::dsl
