#pragma once

#include <doctest/doctest.h>

#include <string>

#include "tests/dsl/sample_pack.h"

// What the loader says of a rule with a mistake.
namespace tocsin::dsl::test {

// The lines of a rule's body begin at line 8 of its file.
inline std::string reported(const std::string& body, const std::string& head = "", const std::string& per = "gpu") {
  return problems_of(load_rules(rule_text(body, head, per)));
}
inline std::string at(int line, const std::string& message, const std::string& source) {
  return "site.lua:" + std::to_string(line) + ": [r] " + message + "\n    " + source + "\n";
}
inline std::string only(const std::string& message, const std::string& body) { return at(8, message, body); }
inline bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE(text);
  return false;
}

}  // namespace tocsin::dsl::test
