#include "dsl/load/collection.h"
#include "dsl/lua/problems.h"

namespace tocsin::dsl {

std::vector<std::string> Collection::signal_names() const {
  std::vector<std::string> names;
  for (const auto& [name, meant] : names_of_signals) names.push_back(name);
  return names;
}

std::vector<std::string> Collection::rule_names() const {
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules) names.push_back(name);
  return names;
}

void Collection::no_signal(const std::string& file, int line, const std::string& name) const {
  if (!signals_read) return;
  const std::string meant = nearest(name, signal_names());
  problems->add(file, line, "no signal '" + name + "' in signals.lua" + (meant.empty() ? ": declare it there" : meant));
}

void Collection::no_rule(const std::string& file, int line, const std::string& name, const std::string& where) const {
  if (!rules_read) return;
  const std::string meant = nearest(name, rule_names());
  problems->add(file, line,
                where + "no rule '" + name + "'" +
                    (meant.empty() ? " in this directory: add its file, or take the name out" : meant));
}

const stream::SignalDefinition* Collection::find_signal(const std::string& name) const {
  const auto meant = names_of_signals.find(name);
  if (meant == names_of_signals.end()) return nullptr;
  const auto found = signals.find(meant->second.signal);
  return found == signals.end() ? nullptr : &found->second;
}

}  // namespace tocsin::dsl
