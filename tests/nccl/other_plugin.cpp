// A profiler plugin with one interface (VERSION), which writes a line for each call into the file named by
// OTHER_RECORD. It asks for the events of OTHER_MASK; its handles are the numbers of its events.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "adapters/nccl/profiler/interface.h"

using namespace tocsin::adapters::nccl;

namespace {

std::uintptr_t events = 0;
int contexts = 0;
int* mask_of_nccl = nullptr;

template <class... Arguments>
void note(const char* format, Arguments... arguments) {
  std::FILE* file = std::fopen(std::getenv("OTHER_RECORD"), "a");
  if (file == nullptr) return;
  std::fprintf(file, format, arguments...);
  std::fputc('\n', file);
  std::fclose(file);
}

unsigned long number(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

int init(void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank, Log) {
  const char* wanted = std::getenv("OTHER_MASK");
  *mask = wanted != nullptr ? std::atoi(wanted) : 0;
  mask_of_nccl = mask;
  if (std::getenv("OTHER_REFUSES") != nullptr) return 2;
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(100 + contexts++));
  note("init %lu: %lx %s %d %d %d", number(*context), static_cast<unsigned long>(hash), name == nullptr ? "-" : name,
       nodes, ranks, rank);
  return success;
}

#if VERSION == 4
int init_4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank, Log log) {
  return init(context, hash, mask, name, nodes, ranks, rank, log);
}
using Event = Descriptor4;
#else
using Event = Descriptor;
#endif

int start(void* context, void** handle, Event* event) {
  *handle = reinterpret_cast<void*>(++events);
  Descriptor d{};
  std::memcpy(static_cast<void*>(&d), event,
              VERSION == 4   ? sizeof(Descriptor4)
              : VERSION == 5 ? size_of_descriptor_5
                             : sizeof d);
  if (VERSION == 4) d.type &= 0xff;
  char more[128] = "";
  if (d.type == event_collective) {
    const unsigned long group = VERSION == 4 ? 0 : number(d.collective.group);
    std::snprintf(more, sizeof more, " %s %zu group %lu", d.collective.function, d.collective.count, group);
  } else if (d.type == event_kernel_channel) {
    std::snprintf(more, sizeof more, " channel %d", d.kernel_channel.channel);
  } else if (d.type == event_proxy_operation) {
    std::snprintf(more, sizeof more, " peer %d of %s", d.proxy_operation.peer,
                  d.proxy_operation.pid == 4711 ? "another" : "own");
  }
  note("start %lu: type %lu in %lu of %lu%s", number(*handle), static_cast<unsigned long>(d.type), number(context),
       number(d.parent), more);
  return success;
}
int stop(void* handle) {
  note("stop %lu", number(handle));
  if (std::getenv("OTHER_ASKS_LATER") != nullptr) __atomic_store_n(mask_of_nccl, 1 << 5, __ATOMIC_RELAXED);
  return success;
}
int record(void* handle, int state, StateArguments*) {
  note("state %lu: %d", number(handle), state);
  return success;
}
int finalize(void* context) {
  note("finalize %lu", number(context));
  return success;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#if VERSION == 4
EXPORT const Profiler4 ncclProfiler_v4 = {"other", init_4, start, stop, record, finalize};
#elif VERSION == 5
EXPORT const Profiler ncclProfiler_v5 = {"other", init, start, stop, record, finalize};
#else
EXPORT const Profiler ncclProfiler_v6 = {"other", init, start, stop, record, finalize};
#endif
