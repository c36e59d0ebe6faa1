#include "dsl/rule_files.h"

#include <algorithm>
#include <cstdlib>
#include <lua.hpp>

#include "dsl/bytecode.h"
#include "dsl/environment.h"

namespace tocsin::dsl {

void RuleFiles::read() {
  host->collection = &collection;
  failed("", host->guarded(budgets_->load_instructions, [](lua_State* state) { register_environment(state); }));
  if (!problems.fatal()) read_files();
}

std::unique_ptr<Host> RuleFiles::take_host() {
  host->collection = nullptr;
  return std::move(host);
}

void RuleFiles::failed(const std::string& file, const std::optional<Failure>& failure) {
  if (failure) problems.add(failure->file.empty() ? file : failure->file, failure->line, failure->message);
}

// Lua's message for a text that does not compile, with the usual mistakes.
void RuleFiles::does_not_compile(const std::string& file, std::string message) {
  int line = 0;
  const std::string prefix = file + ":";
  if (const auto at = message.find(prefix); at != std::string::npos) {
    const auto end = message.find(": ", at + prefix.size());
    if (end != std::string::npos) {
      line = std::atoi(message.c_str() + at + prefix.size());
      message.erase(0, end + 2);
    }
  }
  if (message.find("binary chunk") != std::string::npos) message = "this is compiled Lua, which is not accepted: give its text";
  const std::string written = problems.source_line(file, line);
  for (const char* word : {"for", "end", "if", "in", "not", "or", "and", "local", "repeat", "until", "while", "then", "do"}) {
    if (message.find(std::string{"near '"} + word + "'") == std::string::npos) continue;
    const auto at = written.find(word);
    if (at == std::string::npos || written.find('=', at) == std::string::npos) continue;
    message = std::string{"'"} + word + "' is a word of Lua and cannot name a key";
    if (std::string_view{word} == "for") message = "'for' is a word of Lua: write fire = \"for 60s\"";
    break;
  }
  if (message.starts_with("'}' expected")) message += ": between the fields of a table stands a comma";
  if (message.starts_with("function arguments expected")) message += ": brackets follow a word, x:mean()";
  problems.add(file, line, std::move(message));
}

// Whether the file was read to its end.
bool RuleFiles::run_file(const std::string& file, const std::string& text) {
  std::unique_ptr<Bytecode> code;
  const auto failure = host->guarded(budgets_->load_instructions, [&](lua_State* state) {
    if (luaL_loadbufferx(state, text.data(), text.size(), ("@" + file).c_str(), "t") != LUA_OK) {
      if (lua_type(state, -1) != LUA_TSTRING) lua_error(state);  // described already: too deep, or out of memory
      does_not_compile(file, lua_tostring(state, -1));
      return;
    }
    code = bytecode_of(state, -1);
    push_environment(state);
    if (!lua_setupvalue(state, -2, 1)) lua_pop(state, 1);
    lua_call(state, 0, 0);
  });
  failed(file, failure);
  problems.about("");
  if (!code) return false;
  std::vector<Lines> evaluates;
  for (const auto& [name, rule] : collection.rules)
    if (rule.file == file) evaluates.push_back({rule.first_line, rule.last_line});
  for (const Finding& one : outer_assignments(*code, evaluates)) problems.add(file, one.line, one.message);
  return !failure;
}

void RuleFiles::read_files() {
  collection.part = Collection::Part::signals;
  if (const auto signals = files_->find("signals.lua"); signals != files_->end())
    collection.signals_read = run_file(signals->first, signals->second);
  else
    problems.add("signals.lua", 0,
                 "the file is missing. It declares the signals that rules may read: copy the shipped one, rules/signals.lua, here");
  collection.part = Collection::Part::rules;
  for (const auto& [path, text] : *files_) {
    if (path == "signals.lua" || path == "verdict.lua" || path.starts_with("patterns/") || path.starts_with("progress/") ||
        !path.ends_with(".lua"))
      continue;
    collection.rules_read &= run_file(path, text);
  }
  collection.part = Collection::Part::verdict;
  if (const auto verdict = files_->find("verdict.lua"); verdict != files_->end()) (void)run_file(verdict->first, verdict->second);
  failed("", host->guarded(budgets_->load_instructions, [this](lua_State* state) {
    for (const auto& [name, rule] : collection.rules) {
      if (rule.evaluate < 0) continue;
      lua_rawgeti(state, LUA_REGISTRYINDEX, rule.evaluate);
      seal_outer(state, lua_gettop(state));
      lua_pop(state, 1);
    }
  }));
}

}  // namespace tocsin::dsl
