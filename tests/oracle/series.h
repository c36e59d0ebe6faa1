#pragma once

#include <vector>

#include "tests/oracle/windows.h"

namespace tocsin::oracle {

// One reduction over the values of a window, oldest first. `number`: q, n of first(n), bits, span.
[[nodiscard]] Number reduce_values(stream::Op op, double number, Number goal,
                                   const std::vector<WindowOracle::Value>& all);

// Whether the engine's value of a reduction is that of the oracle, but for what rounding in another order leaves; an
// interval is kept with 12 significant bits.
[[nodiscard]] bool near(stream::Op op, const Number& expected, double value);

}  // namespace tocsin::oracle
