#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/values/record.h"
#include "stream/values/signal.h"
#include "stream/values/time.h"
#include "stream/values/value.h"

namespace tocsin::stream {

class ScriptSource;

enum class Severity : std::uint8_t { none, info, warning, critical };
enum class Mode : std::uint8_t { live, canary, shadow };
[[nodiscard]] std::string_view name(Severity severity) noexcept;
[[nodiscard]] std::string_view name(Mode mode) noexcept;
// What a rule judges, and its state and alerts last for: an attempt, the job with all its attempts, or the cluster.
enum class Scope : std::uint8_t { attempt, job, cluster };

// When a rule is evaluated: on the grid of a period, at each record of a need's signal, or once at the attempt's end.
struct Trigger {
  enum class Kind : std::uint8_t { period, record, end };
  Kind kind = Kind::period;
  Duration period{};
  SignalId signal{};
  static void fields(auto& self, auto& archive) {
    auto& [kind, period, signal] = self;
    archive(1, kind), archive(2, period), archive(3, signal);
  }
};

// "k of n" evaluations, "for d", or both: "k of n for d".
struct Persistence {
  bool timed = false;
  std::uint32_t k = 1, n = 1;  // 0: evaluations are not counted
  Duration span{};
  static void fields(auto& self, auto& archive) {
    auto& [timed, k, n, span] = self;
    archive(1, timed), archive(2, k), archive(3, n), archive(4, span);
  }
};

// A text with places for values: "rank {rank} tried to allocate {tried}[ of {total}]".
struct TextTemplate {
  struct Place {
    // culprit: the rank, gpu, node or rack of each member that `who` names; label: of the job
    enum class Kind : std::uint8_t { value, who, parameter, member, culprit, label };
    Kind kind = Kind::value;
    std::string name;       // of the value, the parameter, the label, or the member's level
    char conversion = 'g';  // f g e d % (a ratio in percent) s
    int precision = -1;
    static void fields(auto& self, auto& archive) {
      auto& [kind, name, conversion, precision] = self;
      archive(1, kind), archive(2, name), archive(3, conversion), archive(4, precision);
    }
  };
  // Shown whole, or left out if one of its values is unknown. Outside brackets the whole clause is then left out: the
  // text between semicolons or commas.
  struct Part {
    bool optional = false;                             // it stood in brackets
    bool clause = false;                               // a clause begins with it
    std::vector<std::string> literals{std::string{}};  // one more than places
    std::vector<Place> places{};
    static void fields(auto& self, auto& archive) {
      auto& [optional, clause, literals, places] = self;
      archive(1, optional), archive(2, clause), archive(3, literals), archive(4, places);
    }
  };
  std::vector<Part> parts;
  static void fields(auto& self, auto& archive) { archive(1, self.parts); }

  void each_place(auto&& visit) const {
    for (const Part& part : parts)
      for (const Place& place : part.places) visit(place);
  }
};
// Alternatives: the first is given whose values outside brackets are all known.
using Texts = std::vector<TextTemplate>;

struct Output {  // a value of the second table that evaluate returns
  std::string name;
  NodeId node{};
  static void fields(auto& self, auto& archive) {
    auto& [name, node] = self;
    archive(1, name), archive(2, node);
  }
};
struct Cause {
  std::string name;
  NodeId node{};  // a mask
  Texts texts;
  static void fields(auto& self, auto& archive) {
    auto& [name, node, texts] = self;
    archive(1, name), archive(2, node), archive(3, texts);
  }
};
// What to do where a cause is yes. An instruction is given whole or not at all.
struct Action {
  std::string cause;  // empty: where no other action applies
  Texts texts;
  static void fields(auto& self, auto& archive) {
    auto& [cause, texts] = self;
    archive(1, cause), archive(2, texts);
  }
};
struct StateField {
  std::string name;
  double initial = 0;
  std::optional<NodeId> write;  // the value assigned after the evaluation
  static void fields(auto& self, auto& archive) {
    auto& [name, initial, write] = self;
    archive(1, name), archive(2, initial), archive(3, write);
  }
};

// Whether a label may have this value, or be missing (nullptr): one of the patterns fits, and none of those after a
// "!". A "*" in a pattern stands for any letters. With "!" alone, others and a missing label are allowed.
[[nodiscard]] bool allows(const std::vector<std::string>& patterns, const std::string* value);

// One rule, ready to run. Built by the loader.
struct Rule {
  std::string name, family, summary, file;
  int line = 0;
  std::uint64_t source_hash = 0;               // of the text of its file, and of those that it names
  Severity severity = Severity::warning;       // of an alert, or the highest that it can have
  std::map<std::string, Severity> severities;  // of alerts by cause, and "otherwise"; or empty
  std::string runbook, owner;                  // an address, a team; or empty
  Mode mode = Mode::live;
  Scope scope = Scope::attempt;
  Level per = Level::job;
  std::vector<Trigger> every;
  Persistence fire, clear;
  std::vector<RuleIndex> yields_to;
  std::vector<RuleIndex> findings;                       // rules that it is built on
  std::map<std::string, std::vector<std::string>> jobs;  // what labels of a job allow
  std::vector<std::string> peers;
  std::map<std::string, Scalar> params;
  std::vector<StateField> state;
  std::vector<SignalId> signals;  // of its needs
  // Name and window (or finding) node; of a compiled rule, a node that reads it.
  std::vector<std::pair<std::string, NodeId>> needs;

