// Follows what each register can hold through the instructions of a function, and finds where a traced value decides
// something that Lua decides once, at load.
#include <algorithm>
#include <deque>

#include "dsl/lua/bytecode.h"
#include "dsl/lua/durations.h"
#include "dsl/lua/opcodes.h"
#include "stream/graph/graph.h"

namespace tocsin::dsl {
namespace {

// What a register can hold, as a set.
using Holds = std::uint16_t;
constexpr Holds nothing = 0, other = 1, traced = 2, job = 4, params = 8, state = 16, gives_traced = 32,
                gives_other = 64;
using Registers = std::vector<Holds>;

bool is_function(const std::string& name) {  // greatest, least
  const auto op = stream::find_operation(name, stream::Shape::column);
  return op && stream::operation(*op).takes == stream::Takes::columns;
}
bool concrete_word(std::string_view word) { return word == "number" || word == "yes" || word == "each"; }
bool word_of_values(std::string_view word) {
  for (const stream::Operation& entry : stream::operations())
    if (!entry.name.empty() && entry.name == word) return true;
  return false;
}

class Flow {
 public:
  Flow(const Bytecode& function, bool evaluate) : f_(function), before_(function.code.size()) {
    Registers start(256, other);
    if (evaluate) {
      if (f_.parameters > 0) start[0] = job;
      if (f_.parameters > 1) start[1] = params;
      if (f_.parameters > 2) start[2] = state;
    }
    reach(0, start);
    while (!pending_.empty()) {
      const std::size_t pc = pending_.front();
      pending_.pop_front();
      step(pc);
    }
  }

  std::vector<Finding> findings() const {
    std::vector<Finding> found;
    for (std::size_t pc = 0; pc < f_.code.size(); ++pc)
      if (!before_[pc].empty()) look(pc, found);
    return found;
  }

 private:
  const std::string* text(int constant) const {
    if (constant < 0 || static_cast<std::size_t>(constant) >= f_.constants.size()) return nullptr;
    return std::get_if<std::string>(&f_.constants[static_cast<std::size_t>(constant)]);
  }
  std::string shown_constant(int constant) const {
    if (constant < 0 || static_cast<std::size_t>(constant) >= f_.constants.size()) return "…";
    const auto& c = f_.constants[static_cast<std::size_t>(constant)];
    if (const auto* x = std::get_if<double>(&c)) return shown(*x);
    if (const auto* s = std::get_if<std::string>(&c)) return '"' + *s + '"';
    return "…";
  }

  void reach(std::size_t pc, const Registers& registers) {
    if (pc >= f_.code.size()) return;
    Registers& known = before_[pc];
    bool changed = known.empty();
    if (changed) known = registers;
    else
      for (std::size_t i = 0; i < known.size(); ++i) {
        const auto both = static_cast<Holds>(known[i] | registers[i]);
        if (both != known[i]) known[i] = both, changed = true;
      }
    if (changed) pending_.push_back(pc);
  }

  // The result of reading this key of such a value.
  static Holds member(Holds of, const std::string* key) {
    Holds result = nothing;
    if (of & job) result |= traced;
    if (of & state) result |= traced;
    if (of & traced) result |= key && concrete_word(*key) ? gives_other : gives_traced;
    if (of & (other | params | gives_traced | gives_other)) result |= other;
    return result;
  }

  void step(std::size_t pc) {
    const Bytecode::Instruction i = f_.code[pc];
    Registers r = before_[pc];
    const auto set = [&r](int index, Holds holds) { r[static_cast<std::size_t>(index & 0xFF)] = holds; };
    const auto get = [&r](int index) { return r[static_cast<std::size_t>(index & 0xFF)]; };
    const auto mixed = [](Holds a, Holds b) -> Holds { return ((a | b) & traced) ? traced : other; };
    const auto at = [pc](int offset) { return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(pc) + offset); };
    switch (i.op()) {
      case op_move: set(i.a(), get(i.b())); break;
      case op_loadnil:
        for (int k = 0; k <= i.b(); ++k) set(i.a() + k, other);
        break;
      case op_lfalseskip: set(i.a(), other); return reach(at(2), r);
      case op_gettabup: {
        const std::string* name = text(i.c());
        set(i.a(), name && is_function(*name) ? gives_traced : other);
        break;
      }
      case op_gettable:
      case op_geti: set(i.a(), member(get(i.b()), nullptr)); break;
      case op_getfield: set(i.a(), member(get(i.b()), text(i.c()))); break;
      case op_self: {
        const Holds receiver = get(i.b());
        const std::string* word = i.k() ? text(i.c()) : nullptr;
        set(i.a() + 1, receiver);
        if (word && concrete_word(*word)) set(i.a(), gives_other);
        else if (word && word_of_values(*word)) set(i.a(), gives_traced);
        else set(i.a(), member(receiver, word));
        break;
      }
      case op_addi:
      case op_addk:
      case op_subk:
      case op_mulk:
      case op_modk:
      case op_powk:
      case op_divk:
      case op_idivk:
      case op_bandk:
      case op_bork:
      case op_bxork:
      case op_shri:
      case op_shli:
      case op_unm:
      case op_bnot: set(i.a(), mixed(get(i.b()), nothing)); break;
      case op_add:
      case op_sub:
      case op_mul:
      case op_mod:
      case op_pow:
      case op_div:
      case op_idiv:
      case op_band:
      case op_bor:
      case op_bxor:
      case op_shl:
      case op_shr: set(i.a(), mixed(get(i.b()), get(i.c()))); break;
      case op_jmp: return reach(at(1 + i.jump()), r);
      case op_eq:
      case op_lt:
      case op_le:
      case op_eqk:
      case op_eqi:
      case op_lti:
      case op_lei:
      case op_gti:
      case op_gei:
      case op_test: reach(at(1), r); return reach(at(2), r);
      case op_testset: {
        reach(at(2), r);
        set(i.a(), get(i.b()));
        return reach(at(1), r);
      }
      case op_call: {
        const Holds given = get(i.a());
        const Holds result = (given & gives_traced) ? traced : other;
        for (int k = i.a(); k < 256 && (i.c() == 0 || k < i.a() + std::max(1, i.c() - 1)); ++k)
          set(k, k < i.a() + std::max(1, i.c() - 1) ? result : other);
        break;
      }
      case op_return:
      case op_return0:
      case op_return1:
      case op_tailcall: return;
      case op_forloop:
        reach(at(1), r);
        set(i.a() + 3, other);
        return reach(at(1 - i.bx()), r);
      case op_forprep:
        set(i.a() + 3, other);
        reach(at(1), r);
        return reach(at(2 + i.bx()), r);
      case op_tforprep: return reach(at(1 + i.bx()), r);
      case op_tforcall:
        for (int k = 0; k < i.c(); ++k) set(i.a() + 4 + k, other);
        break;
      case op_tforloop: reach(at(1), r); return reach(at(1 - i.bx()), r);
      // what writes no register
      case op_setupval:
      case op_settabup:
      case op_settable:
      case op_seti:
      case op_setfield:
      case op_mmbin:
      case op_mmbini:
      case op_mmbink:
      case op_close:
      case op_tbc:
      case op_setlist:
      case op_extraarg:
      case op_varargprep: break;
      default: set(i.a(), other);
    }
    reach(at(1), r);
  }

