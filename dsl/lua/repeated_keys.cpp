// Follows the tables that expressions build, and the keys that each is given.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "dsl/lua/bytecode.h"
#include "dsl/lua/opcodes.h"

namespace tocsin::dsl {
namespace {

struct Register {
  const std::string* key = nullptr;                             // the constant that was loaded last
  std::optional<std::map<std::string, int, std::less<>>> keys;  // of the table that is built here: the line of each
};

const std::string* text(const Bytecode& f, int constant) {
  return static_cast<std::size_t>(constant) < f.constants.size()
             ? std::get_if<std::string>(&f.constants[static_cast<std::size_t>(constant)])
             : nullptr;
}

bool writes_no_register(int op) {
  return op == op_setupval || op == op_settabup || (op >= op_settable && op <= op_setfield) ||
         (op >= op_mmbin && op <= op_mmbink) || (op >= op_close && op <= op_test) ||
         (op >= op_return && op <= op_return1) || op == op_setlist || op == op_varargprep || op == op_extraarg;
}

void look(const Bytecode& f, std::vector<Finding>& found) {
  std::array<Register, 256> registers{};
  for (std::size_t pc = 0; pc < f.code.size(); ++pc) {
    const Bytecode::Instruction& i = f.code[pc];
    auto& at = registers[static_cast<std::size_t>(i.a())];
    if (i.op() == op_setfield || i.op() == op_settable) {
      // A variable's table can be assigned any number of times; one that is being built has no name yet.
      const auto variables = std::count_if(f.locals.begin(), f.locals.end(),
                                           [pc](const auto& local) { return local.first <= pc && pc < local.second; });
      const std::string* key = i.op() == op_setfield ? text(f, i.b()) : registers[static_cast<std::size_t>(i.b())].key;
      if (i.a() < variables || !at.keys || key == nullptr) continue;
      if (const auto [first, fresh] = at.keys->emplace(*key, i.line); !fresh)
        found.push_back({i.line, "'" + *key + "' stands in this table twice, first in line " +
                                     std::to_string(first->second) + ", and only the last would count: remove one"});
    } else if (i.op() == op_newtable) {
      at = {nullptr, std::map<std::string, int, std::less<>>{}};
    } else if (i.op() == op_loadk) {
      at = {text(f, i.bx()), std::nullopt};
    } else if (!writes_no_register(i.op())) {
      at = {};
    }
  }
  for (const Bytecode& nested : f.functions) look(nested, found);
}

}  // namespace

std::vector<Finding> repeated_keys(const Bytecode& file) {
  std::vector<Finding> found;
  look(file, found);
  return found;
}

}  // namespace tocsin::dsl
