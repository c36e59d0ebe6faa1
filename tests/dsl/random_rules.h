#pragma once

#include <cstdint>
#include <string>

namespace tocsin::dsl::test {

// The text of a rule over the sample signals, drawn from this seed: any word of windows, columns and masks in any place
// where its shape, level and unit allow it. It loads without a problem.
std::string random_rule(std::uint64_t seed, const std::string& name);

// Several of them, r0 and on: with different times between ticks, with `fire` and `clear`, and each with findings of
// those before it.
std::string random_rules(std::uint64_t seed, std::size_t count);

}  // namespace tocsin::dsl::test
