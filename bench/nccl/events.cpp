// What the profiler plugin costs NCCL: the time that its handlers take, over the interface as NCCL calls it.
//
// collective: all calls for an operation of four channels (its call, group, launch, and each channel's begin and end).
// step: all calls for one step of the proxy (begin, three states, end).

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "adapters/nccl/profiler/interface.h"

using namespace tocsin::adapters::nccl;

namespace {

struct Loaded {
  const Profiler* profiler = nullptr;
  void* context = nullptr;
};

const Loaded& loaded() {
  static const Loaded result = [] {
    const auto directory = std::filesystem::temp_directory_path() / ("bench-nccl-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    ::setenv("TOCSIN_NCCL_DIR", directory.c_str(), 1);
    Loaded it;
    void* library = ::dlopen(NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    it.profiler = library == nullptr ? nullptr : static_cast<const Profiler*>(::dlsym(library, "ncclProfiler_v6"));
    int mask = 0;
    if (it.profiler == nullptr || it.profiler->init(&it.context, 1, &mask, "world", 1, 8, 0, nullptr) != success ||
        mask == 0)
      std::abort();
    std::filesystem::remove_all(directory);
    return it;
  }();
  return result;
}

void* start(std::uint64_t type, Descriptor& event) {
  void* handle = nullptr;
  event.type = type;
  loaded().profiler->start_event(loaded().context, &handle, &event);
  return handle;
}

void* launch() {
  const auto& [profiler, context] = loaded();
  Descriptor call{}, operation{}, group{};
  void* const outer = start(event_group_call, call);
  call.collective_call = {"AllReduce", 1 << 20, "ncclFloat32", 0, nullptr, false};
  void* const inner = start(event_collective_call, call);
  profiler->stop_event(inner);
  void* const plan = start(event_group, group);
  operation.parent = inner;
  operation.collective = {1, "AllReduce", nullptr, nullptr, 1 << 20, 0, "ncclFloat32", 4, 16, "RING", "SIMPLE", plan};
  void* const result = start(event_collective, operation);
  profiler->stop_event(result);
  profiler->stop_event(plan);
  if (outer != nullptr) profiler->stop_event(outer);
  return result;
}

void collective(benchmark::State& state) {
  const auto& [profiler, context] = loaded();
  for (auto _ : state) {
    Descriptor channel{};
    channel.parent = launch();
    void* channels[4];
    for (std::uint8_t i = 0; i < 4; ++i) {
      channel.kernel_channel = {i, 1000};
      channels[i] = start(event_kernel_channel, channel);
    }
    StateArguments end{};
    end.kernel_channel.gpu_time = 2000;
    for (void* it : channels) profiler->record_state(it, kernel_channel_stop, &end), profiler->stop_event(it);
  }
}
BENCHMARK(collective);

void step(benchmark::State& state) {
  const auto& [profiler, context] = loaded();
  Descriptor operation{}, of_step{};
  operation.parent = launch();
  operation.proxy_operation = {::getpid(), 0, 1, 1 << 20, 1 << 19, 1};
  of_step.parent = start(event_proxy_operation, operation);
  StateArguments arguments{};
  profiler->record_state(of_step.parent, proxy_operation_in_progress, &arguments);
  for (auto _ : state) {
    void* const it = start(event_proxy_step, of_step);
    for (const int at : {step_send_gpu_wait, step_send_peer_wait, step_send_wait})
      profiler->record_state(it, at, &arguments);
    profiler->stop_event(it);
  }
}
BENCHMARK(step);

}  // namespace

BENCHMARK_MAIN();
