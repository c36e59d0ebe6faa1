// Loads a pack: signals, rules, verdict; then assembles, traces and checks. Whole or not at all.
#include "dsl/load/loader.h"

#include <algorithm>

#include "dsl/load/collection.h"
#include "dsl/load/rule_files.h"
#include "dsl/load/templates.h"
#include "dsl/load/tracing.h"
#include "dsl/lua/problems.h"
#include "stream/graph/time_range.h"

namespace tocsin::dsl {
namespace {

constexpr std::uint64_t least_bytes = 1u << 20;

struct Load {
  const PackFiles& files;
  const Budgets& budgets;
  RuleFiles source_files{files, budgets};
  Problems& problems = source_files.problems;
  Collection& collection = source_files.collection;
  std::shared_ptr<stream::Pack> pack = std::make_shared<stream::Pack>();
  std::unique_ptr<stream::Graph> graph{};
  std::vector<stream::NodeId> of_scripts{};  // what the traces of scripted rules made

  // In a script's texts, a name that is not a member's is a value that evaluate has to return.
  void texts_of_script(const RuleSource& source, stream::Rule& rule) {
    const auto members = member_names(rule.per);
    const auto is_value = [&](const std::string& name) {
      return std::find(members.begin(), members.end(), name) == members.end() && !stream::level_named(name);
    };
    const auto parse = [&](const std::string& key, const std::vector<std::string>& written) {
      return parse_texts(written, rule.per, is_value, [&](const std::string& message) {
        problems.add(source.file, problems.line_of_key(source.file, source.line, key), key + ": " + message);
      });
    };
    rule.shows = parse("shows", source.shows);
    rule.causes.clear();
    for (const auto& [cause, written] : source.causes) rule.causes.push_back({cause, {}, parse(cause, written)});
    rule.actions.clear();
    for (const auto& [cause, written] : source.actions)
      rule.actions.push_back({cause == "otherwise" ? "" : cause, parse("actions", written)});
  }

  void take_alert(const RuleSource& source, stream::Rule& rule) {
    rule.severities = source.severities;
    rule.runbook = source.runbook.value_or("");
    rule.owner = source.owner.value_or("");
    std::vector<std::string> causes{"otherwise"};
    for (const auto& [cause, texts] : source.causes) causes.push_back(cause);
    for (const auto& [cause, severity] : source.severities)
      if (std::find(causes.begin(), causes.end(), cause) == causes.end())
        problems.add(source.file, problems.line_of_key(source.file, source.line, "severity"),
                     "severity names '" + cause + "', which is not in causes" + nearest(cause, causes) +
                         ": name a cause, or otherwise");
  }

  void trace_rules() {
    for (std::size_t i = 0; i < pack->rules.size(); ++i) {
      stream::Rule& rule = pack->rules[i];
      const RuleSource& source = collection.rules.at(rule.name);
      const auto index = static_cast<stream::RuleIndex>(i);
      problems.about(rule.name);
      take_alert(source, rule);
      rule.source_hash = collection.shared.hash_with(files, source.file);
      declare_needs(collection, source, index, *pack, *graph);
      // After an unknown signal or level nothing more is known about a function.
      if (source.evaluate < 0 || source.per.empty() || source.needs_refused || rule.needs.size() != source.needs.size())
        continue;
      trace(*source_files.host, collection, source, index, *pack, *graph);
      if (!rule.scripted && budgets.all_scripted && !problems.fatal()) rule.scripted = "all rules were asked to be";
      // The trace of a script stays: its reductions are maintained incrementally, and its frozen values have lasting
      // nodes.
      if (rule.scripted) script(source, index);
    }
    problems.about("");
  }
  void script(const RuleSource& source, stream::RuleIndex index) {
    stream::Rule& rule = pack->rules[static_cast<std::size_t>(index)];
    rule.answer = {};
    of_scripts.insert(of_scripts.end(), rule.hot.begin(), rule.hot.end());
    of_scripts.insert(of_scripts.end(), rule.cold.begin(), rule.cold.end());
    rule.hot.clear(), rule.cold.clear(), rule.outputs.clear();
    rule.who.reset();
    for (auto& field : rule.state) {
      field.write.reset();
      of_scripts.push_back(graph->state(index, field.name, rule.per));
    }
    if (!source.peers.empty()) (void)graph->peers(source.peers);
    texts_of_script(source, rule);
  }