  Duration settle{};  // L: the largest lateness of its needs and of every rule that it reaches through findings and
                      // yields_to
  std::uint32_t depth = 0;        // in findings: after the rules it is built on
  std::uint32_t yield_depth = 0;  // in yields_to: after its parents

  std::optional<std::string> scripted;  // the line that made it scripted; empty for a compiled rule
  NodeId answer{};                      // of a compiled rule
  std::vector<NodeId> hot;              // what answer and state need, in order of evaluation
  FewNodes hot_set;                     // the same, by Pack::derive()
  std::vector<NodeId> cold;             // what outputs, causes and who need besides
  std::vector<Output> outputs, locals;  // values that evaluate returns; those of its local variables, for explain
  std::optional<NodeId> who;
  std::vector<Cause> causes;
  std::vector<Action> actions;
  Texts shows;

  // By Pack::derive():
  std::vector<RuleIndex> yielding;  // the rules that yield to it
  std::uint64_t name_hash = 0;
  bool often = false;  // most jobs evaluate it: not one for the end or of events alone, nor of the cluster

  static void fields(auto& self, auto& archive);

  // Whether it judges this subject.
  [[nodiscard]] bool judges(std::string_view subject) const noexcept {
    return (scope == Scope::cluster) == (subject == cluster_subject);
  }
};

// How families relate in an attempt's verdict: rules/verdict.lua.
struct VerdictPolicy {
  std::vector<std::string> precedence;  // families, the strongest first
  std::map<std::string, std::vector<std::string>>
      explains;  // a family, and those that are its consequences if they began later
  std::vector<std::string>
      passes;  // families that are past if they cleared, and the attempt completed or another had not
  std::map<std::string, std::string> families;  // each code in words: C2, "collective hang"

  [[nodiscard]] std::string words(const std::string& family) const;  // empty: none
  static void fields(auto& self, auto& archive) {
    auto& [precedence, explains, passes, families] = self;
    archive(1, precedence), archive(2, explains), archive(3, passes), archive(4, families);
  }
};

// All rules, signals and settings that change results. Constant once it is published: shards on several threads share
// one pack, and what changes during evaluation belongs to each shard (ScriptRuntime).
struct Pack {
  SignalTable signals;
  std::unique_ptr<const Graph> graph;
  std::vector<Rule> rules;  // sorted by name
  VerdictPolicy verdict;
  std::shared_ptr<const ScriptSource> scripts;  // null if every rule is compiled
  std::string hash;                             // of the files, hex
  std::string text;                             // the files, as a pack record carries them
  std::uint32_t alert_limit = 1000;             // open alerts a subject

  // Once the rules are complete: what they have that follows from the rest.
  void derive();
  // Once the nodes are, too: those of rules that are evaluated often are numbered first.
  void order(Graph& of) const;
  // All but the scripts and the text.
  void save(Writer& out) const;
  void load(Reader& in);  // into an empty pack, which stays where it is: its graph refers to its signals
};
using PackPtr = std::shared_ptr<const Pack>;

// Of a pack that has rules of the cluster: for each node of its graph, whether a rule that judges the subject uses it.
// Of any other pack empty, for all are used.
[[nodiscard]] std::vector<bool> judged_nodes(const Pack& pack, std::string_view subject);

}  // namespace tocsin::stream
