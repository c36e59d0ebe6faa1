// What a pack declares, for readers: its rules with their parameters, and its signals.
#include <utility>

#include "dsl/load/reference.h"
#include "dsl/lua/durations.h"
#include "stream/rules/alert.h"

namespace tocsin::dsl {
namespace {

using stream::Rule;

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}
std::string code(const std::string& text) { return "`" + text + "`"; }

std::string shown_default(const stream::Scalar& value) {
  if (const auto* number = std::get_if<double>(&value)) return shown(*number);
  return '"' + std::get<std::string>(value) + '"';
}

std::string triggers(const Rule& rule, const stream::SignalTable& signals) {
  std::vector<std::string> all;
  for (const stream::Trigger& trigger : rule.every) switch (trigger.kind) {
      case stream::Trigger::Kind::period: all.push_back("every " + shown(trigger.period)); break;
      case stream::Trigger::Kind::record: all.push_back("at each " + code(signals[trigger.signal].name)); break;
      case stream::Trigger::Kind::end: all.push_back("at the end"); break;
    }
  return joined(all);
}

// Once is enough where nothing is declared.
void persistence(const char* what, const stream::Persistence& of, std::vector<std::string>& parts) {
  if (of.timed || of.n > 1) parts.push_back(what + shown(of));
}

std::string chapter_of(const Rule& rule, const stream::Pack& pack) {
  std::string out = "\n## " + rule.name + "\n\n";
  if (!rule.summary.empty()) out += rule.summary + ". ";
  std::vector<std::string> parts;
  if (!rule.family.empty())
    parts.push_back("Family " + stream::with_words(rule.family, pack.verdict.words(rule.family)));
  parts.push_back(rule.severity == stream::Severity::none ? "A finding" : std::string{stream::name(rule.severity)});
  parts.push_back("per " + std::string{stream::name(rule.per)});
  parts.push_back(triggers(rule, pack.signals));
  persistence("fires: ", rule.fire, parts);
  persistence("clears: ", rule.clear, parts);
  out += joined(parts) + ".";
  std::vector<std::string> signals, findings, parents;
  for (const stream::SignalId id : rule.signals) signals.push_back(code(pack.signals[id].name));
  for (const auto index : rule.findings) findings.push_back(code(pack.rules[static_cast<std::size_t>(index)].name));
  for (const auto index : rule.yields_to) parents.push_back(code(pack.rules[static_cast<std::size_t>(index)].name));
  if (!signals.empty()) out += " Reads " + joined(signals) + ".";
  if (!findings.empty()) out += " Built on " + joined(findings) + ".";
  if (!parents.empty()) out += " Yields to " + joined(parents) + ".";
  out += " " + rule.file + ":" + std::to_string(rule.line) + "\n";
  if (!rule.params.empty()) out += "\n| Parameter | Default |\n|---|---|\n";
  for (const auto& [name, value] : rule.params) out += "| " + code(name) + " | " + code(shown_default(value)) + " |\n";
  return out;
}

}  // namespace

std::string reference_of(const stream::Pack& pack) {
  std::string out = "# Rules\n\n`tune \"name\" { params = { … } }` changes parameters.\n";
  for (const Rule& rule : pack.rules) out += chapter_of(rule, pack);
  out +=
      "\n# Signals\n\n| Signal | Kind | Unit | Owner | Source | Other names | Meaning "
      "|\n|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < pack.signals.size(); ++i) {
    const stream::SignalDefinition& signal = pack.signals[static_cast<stream::SignalId>(i)];
    std::vector<std::string> aliases;
    for (const auto& alias : signal.aliases) aliases.push_back(code(alias.name));
    out += "| " + code(signal.name) + " | " + std::string{stream::name(signal.kind)} + " | " + signal.unit + " | " +
           std::string{stream::name(signal.owner)} + " | " + signal.source + " | " + joined(aliases) + " | " +
           signal.documentation + " |\n";
  }
  return out;
}

}  // namespace tocsin::dsl
