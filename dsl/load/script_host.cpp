
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
using stream::Shape;

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
  const auto collect = [&script](const stream::Texts& texts) {
    for (const stream::TextTemplate& text : texts)
      text.each_place([&](const stream::TextTemplate::Place& place) {
        if (place.kind == stream::TextTemplate::Place::Kind::value) script.value_names.push_back(place.name);
        if (place.kind == stream::TextTemplate::Place::Kind::who) script.value_names.emplace_back("who");
      });
  };
  collect(rule.shows);
  for (const auto& cause : rule.causes) collect(cause.texts), script.value_names.push_back(cause.name);
  for (const auto& action : rule.actions) collect(action.texts);
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
