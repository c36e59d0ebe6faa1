
#include <algorithm>
#include <lua.hpp>
#include <map>

#include "dsl/load/collection.h"
#include "dsl/load/rule_files.h"
#include "dsl/load/tracing.h"
#include "dsl/lua/host.h"
#include "dsl/lua/values.h"
#include "stream/topology/topology.h"

namespace tocsin::dsl {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Op;
using stream::Shape;

// Not lua_pushstring: whether it copies the text depends on where the text lies.
void push_text(lua_State* state, std::string_view view) { lua_pushlstring(state, view.data(), view.size()); }

// A member's value in Lua: nil if it is unknown.
void push_concrete(lua_State* state, Evaluation& evaluation, NodeId node, std::size_t slot) {
  const stream::Type& type = evaluation.graph[node].type;
  if (type.shape == Shape::mask) {
    const stream::Truth truth = evaluation.scratch->mask(node)[slot];
    if (truth == stream::Truth::unknown) lua_pushnil(state);
    else lua_pushboolean(state, truth == stream::Truth::yes);
    return;
  }
  const double value = evaluation.scratch->column(node)[slot];
  if (stream::is_absent(value)) return lua_pushnil(state);
  if (!type.text()) return lua_pushnumber(state, value);
  const auto word = evaluation.scratch->text(value);
  if (word) push_text(state, *word);
  else lua_pushnil(state);
}

std::size_t size_of(const Evaluation& evaluation, NodeId node) {
  return evaluation.graph[node].type.shape == Shape::mask ? evaluation.scratch->mask(node).size()
                                                          : evaluation.scratch->column(node).size();
}

int next_member(lua_State* state) {  // upvalues: the value, the next slot
  Evaluation& evaluation = evaluation_of(state);
  if (!evaluation.scratch) return 0;
  const NodeId node = value_at(state, lua_upvalueindex(1))->node;
  const Level level = evaluation.graph[node].type.level;
  const stream::Topology& topology = evaluation.scratch->topology();
  const std::size_t size = size_of(evaluation, node);
  auto slot = static_cast<std::size_t>(lua_tointeger(state, lua_upvalueindex(2)));
  if (level == Level::rank && slot == stream::reserved_slot) ++slot;
  while (slot < size && !topology.exists(level, static_cast<stream::Slot>(slot))) ++slot;
  if (slot >= size) return 0;
  lua_pushinteger(state, static_cast<lua_Integer>(slot + 1));
  lua_replace(state, lua_upvalueindex(2));
  const auto key = topology.key(level, static_cast<stream::Slot>(slot));
  switch (level) {
    case Level::rank: lua_pushinteger(state, static_cast<lua_Integer>(slot) - 1); break;
    case Level::gpu: push_text(state, std::string(key.node) + "/" + std::string(key.gpu)); break;
    case Level::node: push_text(state, key.node); break;
    case Level::rack: push_text(state, topology.rack_name(static_cast<stream::Slot>(slot))); break;
    default: lua_pushinteger(state, 0);
  }
  push_concrete(state, evaluation, node, slot);
  return 2;
}

}  // namespace

int concrete(lua_State* state, Op op) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string word{stream::operation(op).name};
  const NodeId node = value_at(state, 1)->node;
  const stream::Type type = evaluation.graph[node].type;
  if (!evaluation.scratch) {
    const Host::Place place = Host::where(state);
    Host::of(state).stop_at(state, place.file, place.line, word + "() at line " + std::to_string(place.line), true);
  }
  Host& host = Host::of(state);
  if (op != Op::each && type.level != Level::none && type.level != Level::job)
    host.stop(state, word + "() is for one value, and this is a value per " + std::string(name(type.level)) +
                         ": take it up through a group, or go through its members with :each()");
  evaluation.scratch->compute(node);
  if (op != Op::each) {
    push_concrete(state, evaluation, node, 0);
    return 1;
  }
  const std::uint64_t size = size_of(evaluation, node);
  if (size > evaluation.elements_left)
    host.stop(state, "it spent its budget of " + std::to_string(host.budgets().elements) +
                         " elements: fewer operations, or coarser columns");
  evaluation.elements_left -= size;
  lua_settop(state, 1);
  lua_pushinteger(state, 0);
  lua_pushcclosure(state, next_member, 2);
  return 1;
}

namespace {

// Runs the evaluates of a pack's scripted rules.
class Scripts final : public stream::ScriptHost {
 public:
  explicit Scripts(std::unique_ptr<Host> host) : host_(std::move(host)) {}

  void add(stream::RuleIndex index, const RuleSource& source, const stream::Pack& pack);
  stream::Result<stream::ScriptedAnswer> evaluate(stream::RuleIndex rule, stream::Scratch& scratch) override;

