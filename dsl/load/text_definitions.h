#pragma once

#include <string>
#include <vector>

#include "dsl/lua/problems.h"
#include "dsl/text/definitions.h"
#include "dsl/text/extraction.h"

struct lua_State;

namespace tocsin::dsl {

class Table;

// The patterns (patterns/*.lua) and parsers (progress/*.lua) in a pack's files, in the order in which they apply. Other
// files are ignored. The files are data: they run in a Lua state of their own, and declare nothing else.
struct TextDefinitions {
  std::vector<text::Definition> definitions;
  std::vector<text::TextProblem> problems;
};
// In a pack of several directories this file lists them in the order that they were given, each with the slash that
// ends it; the shipped one, whose files have no directory in front, is an empty line.
inline constexpr const char* directories_file = "directories";
// Of the shipped rules, or of a directory that is added to them.
[[nodiscard]] bool is_text_file(const std::string& path);
[[nodiscard]] TextDefinitions read_text_definitions(const PackFiles& files);
void register_expressions(lua_State* state);  // the word `either`
// Reads `pattern "name" { … }` or `parser "name" { … }` into the collection.
void read_definition(const Table& table, text::Definition::Kind kind, const std::string& name);

// Both at once: read, then compiled. Null if there is a problem.
[[nodiscard]] text::Compiled compile_text(const PackFiles& files, text::DatabaseStore* store = nullptr);

}  // namespace tocsin::dsl
