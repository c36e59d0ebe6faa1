#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

// What random tests begin from. The environment variable TOCSIN_SEED sets it; each test prints it, so that what failed can be repeated.
namespace tocsin::test {

[[nodiscard]] inline std::optional<std::uint32_t> given_seed() {
  const char* given = std::getenv("TOCSIN_SEED");
  if (given == nullptr || *given == '\0') return std::nullopt;
  return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

// The seed of one test; without a default a random one.
[[nodiscard]] inline std::uint32_t seed(std::optional<std::uint32_t> otherwise = std::nullopt) {
  const auto given = given_seed();
  const std::uint32_t chosen = given ? *given : otherwise ? *otherwise : std::random_device{}();
  MESSAGE("TOCSIN_SEED=" << chosen);
  return chosen;
}

// The seeds of a test that runs once with each: `count` from a first one, which is random without a default. TOCSIN_SEED=n: n alone.
[[nodiscard]] inline std::vector<std::uint32_t> seeds(std::uint32_t count, std::optional<std::uint32_t> otherwise = std::nullopt) {
  if (given_seed()) count = 1;
  const std::uint32_t first = seed(otherwise);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

}  // namespace tocsin::test