 private:
  struct Script {
    RuleSource source;
    Level per = Level::job;
    std::map<std::string, NodeId> needs;
    std::vector<std::string> value_names;  // that texts need from the second value
  };
  std::unique_ptr<Host> host_;
  std::map<stream::RuleIndex, Script> scripts_;
};

void Scripts::add(stream::RuleIndex index, const RuleSource& source, const stream::Pack& pack) {
  const stream::Rule& rule = pack.rules[static_cast<std::size_t>(index)];
  Script script{source, rule.per, {rule.needs.begin(), rule.needs.end()}, {}};
  const auto collect = [&script](const stream::TextTemplate& texts) {
    for (const auto& place : texts.places) {
      if (place.kind == stream::TextTemplate::Place::Kind::value) script.value_names.push_back(place.name);
      if (place.kind == stream::TextTemplate::Place::Kind::who) script.value_names.emplace_back("who");
    }
  };
  collect(rule.shows);
  for (const auto& cause : rule.causes) collect(cause.text), script.value_names.push_back(cause.name);
  for (const auto& action : rule.actions)
    for (const auto& text : action.texts) collect(text);
  scripts_.emplace(index, std::move(script));
}

stream::Result<stream::ScriptedAnswer> Scripts::evaluate(stream::RuleIndex index, stream::Scratch& scratch) {
  const auto found = scripts_.find(index);
  if (found == scripts_.end())
    return stream::Error{stream::Errc::not_found, "this rule has no script: it was compiled"};
  const Script& script = found->second;
  const Budgets& budgets = host_->budgets();
  Evaluation evaluation{scratch.graph(),
                        script.source,
                        index,
                        script.per,
                        script.needs,
                        std::nullopt,
                        &scratch,
                        budgets.elements,
                        scratch.graph().size(),
                        0,
                        {},
                        {},
                        {},
                        {},
                        {}};
  evaluation.most_nodes = evaluation.graph.size() + budgets.nodes;
  if (!script.source.peers.empty()) evaluation.peers = evaluation.graph.peers(script.source.peers);
  stream::ScriptedAnswer result;
  host_->evaluation = &evaluation;
  const auto failure = host_->guarded(budgets.instructions, [&](lua_State* state) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, script.source.evaluate);
    push_job(state);
    push_params(state);
    push_state(state);
    lua_call(state, 3, 2);
    const Answer answer = read_answer(state, evaluation);
    const auto refuse = [&](const std::string& message) {
      host_->stop_at(state, script.source.file, script.source.last_line, message);
    };
    const auto level = [&](NodeId node) { return evaluation.graph[node].type.level; };
    const auto is_mask = [&](NodeId node) { return evaluation.graph[node].type.shape == Shape::mask; };
    const std::string per{name(script.per)};
    if (level(answer.mask) > script.per)
      refuse("per = '" + per + "', but evaluate returned a value per " + std::string(name(level(answer.mask))) +
             ": use :any(\"" + per + "\") or :all(\"" + per + "\")");
    result.answer = answer.mask;
    scratch.compute(answer.mask);
    for (const auto& [name, node] : answer.outputs) {
      scratch.compute(node);
      if (name == "who") {
        if (!is_mask(node) || level(node) <= script.per) refuse("who must be a mask of members within a " + per);
        result.who = node;
        continue;
      }
      if (script.source.causes.contains(name)) {
        if (!is_mask(node) || level(node) > script.per)
          refuse("cause '" + name + "' must be a mask with one value per " + per);
        result.causes.emplace_back(name, node);
      }
      result.outputs.push_back({name, node});
    }
    for (const std::string& wanted : script.value_names)
      if (!answer.outputs.contains(wanted))
        refuse("shows, causes or actions name '" + wanted +
               "', which evaluate did not return: add it to the second value");
    std::size_t field = 0;
    for (const auto& [name, initial] : script.source.state) {
      if (const auto written = evaluation.written.find(name); written != evaluation.written.end()) {
        scratch.compute(written->second);
        result.state.emplace_back(field, written->second);
      }
      ++field;
    }
  });
  host_->evaluation = nullptr;
  if (failure) {
    const std::string file = failure->file.empty() ? script.source.file : failure->file;
    return stream::Error{stream::Errc::refused,
                         file + ":" + std::to_string(failure->line > 0 ? failure->line : script.source.first_line) +
                             ": " + failure->message};
  }
  return result;
}

class PackScripts final : public stream::ScriptSource {
 public:
  explicit PackScripts(const Budgets& budgets) : budgets_(budgets) {}

  stream::Result<std::unique_ptr<stream::ScriptHost>> make(const stream::Pack& pack) const override {
    const auto files = pack_files(pack.text);
    if (!files) return files.error();
    RuleFiles read{*files, budgets_};
    read.read();
    stream::Pack heads;  // changes of the rules' heads count for their sources, too: a tune, or the rules of "*"
    assemble(read.collection, heads);
    if (read.problems.fatal())
      return stream::Error{stream::Errc::refused,
                           "the pack loaded once and does not load again: report this, with the pack"};
    auto scripts = std::make_unique<Scripts>(read.take_host());
    for (std::size_t i = 0; i < pack.rules.size(); ++i)
      if (pack.rules[i].scripted)
        scripts->add(static_cast<stream::RuleIndex>(i), read.collection.rules.at(pack.rules[i].name), pack);
    return std::unique_ptr<stream::ScriptHost>{std::move(scripts)};
  }

 private:
  Budgets budgets_;
};

}  // namespace

std::shared_ptr<const stream::ScriptSource> script_source(const Budgets& budgets) {
  return std::make_shared<PackScripts>(budgets);
}

}  // namespace tocsin::dsl
