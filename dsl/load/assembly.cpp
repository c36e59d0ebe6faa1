#include "dsl/load/collection.h"

#include <algorithm>
#include <functional>
#include <set>

#include "dsl/lua/durations.h"
#include "dsl/lua/problems.h"

namespace tocsin::dsl {
namespace {

using stream::RuleIndex;
using Edges = std::map<std::string, std::vector<std::string>>;

// Families are written in capitals.
std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

struct Assembly {
  Collection& collection;
  stream::Pack& pack;
  std::vector<std::string> names = collection.rule_names();
  Edges findings{}, yields{};

  Problems& problems() const { return *collection.problems; }
  int line_of(const RuleSource& rule, const std::string& key) const {
    return problems().line_of_key(rule.file, rule.line, key);
  }
  RuleIndex index(const std::string& rule) const {
    return static_cast<RuleIndex>(std::lower_bound(names.begin(), names.end(), rule) - names.begin());
  }

  // ---- tunes

  void tune() {
    std::map<std::string, const TuneSource*> first;
    for (const TuneSource& tune : collection.tunes) {
      if (const auto [before, fresh] = first.emplace(tune.name, &tune); !fresh)
        problems().add(tune.file, tune.line,
                       "a second tune '" + tune.name + "': the first is at " + before->second->file + ":" +
                           std::to_string(before->second->line) + "; put both into one");
      if (const auto rule = collection.rules.find(tune.name); rule != collection.rules.end())
        tune_rule(tune, rule->second);
      else if (const auto signal = collection.signals.find(tune.name); signal != collection.signals.end())
        tune_signal(tune, signal->second);
      else no_rule_or_signal(tune);
    }
  }
  void no_rule_or_signal(const TuneSource& tune) {
    const std::string meant =
        nearest(tune.name, collection.rule_names()).empty() ? nearest(tune.name, collection.signal_names()) : "";
    if (meant.empty() || !collection.signals_read) collection.no_rule(tune.file, tune.line, tune.name, "tune: ");
    else problems().add(tune.file, tune.line, "tune: no rule or signal '" + tune.name + "'" + meant);
  }
  void tune_rule(const TuneSource& tune, RuleSource& rule) {
    if (tune.row || tune.lateness)
      problems().add(tune.file, tune.line,
                     "tune '" + tune.name + "': row and lateness are of a signal, and this is a rule");
    std::vector<std::string> params;
    for (const auto& [name, value] : rule.params) params.push_back(name);
    for (const auto& [name, value] : tune.params) {
      const auto param = rule.params.find(name);
      const int line = problems().line_of_key(tune.file, tune.line, name);
      if (param == rule.params.end())
        problems().add(tune.file, line,
                       "tune '" + tune.name + "': '" + name + "' is not in params" + nearest(name, params) +
                           ": it has " + listed(params));
      else if (param->second.index() != value.index())
        problems().add(tune.file, line,
                       "tune '" + tune.name + "': params." + name +
                           " is of another kind in the rule: give the same, a number, a text, a yes or no, or a list");
      else param->second = value;
    }
    if (tune.severity) rule.severity = tune.severity, rule.severities = tune.severities;
    if (tune.runbook) rule.runbook = tune.runbook;
    if (tune.owner) rule.owner = tune.owner;
    if (tune.mode) rule.mode = tune.mode;
    if (tune.fire) rule.fire = tune.fire;
    if (tune.clear) rule.clear = tune.clear;
    if (tune.jobs) rule.jobs = *tune.jobs;
  }
  void tune_signal(const TuneSource& tune, stream::SignalDefinition& signal) {
    if (!tune.params.empty() || tune.severity || tune.mode || tune.fire || tune.clear || tune.jobs || tune.runbook ||
        tune.owner)
      problems().add(tune.file, tune.line, "tune '" + tune.name + "': of a signal only row and lateness can be tuned");
    if (tune.row) signal.row = *tune.row;
    if (tune.lateness) signal.lateness = *tune.lateness;
  }

  // ---- signals

