#pragma once

#include <optional>

#include "dsl/load/tables.h"

namespace tocsin::dsl {

// How a signal's samples go into rows: as its definition or a tune of it says, where that is within the limits.
struct RowSettings {
  std::optional<stream::Duration> row, lateness;
};
[[nodiscard]] RowSettings read_row_settings(const Table& table);

// The tables of signals.lua and verdict.lua: signals, coordinates, verdict. Adds their functions to the table on top of
// the stack; what they read goes to the Host's Collection.
void register_settings(lua_State* state);

}  // namespace tocsin::dsl
