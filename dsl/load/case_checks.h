#pragma once

#include "dsl/load/collection.h"

namespace tocsin::dsl {

// Checks that what cases name exists (signals, rules, causes, members), and that each value is one that its signal can
// have: what is given in vain would make a case pass that tests nothing. After all files are read.
void check_cases(const Collection& collection);

}  // namespace tocsin::dsl
