#pragma once

#include <cstdint>
#include <string>

namespace tocsin::dsl::test {

// The text of a rule over the sample signals, drawn from this seed: any word of columns and masks in any place where its shape,
// level and unit allow it. It loads without a problem.
std::string random_rule(std::uint64_t seed, const std::string& name);

}  // namespace tocsin::dsl::test
