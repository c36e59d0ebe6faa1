#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

// What random tests begin from: each has a seed of its own, so that a run says the same as the last. The environment
// variable TOCSIN_SEED sets it, TOCSIN_SEED=random draws one; each test prints it, so that what failed can be repeated.
namespace tocsin::test {

[[nodiscard]] inline std::optional<std::uint32_t> given_seed() {
  const char* given = std::getenv("TOCSIN_SEED");
  if (given == nullptr || *given == '\0') return std::nullopt;
  if (std::string_view{given} == "random") return std::random_device{}();
  return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

// The seed of one test.
[[nodiscard]] inline std::uint32_t seed(std::uint32_t otherwise = 1) {
  const std::uint32_t chosen = given_seed().value_or(otherwise);
  MESSAGE("TOCSIN_SEED=" << chosen);
  return chosen;
}

// The seeds of a test that runs once with each: `count` from a first one. TOCSIN_SEED=n: n alone.
[[nodiscard]] inline std::vector<std::uint32_t> seeds(std::uint32_t count, std::uint32_t otherwise = 1) {
  if (given_seed()) count = 1;
  const std::uint32_t first = seed(otherwise);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

// How often a test tries what takes long: sanitized code is many times slower, and tries a fifth.
[[nodiscard]] constexpr std::uint32_t tries(std::uint32_t all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return (all + 4) / 5;
#else
  return all;
#endif
}

}  // namespace tocsin::test