  // A need of a compiled rule is no node of its own: one that reads it stands for it. Of a signal at whose records the
  // rule runs, and that it does not read, it stays.
  void find_readers(stream::Rule& rule) const {
    std::vector<stream::NodeId> nodes{rule.hot};
    nodes.insert(nodes.end(), rule.cold.begin(), rule.cold.end());
    const auto triggers = [&](const stream::Node& need) {
      const auto of_signal = [&](stream::NodeId id) {
        const auto& window = (*graph)[id].attributes.window;
        return window && window->signal == need.attributes.window->signal;
      };
      return need.attributes.window && std::ranges::none_of(nodes, of_signal) &&
             std::ranges::any_of(rule.every, [&](const stream::Trigger& trigger) {
               return trigger.kind == stream::Trigger::Kind::record && trigger.signal == need.attributes.window->signal;
             });
    };
    std::erase_if(rule.needs, [&](auto& need) {
      const auto reader = std::ranges::find_if(
          nodes, [&](stream::NodeId id) { return stream::reads_same((*graph)[id], (*graph)[need.second]); });
      if (reader != nodes.end()) need.second = *reader;
      return reader == nodes.end() && !triggers((*graph)[need.second]);
    });
  }
  // Drops what tracing made on the way: steps of a longer expression, constants that were folded.
  void drop_unused_nodes() {
    for (stream::Rule& rule : pack->rules)
      if (!rule.scripted) find_readers(rule);
    std::vector<stream::NodeId> roots{of_scripts};
    each_node([&](const stream::NodeId& node) { roots.push_back(node); });
    const auto now = graph->keep(roots);
    each_node([&](stream::NodeId& node) { node = now.at(node); });
    for (stream::Rule& rule : pack->rules) {  // a local variable has a name only if its node stays
      std::erase_if(rule.locals, [&](const auto& local) { return !now.contains(local.node); });
      for (auto& local : rule.locals) local.node = now.at(local.node);
    }
    pack->derive();
    std::vector<stream::NodeId> read;
    for (const stream::NodeId node : of_scripts) read.push_back(now.at(node));
    each_read_node([&](const stream::NodeId& node) { read.push_back(node); });
    graph->compute_in_place(read);
    pack->order(*graph);
  }
  void each_node(auto&& visit) {
    for (stream::Rule& rule : pack->rules)
      for (auto* nodes : {&rule.hot, &rule.cold})
        for (auto& node : *nodes) visit(node);
    each_read_node(visit);
  }
  // The nodes whose values are read by others than nodes.
  void each_read_node(auto&& visit) {
    for (stream::Rule& rule : pack->rules) {
      if (!rule.hot.empty()) visit(rule.answer);
      if (rule.who) visit(*rule.who);
      for (auto& [name, node] : rule.needs) visit(node);
      for (auto& field : rule.state)
        if (field.write) visit(*field.write);
      for (auto& output : rule.outputs) visit(output.node);
      for (auto& cause : rule.causes)
        if (!rule.hot.empty()) visit(cause.node);
    }
  }

  void keep_scripts() {
    if (std::any_of(pack->rules.begin(), pack->rules.end(),
                    [](const stream::Rule& rule) { return rule.scripted.has_value(); }))
      pack->scripts = script_source(budgets);
  }

  Loaded run() {
    source_files.read();
    assemble(collection, *pack);
    check_cases(collection);
    graph = std::make_unique<stream::Graph>(pack->signals);
    trace_rules();
    drop_unused_nodes();
    pack->graph = std::move(graph);
    pack->text = pack_text(files);
    pack->hash = pack_hash(pack->text);
    keep_scripts();
    return {problems.fatal() ? nullptr : std::move(pack), problems.take(), std::move(collection.cases)};
  }
};

}  // namespace

Loaded load(const PackFiles& files, const Budgets& budgets) {
  if (budgets.bytes < least_bytes) {
    Problem problem;
    problem.message =
        "a budget of " + std::to_string(budgets.bytes) + " bytes is too small for Lua to start: give it at least 1 MiB";
    return {nullptr, {std::move(problem)}, {}};
  }
  return Load{files, budgets}.run();
}

}  // namespace tocsin::dsl
