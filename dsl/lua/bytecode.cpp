// Reads the format of lua_dump in Lua 5.4, which its header confirms.
#include "dsl/lua/bytecode.h"

#include <cstring>
#include <lua.hpp>
#include <optional>

namespace tocsin::dsl {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool header() {
    static constexpr char expected[] = "\x1bLua\x54\x00\x19\x93\r\n\x1a\n\x04\x08\x08";
    if (bytes_.size() < 32 || std::memcmp(bytes_.data(), expected, 15) != 0) return false;
    at_ = 15;
    std::int64_t whole = 0;
    double real = 0;
    take(&whole, sizeof whole);
    take(&real, sizeof real);
    byte();  // number of outer variables: the function repeats it
    return whole == 0x5678 && real == 370.5;
  }

  std::optional<Bytecode> function(int depth = 0) {
    Bytecode f;
    if (depth > 200) return std::nullopt;
    (void)text();  // the source
    f.first_line = static_cast<int>(number());
    f.last_line = static_cast<int>(number());
    f.parameters = byte();
    byte();  // whether it is variadic
    f.registers = byte();
    f.code.resize(count(4));
    for (auto& instruction : f.code) take(&instruction.word, 4);
    f.constants.resize(count(1));
    for (auto& constant : f.constants) constant = one_constant();
    f.upvalues.resize(count(3));
    for (auto& up : f.upvalues) {
      up.local_of_parent = byte() != 0;
      up.index = byte();
      byte();
    }
    const std::size_t nested = count(8);
    for (std::size_t i = 0; i < nested && good_; ++i) {
      auto inner = function(depth + 1);
      if (!inner) return std::nullopt;
      f.functions.push_back(std::move(*inner));
    }
    lines(f);
    f.locals.resize(count(3));
    for (auto& [from, to] : f.locals) {
      (void)text();
      from = number();
      to = number();
    }
    const std::size_t names = count(1);
    for (std::size_t i = 0; i < names && good_; ++i) {
      std::string name = text();
      if (i < f.upvalues.size()) f.upvalues[i].name = std::move(name);
    }
    return good_ ? std::optional{std::move(f)} : std::nullopt;
  }

 private:
  void take(void* to, std::size_t n) {
    if (n > bytes_.size() - at_) {
      good_ = false;
      std::memset(to, 0, n);
      return;
    }
    std::memcpy(to, bytes_.data() + at_, n);
    at_ += n;
  }
  int byte() {
    std::uint8_t x = 0;
    take(&x, 1);
    return x;
  }
  std::uint64_t number() {  // seven bits a byte, the highest first; the last has its high bit set
    std::uint64_t x = 0;
    for (int i = 0; i < 10 && good_; ++i) {
      const int b = byte();
      x = x << 7 | static_cast<std::uint64_t>(b & 0x7F);
      if (b & 0x80) return x;
    }
    good_ = false;
    return 0;
  }
  std::size_t count(std::size_t least_bytes_each) {
    const std::uint64_t n = number();
    if (n * least_bytes_each > bytes_.size() - at_) good_ = false;
    return good_ ? static_cast<std::size_t>(n) : 0;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size == 0 || !good_) return "";
    if (size - 1 > bytes_.size() - at_) {
      good_ = false;
      return "";
    }
    std::string result{bytes_.substr(at_, size - 1)};
    at_ += size - 1;
    return result;
  }
  Bytecode::Constant one_constant() {
    switch (byte()) {
      case 0: return std::monostate{};
      case 1: return false;
      case 17: return true;
      case 3: {
        std::int64_t x = 0;
        take(&x, sizeof x);
        return static_cast<double>(x);
      }
      case 19: {
        double x = 0;
        take(&x, sizeof x);
        return x;
      }
      case 4:
      case 20: return text();
      default: good_ = false; return std::monostate{};
    }
  }
  // A signed difference per instruction, with absolute entries where it does not fit.
  void lines(Bytecode& f) {
    std::vector<std::int8_t> differences(count(1));
    for (auto& d : differences) take(&d, 1);
    const std::size_t absolutes = count(2);
    std::vector<std::pair<std::uint64_t, int>> fixed;
    for (std::size_t i = 0; i < absolutes && good_; ++i) {
      const std::uint64_t pc = number();
      fixed.emplace_back(pc, static_cast<int>(number()));
    }
    int line = f.first_line;
    std::size_t next = 0;
    for (std::size_t pc = 0; pc < f.code.size() && pc < differences.size(); ++pc) {
      if (next < fixed.size() && fixed[next].first == pc) line = fixed[next++].second;
      else line += differences[pc];
      f.code[pc].line = line;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::unique_ptr<Bytecode> bytecode_of(lua_State* state, int index) {
  if (!lua_isfunction(state, index) || lua_iscfunction(state, index)) return nullptr;
  std::string dumped;
  lua_pushvalue(state, index);
  lua_dump(
      state,
      [](lua_State*, const void* part, std::size_t size, void* to) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(part), size);
        return 0;
      },
      &dumped, 0);
  lua_pop(state, 1);
  Reader reader{dumped};
  if (!reader.header()) return nullptr;
  auto function = reader.function();
  return function ? std::make_unique<Bytecode>(std::move(*function)) : nullptr;
}

}  // namespace tocsin::dsl
