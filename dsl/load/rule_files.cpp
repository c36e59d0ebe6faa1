#include "dsl/load/rule_files.h"

#include <algorithm>
#include <cstdlib>
#include <lua.hpp>

#include "dsl/load/declarations.h"
#include "dsl/load/text_definitions.h"
#include "dsl/lua/bytecode.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "stream/values/utf8.h"

namespace tocsin::dsl {

bool RuleFiles::open() {
  host->collection = &collection;
  host->problems = &problems;
  failed("", host->guarded(budgets_->load_instructions,
                           [](lua_State* state) { register_environment(state, register_declarations); }));
  return !problems.fatal();
}

void RuleFiles::read() {
  if (open()) read_files();
}

void RuleFiles::read_texts() {
  if (!open()) return;
  collection.part = Collection::Part::texts;
  for (const auto& [path, text] : *files_)
    if (is_text_file(path)) (void)run_file(path, text);
  report_unfinished();
}

void RuleFiles::report_unfinished() {
  collection.unfinished.report_to(
      [this](const Host::Place& at, const std::string& message) { problems.add(at.file, at.line, message); });
}

std::unique_ptr<Host> RuleFiles::take_host() {
  host->collection = nullptr;
  host->problems = nullptr;
  return std::move(host);
}

void RuleFiles::failed(const std::string& file, const std::optional<Failure>& failure) {
  if (failure && !failure->message.empty())
    problems.add(failure->file.empty() ? file : failure->file, failure->line, failure->message);
}

namespace {

// What was written in the manner of another language, or by a program for letters.
std::string slip_of_another_language(std::string line, const std::string& message) {
  const bool beyond_ascii = message.find("near '<\\") != std::string::npos;
  for (const char* quote : {"“", "”", "„", "‘", "’", "«", "»"})
    if (beyond_ascii && line.find(quote) != std::string::npos)
      return std::string{"the quotes "} + quote + " are those of a text for people: write \" or '";
  if (beyond_ascii)
    return "a letter that no name of Lua has: write names with a to z, digits and '_', and other letters only within "
           "quotes";
  if (const auto comment = line.find("--"); comment != std::string::npos) line.erase(comment);
  const auto has = [&line](const char* sign) { return line.find(sign) != std::string::npos; };
  if (has("&&")) return "'&&' is of another language: between masks write '&', between plain values 'and'";
  if (has("||")) return "'||' is of another language: between masks write '|', between plain values 'or'";
  if (has("!=")) return "'!=' is of another language: of a column write ~x:is(…), of plain values a ~= b";
  for (const char* sign : {"+=", "-=", "*=", "/="})
    if (has(sign)) return std::string{"'"} + sign + "' is of another language: write x = x " + sign[0] + " …";
  if (has("++")) return "'++' is of another language: write x = x + 1";
  if (message.find("near '!'") != std::string::npos)
    return "'!' is of another language: before a mask write '~', before a plain value 'not'";
  return "";
}

}  // namespace

// Refuses bytes that are no text; whether there was nothing to refuse.
bool RuleFiles::readable(const std::string& file, const std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    problems.add(file, 1, "the file begins with a byte-order mark, which cannot be seen: save it as UTF-8 without one");
    return false;
  }
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = stream::utf8_length(std::string_view{text}.substr(at));
    if (size == 0) {
      problems.add(file, line, "a byte that is not UTF-8: save the file as UTF-8");
      return false;
    }
    line += text[at] == '\n' ? 1 : 0;
    at += size;
  }
  return true;
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
  if (message.find("binary chunk") != std::string::npos)
    message = "this is compiled Lua, which is not accepted: give its text";
  const std::string written = problems.source_line(file, line);
  for (const char* word :
       {"for", "end", "if", "in", "not", "or", "and", "local", "repeat", "until", "while", "then", "do"}) {
    if (message.find(std::string{"near '"} + word + "'") == std::string::npos) continue;
    const auto at = written.find(word);
    if (at == std::string::npos || written.find('=', at) == std::string::npos) continue;
    message = std::string{"'"} + word + "' is a word of Lua and cannot name a key";
    if (std::string_view{word} == "for") message = "'for' is a word of Lua: write fire = \"for 60s\"";
    break;
  }
  if (std::string slip = slip_of_another_language(written, message); !slip.empty()) message = std::move(slip);
  if (message.starts_with("'}' expected")) message += ": between the fields of a table stands a comma";
  if (message.starts_with("function arguments expected")) message += ": brackets follow a word, x:mean()";
  problems.add(file, line, std::move(message));
}