  void signals() {
    for (const auto& [name, rule] : collection.rules)
      for (const auto& [need, of] : rule.needs) {
        wants_points(rule, need, of);
        holds_a_row(rule, of);
      }
    for (const auto& [name, signal] : collection.signals) (void)pack.signals.add(signal);  // each name means one
    for (const auto& [name, owner] : collection.coordinates) pack.signals.add_coordinate(name, owner);
  }
  void holds_a_row(const RuleSource& rule, const NeedSource& of) {
    const auto* signal = of.signal.empty() ? nullptr : collection.find_signal(of.signal);
    if (!signal || of.window.span != stream::WindowSpec::Span::time || of.window.over >= signal->row ||
        signal->kind == stream::SignalKind::event || signal->kind == stream::SignalKind::liveness)
      return;
    const std::string row = shown(stream::seconds(signal->row));
    problems().about(rule.name);
    problems().add(of.file, of.line,
                   "'" + signal->name + "' has a value each " + row + " s, and over = \"" +
                       shown(stream::seconds(of.window.over)) + "s\" is too short to hold one: write over = \"" + row +
                       "s\" or longer");
    problems().about("");
  }
  // Steps, states and times count as points if a rule asks for the last n, or runs at each record of them.
  void wants_points(const RuleSource& rule, const std::string& need, const NeedSource& of) {
    if (of.signal.empty()) return;
    const auto* found = collection.find_signal(of.signal);
    if (!found) return;
    auto& signal = collection.signals.at(found->name);
    const bool asks = of.window.span == stream::WindowSpec::Span::points;
    const bool triggers = std::find(rule.every.begin(), rule.every.end(), need) != rule.every.end();
    if ((!asks && !triggers) || signal.points || signal.kind == stream::SignalKind::event) return;
    if (signal.kind == stream::SignalKind::step || signal.kind == stream::SignalKind::state ||
        signal.kind == stream::SignalKind::time) {
      signal.points = true;
      return;
    }
    problems().about(rule.name);
    problems().add(of.file, of.line,
                   "'" + signal.name + "' is sampled on a grid and does not count points: " +
                       (asks ? "write over = \"30s\"" : "write every = \"10s\"") +
                       ", or give it points = true in signals.lua");
    problems().about("");
  }

  // ---- rules built on rules

  void edges() {
    for (auto& [name, rule] : collection.rules) {
      problems().about(name);
      for (const auto& [need, of] : rule.needs)
        for (const std::string& other : of.findings) {
          if (other == "*") continue;
          if (!collection.rules.contains(other)) collection.no_rule(of.file, of.line, other);
          else if (same_scope(rule, other, of.file, of.line, "finding")) findings[name].push_back(other);
        }
      for (const std::string& parent : rule.yields_to) {
        if (!collection.rules.contains(parent))
          collection.no_rule(rule.file, line_of(rule, "yields_to"), parent, "yields_to: ");
        else if (same_scope(rule, parent, rule.file, line_of(rule, "yields_to"), "yields_to"))
          yields[name].push_back(parent);
      }
    }
    problems().about("");
    const Edges written = findings;
    for (auto& [name, rule] : collection.rules)
      for (auto& [need, of] : rule.needs) expand(rule, of, written);
  }
  static bool same_subjects(const RuleSource& a, const RuleSource& b) {
    return (a.scope == stream::Scope::cluster) == (b.scope == stream::Scope::cluster);
  }
  // A rule of the cluster and one about a job judge different subjects: neither sees the other's answers.
  bool same_scope(const RuleSource& rule, const std::string& other, const std::string& file, int line,
                  const char* what) {
    if (same_subjects(collection.rules.at(other), rule)) return true;
    problems().add(file, line,
                   std::string{what} + ": '" + other + "' is " +
                       (rule.scope == stream::Scope::cluster ? "about a job" : "of the cluster") + ", and '" +
                       rule.name + "' is not: name rules of the same scope");
    return false;
  }
  // "*": every other rule of the scope with a severity above none that is not built on this one.
  void expand(const RuleSource& rule, NeedSource& need, const Edges& written) {
    if (std::find(need.findings.begin(), need.findings.end(), "*") == need.findings.end()) return;
    std::erase_if(need.findings,
                  [&](const std::string& other) { return other == "*" || !collection.rules.contains(other); });
    for (const auto& [other, source] : collection.rules) {
      if (other == rule.name || !same_subjects(source, rule) || source.severity == stream::Severity::none ||
          reached({&written}, other).contains(rule.name))
        continue;
      need.findings.push_back(other);
      findings[rule.name].push_back(other);
    }
    std::sort(need.findings.begin(), need.findings.end());
    need.findings.erase(std::unique(need.findings.begin(), need.findings.end()), need.findings.end());
  }
  // The rules that one reaches, itself included.
  static std::set<std::string> reached(std::initializer_list<const Edges*> ways, const std::string& from) {
    std::set<std::string> seen;
    std::vector<std::string> pending{from};
    while (!pending.empty()) {
      const std::string rule = std::move(pending.back());
      pending.pop_back();
      if (!seen.insert(rule).second) continue;
      for (const Edges* edges : ways)
        if (const auto next = edges->find(rule); next != edges->end())
          pending.insert(pending.end(), next->second.begin(), next->second.end());
    }
    return seen;
  }

