#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

struct lua_State;

namespace tocsin::dsl {

// A Lua 5.4 function in compiled form: enough to find what tracing cannot see.
struct Bytecode {
  struct UpValue {
    std::string name;
    bool local_of_parent = false;  // else an outer variable of the parent
    int index = 0;
  };
  struct Instruction {
    std::uint32_t word = 0;
    int line = 0;
    [[nodiscard]] int op() const noexcept { return static_cast<int>(word & 0x7F); }
    [[nodiscard]] int a() const noexcept { return static_cast<int>(word >> 7 & 0xFF); }
    [[nodiscard]] bool k() const noexcept { return (word >> 15 & 1) != 0; }
    [[nodiscard]] int b() const noexcept { return static_cast<int>(word >> 16 & 0xFF); }
    [[nodiscard]] int c() const noexcept { return static_cast<int>(word >> 24 & 0xFF); }
    [[nodiscard]] int bx() const noexcept { return static_cast<int>(word >> 15 & 0x1FFFF); }
    [[nodiscard]] int jump() const noexcept { return static_cast<int>(word >> 7 & 0x1FFFFFF) - 0xFFFFFF; }
  };
  using Constant = std::variant<std::monostate, bool, double, std::string>;

  int first_line = 0, last_line = 0;  // 0: the file itself
  int parameters = 0, registers = 0;
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::vector<UpValue> upvalues;
  std::vector<std::pair<std::size_t, std::size_t>> locals;  // the instructions [from, to) at which each has a register
  std::vector<Bytecode> functions;                          // nested ones
};

// Dumps the function at this index of the stack and reads the dump. Null if it is not a Lua function, or of another
// version.
[[nodiscard]] std::unique_ptr<Bytecode> bytecode_of(lua_State* state, int index);

struct Finding {
  int line = 0;
  std::string message;
};
// Where a value read from `job` decides in Lua before it is known: if, and, or, not, ==. `evaluate`: whether the
// function's parameters are job, p and state.
[[nodiscard]] std::vector<Finding> decisions(const Bytecode& function, bool evaluate);

// Where a function assigns a variable that outlives its call: anything outside of an evaluate (given by their lines),
// from a function.
struct Lines {
  int first = 0, last = 0;
};
[[nodiscard]] std::vector<Finding> outer_assignments(const Bytecode& file, const std::vector<Lines>& evaluates);

// Where a table is written with the same key twice, of which Lua keeps the last in silence.
[[nodiscard]] std::vector<Finding> repeated_keys(const Bytecode& file);

}  // namespace tocsin::dsl
