#include "stream/values/signal.h"

namespace tocsin::stream {

Result<SignalId> SignalTable::add(SignalDefinition definition) {
  const auto id = static_cast<SignalId>(definitions_.size());
  if (!by_name_.emplace(definition.name, Entry{id, 1.0}).second)
    return Error{Errc::refused, "signal '" + definition.name + "' is defined twice: remove one"};
  for (const auto& alias : definition.aliases)
    if (!by_name_.emplace(alias.name, Entry{id, alias.factor}).second) {
      std::erase_if(by_name_, [id](const auto& known) { return known.second.id == id; });
      return Error{Errc::refused,
                   "'" + alias.name + "', an alias of '" + definition.name + "', names another signal already"};
    }
  sources_.insert(definition.source);
  definitions_.push_back(std::move(definition));
  return id;
}

void SignalTable::load(Reader& in) {
  std::vector<SignalDefinition> definitions;
  in(1, definitions), in(2, coordinates_);
  for (SignalDefinition& definition : definitions)
    if (const auto added = add(std::move(definition)); !added) return in.fail(added.error());
}

std::optional<SignalId> SignalTable::find(std::string_view name) const {
  const auto found = by_name_.find(std::string{name});
  if (found == by_name_.end()) return std::nullopt;
  return found->second.id;
}

double SignalTable::factor(std::string_view name) const {
  const auto found = by_name_.find(std::string{name});
  return found == by_name_.end() ? 1.0 : found->second.factor;
}

void SignalTable::add_coordinate(std::string name, Level owner) { coordinates_.emplace_back(std::move(name), owner); }

std::optional<Level> SignalTable::coordinate(std::string_view name) const {
  for (const auto& [known, owner] : coordinates_)
    if (known == name) return owner;
  return std::nullopt;
}

}  // namespace tocsin::stream
