#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/values/signal.h"
#include "stream/values/time.h"

namespace tocsin::stream {

enum class AlertState : std::uint8_t { firing = 1, resolved };  // numbers of the wire format
enum class ResolveReason : std::uint8_t { none, cleared, no_data, explained, attempt_ended, rule_removed };
[[nodiscard]] std::string_view name(AlertState state) noexcept;
[[nodiscard]] std::string_view name(ResolveReason reason) noexcept;

// A member in an alert, with owned strings.
struct NamedMember {
  Level level = Level::job;
  std::optional<std::uint32_t> rank;
  std::string node, gpu, rack;
  std::optional<std::uint64_t> pid{};  // where the rule gives it
  friend bool operator==(const NamedMember&, const NamedMember&) = default;
  static void fields(auto& self, auto& archive) {
    archive(1, self.level), archive(2, self.rank), archive(3, self.node), archive(4, self.gpu), archive(5, self.rack),
        archive(6, self.pid);
  }
};
[[nodiscard]] std::string describe(const NamedMember& member);  // "rank 3 on n1", "the job"
// A family's code with its words: "C2, collective hang".
[[nodiscard]] std::string with_words(const std::string& family, const std::string& words);

// What an alert says of its member, as of the tick at which it fires.
struct Finding {
  std::string shows;                                         // what the data shows
  std::vector<std::pair<std::string, std::string>> implies;  // causes whose condition is yes: name, text
  std::vector<std::string> actions;                          // what to do, with the names filled in
  std::string not_known;                                     // what would change the answer, in one line
  std::vector<std::string> cannot_decide;                    // causes and assumptions that are unknown
  std::vector<std::pair<std::string, double>> evidence;      // values for the member, by name
  std::vector<std::pair<std::string, std::string>> evidence_texts;
  std::vector<NamedMember> who;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// The rule that summary alerts name: those about more alerts than the limit. No rule of a pack has this name.
constexpr std::string_view limit_rule = "alert_limit";

// A published change of an alert's state. (id, number) is permanent: a repeat has the same pair. A resolved one has of
// its finding what was shown and what to do.
struct AlertTransition : Finding {
  std::uint64_t id = 0;      // hash(rule, subject, attempt, member, first T)
  std::uint32_t number = 0;  // 1: firing
  std::string rule, family, family_words, subject, attempt, summary, runbook, owner;
  Severity severity = Severity::warning;
  Mode mode = Mode::live;
  NamedMember member;
  AlertState state = AlertState::firing;
  ResolveReason reason = ResolveReason::none;
  std::string explained_by;                   // the name of a rule, if the reason is explained
  std::map<std::string, std::string> labels;  // of the job
  Time since{};                               // first T: that of pending
  Time at{};                                  // T of this transition
};

// The result for one family in a verdict.
enum class Standing : std::uint8_t { in, out, undecidable };

struct Verdict {
  std::string subject, attempt;
  Time ended{};
  std::string end_reason;
  bool training = true;  // a step or a loss was seen, or several ranks
  std::string family;    // empty: none fired
  std::string family_words;
  struct Line {
    std::string family;
    Standing standing;
    std::vector<std::string> rules, missing;
    std::string words{};
  };
  std::vector<Line> families;
  std::vector<std::string> shows, cannot_decide;
  std::vector<std::string> quarantined;         // rules that failed: "rule (file:line): message"
  std::map<std::string, std::string> labels{};  // of the job
};

// The destination of alerts and verdicts. The journal's sink writes the history beside the journal; the terminal's
// prints.
class AlertSink {
 public:
  virtual ~AlertSink() = default;
  virtual void transition(const AlertTransition& transition) = 0;
  virtual void verdict(const Verdict& verdict) = 0;
};

}  // namespace tocsin::stream
