#pragma once

#include <memory>

#include "dsl/load/loader.h"
#include "stream/rules/scripts.h"

namespace tocsin::dsl {

// Makes the hosts of a pack's scripted rules. Each reads the pack's text again, into its own Lua state, and keeps only
// the functions of those rules.
[[nodiscard]] std::shared_ptr<const stream::ScriptSource> script_source(const Budgets& budgets);

}  // namespace tocsin::dsl
