#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "schemas/codec.h"
#include "tests/schemas/entries.h"

// A small block of samples, and how many blocks of a message with another one are rejected.
namespace tocsin::tests {

// Reads all that an entry shows, so that a sanitizer sees each byte.
inline std::size_t touch(const stream::Entry& entry) {
  for (const auto& block : entry.samples) {
    CHECK(block.narrow.size() + block.wide.size() == block.size());
    CHECK((block.present.empty() || block.present.size() == (block.size() + 7) / 8));
  }
  return in_words(entry).size();
}

inline stream::SampleBlock a_block() {
  static const stream::SampleBlock::Signal signal{"loss", "", stream::SignalKind::gauge};
  static const std::array members{stream::MemberKey{stream::Level::rank, 0, {}, {}},
                                  stream::MemberKey{stream::Level::rank, 1, {}, {}}};
  static const std::array times{at(1), at(2)};
  static const std::array values{1.f, 2.f, 3.f, 4.f};
  stream::SampleBlock block;
  block.signals = {&signal, 1};
  block.members = members;
  block.times = times;
  block.narrow = values;
  return block;
}

inline std::uint32_t rejected(const stream::SampleBlock& bad) {
  const std::array blocks{a_block(), bad, a_block()};
  stream::Entry entry;
  entry.subject = "j";
  entry.samples = blocks;
  schemas::Decoder decoder;
  const auto read = decoder.decode(schemas::encode(entry), {}, {}, at(1));
  REQUIRE(read);
  CHECK((*read)->samples.size() + (*read)->rejected_blocks == 3);
  touch(**read);
  return (*read)->rejected_blocks;
}

}  // namespace tocsin::tests
