#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dsl/text/definitions.h"

namespace tocsin::dsl::text {

// What RE2 accepts of a definition's line, and its author can hardly mean: what it does, and what to write.
struct Slip {
  std::string message;
  bool warning = false;  // it can be meant
};
[[nodiscard]] std::optional<Slip> slip_in(const std::string& expression);

// A named group between the brackets of a set is none: the set, and what to write. Empty: there is no such group.
[[nodiscard]] std::string group_in_set(std::string_view expression);

// Whether the text is a line of the definition, by its expressions alone.
[[nodiscard]] bool occurs_in(const Definition& definition, const std::string& text);

}  // namespace tocsin::dsl::text
