#pragma once

#include <string>
#include <vector>

#include "dsl/load/loader.h"

namespace tocsin::dsl {

// A `tune` of a rule or a signal, and each thing that it changes: "params.ratio = 1.5 (it was 1.2)".
struct Tuned {
  std::string name, file;
  int line = 0;
  std::vector<std::string> changes;
};
// In the order in which they are applied. Of files that load; of others what could be read.
[[nodiscard]] std::vector<Tuned> tuned(const PackFiles& files, const Budgets& budgets = {});

}  // namespace tocsin::dsl
