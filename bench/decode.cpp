// Decoding messages of many, some and one sample; 1,024 ranks take turns. Items are samples.
#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <vector>

#include "schemas/codec.h"

using namespace tocsin;
using schemas::EntryBuilder;

namespace {

constexpr std::uint32_t ranks = 1024;

// One message for each set of `members` consecutive ranks, each with `signals` values.
std::vector<std::vector<std::byte>> messages(std::uint32_t members, std::size_t signals) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < signals; ++i) names.push_back("signal_" + std::to_string(i));
  std::vector<std::vector<std::byte>> out;
  for (std::uint32_t first = 0; first + members <= ranks; first += members) {
    EntryBuilder builder;
    builder.about("llama-70b", "1");
    builder.produced_by("recorder/node-17", 1, first + 1);
    for (std::uint32_t rank = first; rank < first + members; ++rank) {
      std::vector<EntryBuilder::Value> values;
      for (const auto& name : names) values.push_back({name, 0.25 * rank, {}, false});
      builder.sample(stream::at_nanoseconds(1'700'000'000'000'000'000), EntryBuilder::rank(rank), values);
    }
    out.push_back(schemas::encode(builder.entry()));
  }
  return out;
}

void decode(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  const auto signals = static_cast<std::size_t>(state.range(1));
  const auto all = messages(members, signals);
  schemas::Decoder decoder;
  std::size_t next = 0, bytes = 0;
  for (auto _ : state) {
    const auto& message = all[next];
    next = next + 1 == all.size() ? 0 : next + 1;
    const auto entry = decoder.decode(message, {}, {}, stream::at_nanoseconds(1'700'000'000'000'000'000));
    benchmark::DoNotOptimize((*entry)->samples.front().narrow.data());
    bytes += message.size();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(members * signals));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void encode(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  const auto signals = static_cast<std::size_t>(state.range(1));
  schemas::Decoder decoder;
  const auto message = messages(members, signals).front();
  const auto entry = decoder.decode(message, {}, {}, {});
  schemas::Encoder encoder;
  for (auto _ : state) benchmark::DoNotOptimize(encoder.encode(**entry).data());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(members * signals));
}

}  // namespace

BENCHMARK(decode)
    ->ArgNames({"members", "signals"})
    ->Args({1000, 1})
    ->Args({20, 50})
    ->Args({1, 50})
    ->Args({50, 1})
    ->Args({1, 1});
BENCHMARK(encode)->ArgNames({"members", "signals"})->Args({1000, 1})->Args({1, 50})->Args({1, 1});
BENCHMARK_MAIN();
