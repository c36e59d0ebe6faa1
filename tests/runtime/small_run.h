#pragma once

#include "tests/stream_engine/generated_log.h"

// What the tests of the runner and of the loop judge.
namespace tocsin::tests {

inline const stream::LoadedPack& pack() {
  static const stream::LoadedPack loaded = shipped_pack();
  return loaded;
}

// Three jobs, in which the shipped pack finds something.
inline const GeneratedLog& log() {
  static const GeneratedLog generated = generate({.seed = 7, .jobs = 3, .ranks = 4, .seconds = 240});
  return generated;
}

}  // namespace tocsin::tests
