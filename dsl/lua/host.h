#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dsl/lua/budgets.h"

struct lua_State;
struct lua_Debug;

namespace tocsin::dsl {

struct Evaluation;
struct Collection;
class Problems;

// Why a call into Lua did not finish.
struct Failure {
  std::string file;
  int line = 0;
  std::string message;
  bool scripted = false;  // no failure: while traced, the function asked for a concrete value
  bool spent = false;     // its budget of instructions
};

// What Lua has allocated. The Host's owner reads it: zero once the Host is destroyed.
struct Ledger {
  std::size_t used = 0, peak = 0, limit = 0;
};

// One Lua state: its memory, its budgets, and the only function that calls lua_pcall. Lua is built as C++, so an error
// unwinds destructors on its way; nothing in between may catch it. Owned by the reader of a pack's files, or by the
// ScriptHost that it is made for; used only by that thread.
class Host {
 public:
  explicit Host(const Budgets& budgets);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Runs `body` in protected mode with this many instructions to spend. All use of the state happens inside a body.
  [[nodiscard]] std::optional<Failure> guarded(std::uint64_t instructions, const std::function<void(lua_State*)>& body);

  [[nodiscard]] static Host& of(lua_State* state);
  // Ends the call that runs, with a message at the line of Lua that runs.
  [[noreturn]] void stop(lua_State* state, std::string message);
  [[noreturn]] void stop_at(lua_State* state, const std::string& file, int line, std::string message,
                            bool scripted = false);
  // Charges work that a C function does on behalf of Lua.
  void charge(lua_State* state, std::uint64_t instructions);

  struct Place {
    std::string file;
    int line = 0;
  };
  [[nodiscard]] static Place where(lua_State* state);

  [[nodiscard]] const Ledger& ledger() const noexcept { return *ledger_; }
  // Outlives the Host, so that its end can be checked to be zero.
  [[nodiscard]] std::shared_ptr<const Ledger> keep_ledger() const { return ledger_; }
  [[nodiscard]] const Budgets& budgets() const noexcept { return budgets_; }

  Evaluation* evaluation = nullptr;    // of the running call of an evaluate; else null
  Collection* collection = nullptr;    // into which files are read; else null
  const Problems* problems = nullptr;  // of those files, with their lines; else null

 private:
  static void* allocate(void* host, void* block, std::size_t old_size, std::size_t new_size);
  void price_text(std::size_t bytes);
  void arm(int instructions);  // the hook runs after so many
  // What an instruction costs that may read the longest text there is, and how many run between two checks.
  [[nodiscard]] std::uint64_t price() const noexcept { return longest_ / long_text + 1; }
  [[nodiscard]] int stride() const noexcept { return static_cast<int>(std::max<std::uint64_t>(1000 / price(), 1)); }
  static void hook(lua_State* state, lua_Debug* debug);
  static int handle(lua_State* state);
  // Reads the local variables of an evaluate that is traced and returns.
  void take_locals(lua_State* state, lua_Debug* debug);
  [[noreturn]] void raise(lua_State* state, Failure failure);

  Budgets budgets_;
  std::shared_ptr<Ledger> ledger_;
  lua_State* state_ = nullptr;
  static constexpr std::size_t long_text = 1024;
  std::uint64_t granted_ = 0, left_ = 0;
  std::size_t longest_ = 0;  // text, in bytes: of the files, and of the call that runs
  Place last_seen_;
  Failure failure_;
};

}  // namespace tocsin::dsl
