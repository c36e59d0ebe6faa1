// Loads a pack: signals, rules, verdict; then assembles, traces and checks. Whole or not at all.
#include "dsl/loader.h"

#include <algorithm>
#include <lua.hpp>

#include "dsl/assembly.h"
#include "dsl/bytecode.h"
#include "dsl/case_reader.h"
#include "dsl/environment.h"
#include "dsl/script_host.h"
#include "dsl/templates.h"
#include "stream/values/digest.h"

namespace tocsin::dsl {
namespace {

constexpr std::uint64_t least_bytes = 1u << 20;

struct Load {
  const PackFiles& files;
  const Budgets& budgets;
  Problems problems{files};
  Collection collection{problems};
  std::unique_ptr<Host> host = std::make_unique<Host>(budgets);
  std::shared_ptr<stream::Pack> pack = std::make_shared<stream::Pack>();

  void failed(const std::string& file, const std::optional<Failure>& failure) {
    if (failure) problems.add(failure->file.empty() ? file : failure->file, failure->line, failure->message);
  }

  // Lua's own words for a text that does not compile, with what the usual slips are.
  void does_not_compile(const std::string& file, std::string message) {
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
  bool run_file(const std::string& file, const std::string& text) {
    std::unique_ptr<Bytecode> code;
    const auto failure = host->guarded(budgets.load_instructions, [&](lua_State* state) {
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

  void read_files() {
    collection.part = Collection::Part::signals;
    if (const auto signals = files.find("signals.lua"); signals != files.end())
      collection.signals_read = run_file(signals->first, signals->second);
    else
      problems.add("signals.lua", 0,
                   "the file is missing. It declares the signals that rules may read: copy the shipped one, rules/signals.lua, here");
    collection.part = Collection::Part::rules;
    for (const auto& [path, text] : files) {
      if (path == "signals.lua" || path == "verdict.lua" || path.starts_with("patterns/") || path.starts_with("progress/") ||
          !path.ends_with(".lua"))
        continue;
      collection.rules_read &= run_file(path, text);
    }
    collection.part = Collection::Part::verdict;
    if (const auto verdict = files.find("verdict.lua"); verdict != files.end()) run_file(verdict->first, verdict->second);
    failed("", host->guarded(budgets.load_instructions, [this](lua_State* state) {
      for (const auto& [name, rule] : collection.rules) {
        if (rule.evaluate < 0) continue;
        lua_rawgeti(state, LUA_REGISTRYINDEX, rule.evaluate);
        seal_outer(state, lua_gettop(state));
        lua_pop(state, 1);
      }
    }));
  }

  // A script's texts: what is no member's name is a value that evaluate has to return.
  void texts_of_script(const RuleSource& source, stream::Rule& rule) {
    const auto members = member_names(rule.per);
    const auto is_value = [&](const std::string& name) { return std::find(members.begin(), members.end(), name) == members.end(); };
    const auto parse = [&](const std::string& key, const std::string& written) -> stream::TextTemplate {
      if (written.empty()) return {};
      auto parsed = parse_template(written, rule.per, is_value);
      if (parsed) return std::move(*parsed);
      problems.add(source.file, problems.line_of_key(source.file, source.line, key), key + ": " + parsed.error().message);
      return {};
    };
    rule.shows = parse("shows", source.shows);
    rule.causes.clear();
    for (const auto& [cause, written] : source.causes) rule.causes.push_back({cause, {}, parse(cause, written)});
  }

  void trace_rules() {
    for (std::size_t i = 0; i < pack->rules.size(); ++i) {
      stream::Rule& rule = pack->rules[i];
      const RuleSource& source = collection.rules.at(rule.name);
      const auto index = static_cast<stream::RuleIndex>(i);
      problems.about(rule.name);
      if (const auto file = files.find(source.file); file != files.end()) rule.source_hash = stream::hash_text(file->second);
      declare_needs(collection, source, index, *pack);
      // Of a function that met an unknown signal or level nothing more can be said.
      if (source.evaluate < 0 || source.per.empty() || source.needs_refused || rule.needs.size() != source.needs.size()) continue;
      trace(*host, collection, source, index, *pack);
      if (!rule.scripted && budgets.all_scripted && !problems.fatal()) rule.scripted = "all rules were asked to be";
      // What was traced of a script stays: its reductions are kept up as values arrive, and its frozen values have lasting nodes.
      if (rule.scripted) script(source, index);
    }
    problems.about("");
  }
  void script(const RuleSource& source, stream::RuleIndex index) {
    stream::Rule& rule = pack->rules[static_cast<std::size_t>(index)];
    rule.answer = {};
    rule.hot.clear(), rule.cold.clear(), rule.outputs.clear();
    rule.who.reset();
    for (auto& field : rule.state) {
      field.write.reset();
      (void)pack->graph->state(index, field.name, rule.per);
    }
    if (!source.peers.empty()) (void)pack->graph->peers(source.peers);
    texts_of_script(source, rule);
  }

  void keep_scripts() {
    if (std::none_of(pack->rules.begin(), pack->rules.end(), [](const stream::Rule& rule) { return rule.scripted.has_value(); })) return;
    auto scripts = std::make_shared<Scripts>(std::move(host));
    for (std::size_t i = 0; i < pack->rules.size(); ++i)
      if (pack->rules[i].scripted) scripts->add(static_cast<stream::RuleIndex>(i), collection.rules.at(pack->rules[i].name), *pack);
    pack->scripts = std::move(scripts);
  }

  Loaded run() {
    host->collection = &collection;
    failed("", host->guarded(budgets.load_instructions, [](lua_State* state) { register_environment(state); }));
    if (!problems.fatal()) read_files();
    assemble(collection, *pack);
    check_cases(collection);
    pack->graph = std::make_unique<stream::Graph>(pack->signals);
    trace_rules();
    pack->order = tick_order(*pack);
    pack->text = pack_text(files);
    pack->hash = pack_hash(pack->text);
    host->collection = nullptr;
    if (!problems.fatal()) keep_scripts();
    return {problems.fatal() ? nullptr : pack, problems.take(), std::move(collection.cases)};
  }
};

}  // namespace

Loaded load(const PackFiles& files, const Budgets& budgets) {
  if (budgets.bytes < least_bytes) {
    Problem problem;
    problem.message = "a budget of " + std::to_string(budgets.bytes) + " bytes is too small for Lua to start: give it at least 1 MiB";
    return {nullptr, {std::move(problem)}, {}};
  }
  return Load{files, budgets}.run();
}

}  // namespace tocsin::dsl