  void look(std::size_t pc, std::vector<Finding>& found) const {
    const Bytecode::Instruction i = f_.code[pc];
    const Registers& r = before_[pc];
    const auto holds = [&r](int index) { return (r[static_cast<std::size_t>(index & 0xFF)] & traced) != 0; };
    const auto decides = [&](const char* word) {
      found.push_back({i.line, std::string{"'"} + word +
                                   "' decides before the values are known. Between masks write '&', '|', '~'; to "
                                   "choose a column write mask:choose(a, b)"});
    };
    const auto equal = [&](const std::string& value) {
      found.push_back({i.line, "'==' never holds for a column. Write :is(" + value + ")"});
    };
    switch (i.op()) {
      case op_test:
        if (holds(i.a())) decides("if/and/or");
        break;
      case op_testset:
        if (holds(i.b())) decides("if/and/or");
        break;
      case op_not:
        if (holds(i.b())) decides("not");
        break;
      case op_eq:
        if (holds(i.a()) && holds(i.b())) found.push_back({i.line, "'==' never holds for a column. Write a:is(b)"});
        else if (holds(i.a()) || holds(i.b())) equal("…");
        break;
      case op_eqk:
        if (holds(i.a())) equal(shown_constant(i.b()));
        break;
      case op_eqi:
        if (holds(i.a())) equal(std::to_string(i.b() - 127));
        break;
      default: break;
    }
  }

  const Bytecode& f_;
  std::vector<Registers> before_;
  std::deque<std::size_t> pending_;
};

void collect(const Bytecode& function, bool evaluate, std::vector<Finding>& found) {
  for (Finding& one : Flow{function, evaluate}.findings()) found.push_back(std::move(one));
  for (const Bytecode& nested : function.functions) collect(nested, false, found);
}

// Follows an outer variable up to the function whose local it is.
void assignments(const std::vector<const Bytecode*>& chain, const std::vector<Lines>& evaluates,
                 std::vector<Finding>& found) {
  const Bytecode& f = *chain.back();
  for (const auto& i : f.code) {
    if (i.op() != op_setupval || chain.size() < 2) continue;
    std::size_t level = chain.size() - 1;
    int index = i.b();
    std::string name =
        static_cast<std::size_t>(index) < f.upvalues.size() ? f.upvalues[static_cast<std::size_t>(index)].name : "?";
    while (level > 0 && static_cast<std::size_t>(index) < chain[level]->upvalues.size()) {
      const auto& up = chain[level]->upvalues[static_cast<std::size_t>(index)];
      --level;
      index = up.index;
      if (up.local_of_parent) break;
    }
    const Bytecode& owner = *chain[level];
    bool within = false;
    for (std::size_t k = 1; k <= level; ++k)
      for (const Lines& lines : evaluates)
        within = within || (chain[k]->first_line == lines.first && chain[k]->last_line == lines.last);
    if (!within || owner.first_line == 0)
      found.push_back({i.line, "'" + name +
                                   "' is a variable outside of the function: it cannot be assigned from inside. Return "
                                   "the value, or remember it in state"});
  }
  for (const Bytecode& nested : f.functions) {
    auto longer = chain;
    longer.push_back(&nested);
    assignments(longer, evaluates, found);
  }
}

}  // namespace

std::vector<Finding> decisions(const Bytecode& function, bool evaluate) {
  std::vector<Finding> found;
  collect(function, evaluate, found);
  // One message a line and kind.
  std::vector<Finding> once;
  for (Finding& one : found)
    if (std::none_of(once.begin(), once.end(),
                     [&](const Finding& known) { return known.line == one.line && known.message == one.message; }))
      once.push_back(std::move(one));
  return once;
}

std::vector<Finding> outer_assignments(const Bytecode& file, const std::vector<Lines>& evaluates) {
  std::vector<Finding> found;
  assignments({&file}, evaluates, found);
  return found;
}

}  // namespace tocsin::dsl
