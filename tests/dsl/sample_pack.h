#pragma once

#include <string>

#include "dsl/load/loader.h"

namespace tocsin::dsl::test {

// A small signals.lua of every kind, for packs of one rule.
std::string sample_signals();
// A pack of this file beside them.
PackFiles pack_of(const std::string& rules, const std::string& file = "site.lua");
// A rule that loads: `head` goes into its table, `body` into evaluate.
std::string rule_text(const std::string& body, const std::string& head = "", const std::string& per = "gpu");

Loaded load_rules(const std::string& rules);
// Every problem on its own lines; "" where there is none.
std::string problems_of(const Loaded& loaded, bool warnings = false);
const stream::Rule& rule(const Loaded& loaded, const std::string& name);

}  // namespace tocsin::dsl::test
