#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dsl/load/loader.h"
#include "dsl/load/text_definitions.h"
#include "dsl/text/extraction.h"
#include "schemas/codec.h"
#include "stream/job/shard.h"

// How benchmarks load a pack and judge a log by it.
namespace tocsin::bench {

// The files of a directory of rules; ends the program where they cannot be read.
inline dsl::PackFiles pack_files(const char* directory) {
  auto files = dsl::read_pack(directory);
  if (!files) std::fprintf(stderr, "%s\n", files.error().message.c_str()), std::exit(2);
  return *std::move(files);
}

// The pack of these files; ends the program with all its problems.
inline stream::LoadedPack load_pack(const dsl::PackFiles& files, const dsl::Budgets& budgets = {}) {
  auto loaded = dsl::load(files, budgets);
  if (!loaded.pack) {
    for (const auto& problem : loaded.problems) std::fprintf(stderr, "%s\n", dsl::describe(problem).c_str());
    std::exit(2);
  }
  return {loaded.pack, dsl::compile_text(files).extraction};
}

// Counts what is reported, and keeps the first of it: most loads are healthy.
struct Transitions final : stream::AlertSink {
  void transition(const stream::AlertTransition& t) override {
    if (++count == 1) first = t.subject + ": " + t.rule + ": " + t.shows;
  }
  void verdict(const stream::Verdict&) override {}
  std::uint64_t count = 0;
  std::string first;
};

// A shard, and how its log is read: the positions of messages are their numbers.
template <class Sink>
struct Engine {
  explicit Engine(stream::LoadedPack pack, stream::PackSource* packs = nullptr) : shard(std::move(pack), packs, sink) {}
  void consume(std::span<const std::byte> message, stream::Time arrival) {
    const auto entry =
        decoder.decode(message, static_cast<stream::Position>(at), static_cast<stream::Position>(at + 1), arrival);
    if (!entry) std::fprintf(stderr, "message %zu: %s\n", std::size_t{at}, entry.error().message.c_str()), std::exit(1);
    ++at;
    shard.consume(**entry);
  }
  Sink sink;
  stream::Shard shard;
  schemas::Decoder decoder;
  std::uint64_t at = 0;
};

}  // namespace tocsin::bench