  // Depth of each rule: one more than the deepest that it reaches. A cycle is reported once.
  std::map<std::string, std::uint32_t> depths(const Edges& edges, const std::string& what) {
    std::map<std::string, std::uint32_t> depth;
    std::set<std::string> done;
    std::vector<std::string> path;
    const std::function<void(const std::string&)> visit = [&](const std::string& name) {
      if (done.contains(name)) return;
      if (const auto at = std::find(path.begin(), path.end(), name); at != path.end()) {
        std::string circle;
        for (auto step = at; step != path.end(); ++step) circle += *step + " > ";
        const RuleSource& rule = collection.rules.at(name);
        problems().about(name);
        problems().add(rule.file, rule.line, what + " in a circle: " + circle + name + ": take one of these out");
        problems().about("");
        return;
      }
      path.push_back(name);
      std::uint32_t deepest = 0;
      if (const auto next = edges.find(name); next != edges.end())
        for (const std::string& other : next->second) {
          visit(other);
          deepest = std::max(deepest, depth[other] + 1);
        }
      path.pop_back();
      depth[name] = deepest;
      done.insert(name);
    };
    for (const std::string& name : names) visit(name);
    return depth;
  }

  // L: the largest lateness among a rule's needs and those of every rule that it reaches. A finding, which is not
  // reported, waits as long as the first of its readers: then it shares their windows.
  std::map<std::string, stream::Duration> settles(const std::map<std::string, std::uint32_t>& depth) const {
    std::map<std::string, stream::Duration> own;
    for (const auto& [name, rule] : collection.rules)
      for (const auto& [need, of] : rule.needs)
        if (const auto* signal = of.signal.empty() ? nullptr : collection.find_signal(of.signal))
          own[name] = std::max(own[name], signal->lateness);
    auto all = own;
    for (const std::string& name : names)
      for (const std::string& rule : reached({&findings, &yields}, name)) all[name] = std::max(all[name], own[rule]);
    auto readers_first = names;
    std::ranges::stable_sort(readers_first, std::greater{}, [&](const auto& name) { return depth.at(name); });
    for (const std::string& name : readers_first) {
      if (collection.rules.at(name).severity != stream::Severity::none) continue;
      auto first = stream::Duration::max();
      for (const Edges* edges : {&findings, &yields})
        for (const auto& [reader, read] : *edges)
          if (std::ranges::find(read, name) != read.end()) first = std::min(first, all[reader]);
      if (first != stream::Duration::max()) all[name] = first;
    }
    return all;
  }

  // ---- heads

  void triggers(const RuleSource& source, stream::Rule& rule) {
    bool only_events = !source.every.empty();
    for (const std::string& every : source.every) {
      const auto need = source.needs.find(every);
      if (every == "end") {
        rule.every.push_back({stream::Trigger::Kind::end, {}, {}});
        only_events = false;
      } else if (need != source.needs.end()) {
        if (need->second.signal.empty()) {
          problems().add(
              source.file, line_of(source, "every"),
              "every = \"" + every + "\" is a finding, which has no records: write a time, or a need that is a signal");
          continue;
        }
        const auto id = pack.signals.find(need->second.signal);
        if (!id) continue;
        rule.every.push_back({stream::Trigger::Kind::record, {}, *id});
        only_events = only_events && pack.signals[*id].kind == stream::SignalKind::event;
      } else if (const auto period = duration_named(every)) {
        if (*period < std::chrono::seconds{1})
          problems().add(source.file, line_of(source, "every"), "every = \"" + every + "\": at least \"1s\"");
        else rule.every.push_back({stream::Trigger::Kind::period, *period, {}});
        only_events = false;
      } else {
        std::vector<std::string> needs{"end"};
        for (const auto& [name, of] : source.needs) needs.push_back(name);
        problems().add(source.file, line_of(source, "every"),
                       "every = \"" + every + "\" is neither a time, as \"10s\", nor one of " + listed(needs));
        only_events = false;
      }
    }
    if (only_events && rule.clear.timed)
      problems().add(source.file, line_of(source, "every"),
                     "only events trigger it, and clear is a time, so nothing would end its alert: add a time to "
                     "every, every = { \"" +
                         source.every.front() + "\", \"30s\" }");
  }

