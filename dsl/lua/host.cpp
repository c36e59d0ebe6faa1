#include "dsl/lua/host.h"

#include <cstdlib>
#include <lua.hpp>
#include <stdexcept>

#include "dsl/lua/evaluation.h"
#include "dsl/lua/values.h"

namespace tocsin::dsl {
namespace {

constexpr std::uint64_t bytes_an_instruction = 16;
char failure_key;  // the error value of a failure that is already described

}  // namespace

Host::Host(const Budgets& budgets) : budgets_(budgets), ledger_(std::make_shared<Ledger>()) {
  ledger_->limit = budgets.bytes;
  state_ = lua_newstate(&Host::allocate, this);
  if (!state_)
    throw std::runtime_error("Lua cannot start within " + std::to_string(budgets.bytes) + " bytes: raise the budget");
  *static_cast<Host**>(lua_getextraspace(state_)) = this;
}

Host::~Host() { lua_close(state_); }

Host& Host::of(lua_State* state) { return **static_cast<Host**>(lua_getextraspace(state)); }

void* Host::allocate(void* opaque, void* block, std::size_t old_size, std::size_t new_size) {
  Host& host = *static_cast<Host*>(opaque);
  Ledger& ledger = *host.ledger_;
  const bool text = !block && old_size == LUA_TSTRING;
  if (!block) old_size = 0;  // then Lua passes a type, not a size
  if (new_size == 0) {
    std::free(block);
    ledger.used -= old_size;
    return nullptr;
  }
  if (new_size > old_size && ledger.used + (new_size - old_size) > ledger.limit) return nullptr;
  void* moved = std::realloc(block, new_size);
  if (!moved) return nullptr;
  ledger.used += new_size - old_size;
  if (ledger.used > ledger.peak) ledger.peak = ledger.used;
  if (text && new_size >= long_text) host.price_text(new_size);
  return moved;
}

// Lua copies, compares and hashes a text in one instruction. Short texts are free: whether one is allocated depends on
// what the collector has left of earlier calls.
void Host::price_text(std::size_t bytes) {
  if (state_ == nullptr) return;
  left_ -= std::min<std::uint64_t>(left_, bytes / bytes_an_instruction);
  const int before = stride();
  longest_ = std::max(longest_, bytes);
  // The call itself cannot fail here; the next instruction can.
  if (left_ == 0 || stride() != before) arm(left_ == 0 ? 1 : stride());
}

Host::Place Host::where(lua_State* state) {
  lua_Debug debug{};
  for (int level = 0; level < 200 && lua_getstack(state, level, &debug); ++level) {
    lua_getinfo(state, "Sl", &debug);
    if (debug.source[0] == '@' && debug.currentline > 0) return {debug.source + 1, debug.currentline};
  }
  return {};
}

void Host::raise(lua_State* state, Failure failure) {
  failure_ = std::move(failure);
  lua_pushlightuserdata(state, &failure_key);
  lua_error(state);
  std::abort();  // lua_error does not return
}

void Host::stop_at(lua_State* state, const std::string& file, int line, std::string message, bool scripted) {
  raise(state, {file, line, std::move(message), scripted, false});
}

void Host::stop(lua_State* state, std::string message) {
  const Place place = where(state);
  stop_at(state, place.file, place.line, std::move(message));
}

void Host::charge(lua_State* state, std::uint64_t instructions) {
  if (instructions < left_) {
    left_ -= instructions;
    return;
  }
  left_ = 0;
  arm(1);
  const Place place = where(state);
  raise(state, {place.file, place.line,
                "it spent its budget of " + std::to_string(granted_) +
                    " instructions: a loop without an end, or work that columns should do",
                false, true});
}

// Once the budget is spent the hook runs at every instruction, so that nothing can continue even if it swallows the
// error.
void Host::hook(lua_State* state, lua_Debug* debug) {
  Host& host = of(state);
  if (debug->event == LUA_HOOKRET) return host.take_locals(state, debug);
  host.last_seen_ = where(state);
  host.charge(state, host.left_ == 0 ? 1 : static_cast<std::uint64_t>(host.stride()) * host.price());
}

void Host::take_locals(lua_State* state, lua_Debug* debug) {
  if (evaluation == nullptr || lua_getinfo(state, "f", debug) == 0) return;
  lua_rawgeti(state, LUA_REGISTRYINDEX, evaluation->rule.evaluate);
  const bool own = lua_rawequal(state, -1, -2) != 0;
  lua_pop(state, 2);
  for (int i = 1; own; ++i) {
    const char* name = lua_getlocal(state, debug, i);
    if (name == nullptr) return;
    if (const Value* value = value_at(state, -1); value && *name != '(') evaluation->locals[name] = value->node;
    lua_pop(state, 1);
  }
}

void Host::arm(int instructions) {
  const bool traces = evaluation != nullptr && evaluation->scratch == nullptr;
  lua_sethook(state_, &Host::hook, LUA_MASKCOUNT | (traces ? LUA_MASKRET : 0), instructions);
}

// Runs where the error was raised, with the stack intact: adds the place to Lua's own message without its prefix.
int Host::handle(lua_State* state) {
  if (lua_touserdata(state, 1) == &failure_key) return 1;
  Host& host = of(state);
  const Place place = where(state);
  std::string message;
  if (lua_type(state, 1) == LUA_TSTRING) {
    message = lua_tostring(state, 1);
    const std::string prefix = ":" + std::to_string(place.line) + ": ";
    if (const auto at = message.find(prefix); at != std::string::npos && at < 80) message.erase(0, at + prefix.size());
    if (message.find("stack overflow") != std::string::npos)
      message = "nested too deep: a function that calls itself without an end, or tables within tables";
  } else {
    message = std::string{"an error that is not a text: "} + luaL_typename(state, 1);
  }
  host.failure_ = {place.file, place.line, std::move(message), false, false};
  lua_settop(state, 0);
  lua_pushlightuserdata(state, &failure_key);
  return 1;
}

std::optional<Failure> Host::guarded(std::uint64_t instructions, const std::function<void(lua_State*)>& body) {
  granted_ = left_ = instructions;
  failure_ = {};
  last_seen_ = {};
  const std::size_t longest = longest_;
  arm(stride());
  lua_settop(state_, 0);
  lua_pushcfunction(state_, &Host::handle);
  lua_pushcfunction(state_, [](lua_State* state) {
    const auto& run = *static_cast<const std::function<void(lua_State*)>*>(lua_touserdata(state, 1));
    lua_settop(state, 0);
    run(state);
    return 0;
  });
  lua_pushlightuserdata(state_, const_cast<std::function<void(lua_State*)>*>(&body));
  const int status = lua_pcall(state_, 1, 0, 1);
  const bool described = status != LUA_OK && status != LUA_ERRMEM && lua_touserdata(state_, -1) == &failure_key;
  lua_settop(state_, 0);
  if (evaluation != nullptr) longest_ = longest;  // no text outlives the call
  if (status == LUA_OK) return std::nullopt;
  if (described) return failure_;
  if (status == LUA_ERRMEM) {
    lua_gc(state_, LUA_GCCOLLECT);
    return Failure{last_seen_.file, last_seen_.line,
                   "it used more than " + std::to_string(ledger_->limit >> 20) +
                       " MiB of memory: a table or a text that grows without an end",
                   false, false};
  }
  return Failure{last_seen_.file, last_seen_.line, "Lua failed while it handled an error: make the function simpler",
                 false, false};
}

}  // namespace tocsin::dsl