// Leaves the file's function; null: its text does not compile.
std::unique_ptr<Bytecode> RuleFiles::compile(lua_State* state, const std::string& file, const std::string& text) {
  if (luaL_loadbufferx(state, text.data(), text.size(), ("@" + file).c_str(), "t") != LUA_OK) {
    if (lua_type(state, -1) != LUA_TSTRING) lua_error(state);  // described already: too deep, or out of memory
    does_not_compile(file, lua_tostring(state, -1));
    return nullptr;
  }
  auto code = bytecode_of(state, -1);
  push_environment(state);
  if (!lua_setupvalue(state, -2, 1)) lua_pop(state, 1);
  return code;
}

// Leaves what the file returns.
void RuleFiles::run_shared(lua_State* state, const std::string& file) {
  const std::string& text = files_->at(file);
  const auto code = readable(file, text) ? compile(state, file, text) : nullptr;
  if (!code) host->stop_at(state, "", 0, "");
  for (const Finding& one : repeated_keys(*code)) problems.add(file, one.line, one.message);
  for (const Finding& one : outer_assignments(*code, {})) problems.add(file, one.line, one.message);
  lua_call(state, 0, 1);
}

// Whether the file was read to its end.
bool RuleFiles::run_file(const std::string& file, const std::string& text) {
  if (!text.starts_with("\x1bLua") && !readable(file, text)) return false;
  std::unique_ptr<Bytecode> code;
  const auto failure = host->guarded(budgets_->load_instructions, [&](lua_State* state) {
    code = compile(state, file, text);
    if (code) lua_call(state, 0, 0);
  });
  failed(file, failure);
  problems.about("");
  if (!code) return false;
  std::vector<Lines> evaluates;
  for (const auto& [name, rule] : collection.rules)
    if (rule.file == file) evaluates.push_back({rule.first_line, rule.last_line});
  for (const Finding& one : repeated_keys(*code)) problems.add(file, one.line, one.message);
  for (const Finding& one : outer_assignments(*code, evaluates)) problems.add(file, one.line, one.message);
  return !failure;
}

void RuleFiles::read_files() {
  collection.part = Collection::Part::signals;
  if (const auto signals = files_->find("signals.lua"); signals != files_->end())
    collection.signals_read = run_file(signals->first, signals->second);
  else
    problems.add("signals.lua", 0,
                 "the file is missing. It declares the signals that rules may read: name the shipped rules before "
                 "this directory (shipped DIR), or copy their signals.lua here");
  // A directory that is added to the shipped rules may have signals of its own.
  const auto of_a_site = [](const std::string& path, std::string_view name) {
    return path.size() > name.size() && path.ends_with(name) && path[path.size() - name.size() - 1] == '/' &&
           !is_text_file(path);
  };
  for (const auto& [path, text] : *files_)
    if (of_a_site(path, "signals.lua")) collection.signals_read &= run_file(path, text);
  collection.part = Collection::Part::shared;
  collection.shared.find(*files_, problems,
                         [this](lua_State* state, const std::string& path) { run_shared(state, path); });
  for (const std::string& name : collection.shared.names())
    failed("",
           host->guarded(budgets_->load_instructions, [&](lua_State* state) { collection.shared.push(state, name); }));
  collection.part = Collection::Part::rules;
  // Those of a directory that is added come later: it is to blame for a name that is taken.
  std::vector<PackFiles::const_iterator> ordered;
  for (auto file = files_->begin(); file != files_->end(); ++file) ordered.push_back(file);
  const PackDirectories directories{*files_};
  std::ranges::stable_sort(ordered, {}, [&](const auto& file) { return directories.of(file->first); });
  for (const auto& file : ordered) {
    const auto& [path, text] = *file;
    if (path == "signals.lua" || is_shared_file(*files_, path) || path == "verdict.lua" ||
        of_a_site(path, "signals.lua") || is_text_file(path) || !path.ends_with(".lua"))
      continue;
    collection.rules_read &= run_file(path, text);
  }
  collection.part = Collection::Part::verdict;
  if (const auto verdict = files_->find("verdict.lua"); verdict != files_->end())
    (void)run_file(verdict->first, verdict->second);
  report_unfinished();
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