  // What the cluster cannot say: it has no attempts, no ranks and no labels.
  void of_cluster(const RuleSource& source) {
    if (source.scope != stream::Scope::cluster) return;
    for (const auto& [name, need] : source.needs) {
      const auto* signal = need.signal.empty() ? nullptr : collection.find_signal(need.signal);
      if (need.window.accumulated())
        problems().add(need.file, need.line,
                       "over in a rule of the cluster, which has no attempts, is a time: over = \"24h\"");
      if (signal && signal->owner != stream::Level::gpu && signal->owner != stream::Level::node)
        problems().add(need.file, need.line,
                       "'" + signal->name + "' is a " + std::string{stream::name(signal->owner)} +
                           "'s, and the cluster has nodes and GPUs: need a signal of theirs, or leave scope out");
    }
    if (std::find(source.every.begin(), source.every.end(), "end") != source.every.end())
      problems().add(source.file, line_of(source, "every"),
                     "every = \"end\" in a rule of the cluster, which does not end: write a time, every = \"30s\"");
    if (!source.jobs.empty())
      problems().add(source.file, line_of(source, "jobs"),
                     "jobs selects by the labels of a job, and the cluster has none: take it out; where { job = \"…\" "
                     "} selects events");
  }

  static stream::Scalar scalar(const ParamValue& value) {
    if (const auto* x = std::get_if<double>(&value)) return *x;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* yes = std::get_if<bool>(&value)) return *yes ? 1.0 : 0.0;
    std::string list;
    for (const auto& item : std::get<std::vector<stream::Scalar>>(value)) {
      if (!list.empty()) list += ", ";
      if (const auto* x = std::get_if<double>(&item)) list += shown(*x);
      else list += std::get<std::string>(item);
    }
    return list;
  }

  void head(const RuleSource& source, stream::Rule& rule) {
    problems().about(source.name);
    rule.name = source.name;
    rule.family = source.family;
    rule.summary = source.summary;
    rule.file = source.file;
    rule.line = source.line;
    rule.severity = source.severity.value_or(stream::Severity::warning);
    rule.mode = source.mode.value_or(stream::Mode::live);
    rule.scope = source.scope;
    rule.per = stream::level_named(source.per).value_or(stream::Level::job);
    rule.fire = source.fire.value_or(stream::Persistence{});
    rule.clear = source.clear.value_or(stream::Persistence{});
    rule.jobs = source.jobs;
    rule.peers = source.peers;
    for (const auto& [name, value] : source.params) rule.params[name] = scalar(value);
    for (const auto& [name, initial] : source.state) rule.state.push_back({name, initial, std::nullopt});
    of_cluster(source);
    triggers(source, rule);
    std::vector<std::string> coordinates;
    for (const auto& [name, owner] : collection.coordinates) coordinates.push_back(name);
    const auto& families = collection.verdict.families;
    if (!source.family.empty() && !families.empty() && !families.contains(source.family)) {
      std::vector<std::string> codes;
      for (const auto& [code, words] : families) codes.push_back(code);
      problems().add(source.file, line_of(source, "family"),
                     "family = \"" + source.family + "\" is not in verdict.lua" + nearest(upper(source.family), codes) +
                         ": write one of its families, or add this one there with its words");
    }
    for (const std::string& peer : source.peers)
      if (collection.signals_read && !collection.coordinates.contains(peer))
        problems().add(source.file, line_of(source, "peers"),
                       "no coordinate '" + peer + "' in signals.lua" + nearest(peer, coordinates));
    problems().about("");
  }

  void run() {
    tune();
    signals();
    edges();
    const auto depth = depths(findings, "findings go"), yield_depth = depths(yields, "yields_to goes");
    const auto settle = settles(depth);
    pack.rules.resize(names.size());
    for (const std::string& name : names) {
      stream::Rule& rule = pack.rules[static_cast<std::size_t>(index(name))];
      head(collection.rules.at(name), rule);
      rule.settle = settle.at(name);
      rule.depth = depth.at(name);
      rule.yield_depth = yield_depth.at(name);
      for (const std::string& other : findings[name]) rule.findings.push_back(index(other));
      for (const std::string& parent : yields[name]) rule.yields_to.push_back(index(parent));
      for (auto* list : {&rule.findings, &rule.yields_to}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
    }
    pack.verdict = collection.verdict;
  }
};

}  // namespace

void assemble(Collection& collection, stream::Pack& pack) { Assembly{collection, pack}.run(); }

}  // namespace tocsin::dsl
