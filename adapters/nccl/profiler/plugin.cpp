// The functions that NCCL calls: for each version of its interface one table, over the same Store and NextPlugin.

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "adapters/nccl/profiler/interface.h"
#include "adapters/nccl/profiler/next_plugin.h"
#include "adapters/nccl/profiler/store.h"

namespace tocsin::adapters::nccl {

namespace {

struct Context {
  bool used = false;
  int place = -1;        // in the Store
  void* next = nullptr;  // of the next plugin
};

// NCCL's context of a communicator is 1 + its place here. Never an address: with PXN it comes from another process.
constexpr std::size_t capacity = 4096;
constexpr char own_name[] = "tocsin";
Context contexts[capacity];
Store store;
NextPlugin next;
pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;  // of init and finalize only
bool begun = false;
pid_t begun_by = 0;
int* nccl_mask = nullptr;
std::atomic<std::uint64_t> own_mask{0}, given_mask{0};

bool off(const char* setting) {
  const char* value = std::getenv(setting);
  return value != nullptr && std::strcmp(value, "0") == 0;
}

// While NCCL has a kernel to report, its proxy thread polls without a pause: a core of each rank. Over a network that
// thread does so anyway; within a node there is another way to learn what hangs (compare_ranks in reader.cpp).
//
// It stays as it is at the start: NCCL takes the mask for an operation when it is called, so what is turned on once it
// hangs shows nothing of it; and NCCL's count of a channel's kernels does not survive a change between a send and its
// receive, or after a graph was captured: then it waits for a report that never comes.
bool kernels_wanted(int nodes) {
  if (off("TOCSIN_NCCL_KERNELS")) return false;
  const auto number = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? 0 : std::atoi(value);
  };
  const int here = number("LOCAL_WORLD_SIZE");
  return number("TOCSIN_NCCL_KERNELS") == 1 || nodes > 1 || (here > 0 && number("WORLD_SIZE") > here);
}

std::uint64_t wanted_by_store(bool kernels) {
  std::uint64_t mask = event_collective | event_point_to_point;
  if (kernels) mask |= event_kernel_channel;
  if (!off("TOCSIN_NCCL_STEPS")) mask |= event_proxy_operation | event_proxy_step;
  return mask;
}

// The next plugin may change what it wants while it runs.
void give_mask() {
  const std::uint64_t mask = own_mask.load(std::memory_order_relaxed) | next.mask();
  if (mask == given_mask.load(std::memory_order_relaxed) || nccl_mask == nullptr) return;
  given_mask.store(mask, std::memory_order_relaxed);
  __atomic_store_n(nccl_mask, static_cast<int>(mask), __ATOMIC_RELAXED);
}

#define TOCSIN_LOG(log, level, ...) \
  if ((log) != nullptr) (log)(level, log_of_profilers, __FILE_NAME__, __LINE__, __VA_ARGS__)

void begin(int version, int nodes, Log log) {
  if (begun && begun_by == ::getpid()) return;
  const bool forked = begun;
  begun = true, begun_by = ::getpid();
  if (forked) store = Store{};  // the parent's file stays the parent's
  const bool kernels = kernels_wanted(nodes);
  const char* directory = std::getenv("TOCSIN_NCCL_DIR");
  if (directory == nullptr || *directory == '\0') {
    TOCSIN_LOG(log, log_info, "tocsin: TOCSIN_NCCL_DIR is not set, so nothing is recorded");
  } else if (const char* why = store.open(directory, static_cast<std::uint64_t>(version), kernels)) {
    TOCSIN_LOG(log, log_warning, "tocsin: nothing is recorded, as there can be no file in %s: %s", directory, why);
  }
  own_mask = store.is_open() ? wanted_by_store(kernels) : 0;
  const char* name = std::getenv("TOCSIN_NCCL_NEXT");
  if (forked || name == nullptr || *name == '\0') return;
  if (const char* why = next.load(name, version, own_name)) {
    TOCSIN_LOG(log, log_warning, "tocsin: the plugin in TOCSIN_NCCL_NEXT, %s, is left out: %s", name, why);
  } else {
    TOCSIN_LOG(log, log_info, "tocsin: events go on to the plugin %s", next.name());
  }
}

int init(int version, void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
         Log log) {
  ::pthread_mutex_lock(&turns);
  begin(version, nodes, log);
  *context = nullptr;
  std::size_t i = 0;
  while (i < capacity && contexts[i].used) ++i;
  if (i < capacity) {
    Context& it = contexts[i];
    it.place = store.add(hash, name, nodes, ranks, rank);
    it.next = next.is_loaded() ? next.init(hash, name, nodes, ranks, rank, log) : nullptr;
    it.used = it.place >= 0 || it.next != nullptr;
    if (it.used) *context = reinterpret_cast<void*>(i + 1);
  }
  // One word for all communicators: one without a place of its own must not silence the others.
  nccl_mask = mask;
  given_mask = own_mask | next.mask();
  __atomic_store_n(mask, static_cast<int>(given_mask.load()), __ATOMIC_RELAXED);
  ::pthread_mutex_unlock(&turns);
  return success;
}

int finalize(void* context) {
  const std::uintptr_t i = reinterpret_cast<std::uintptr_t>(context) - 1;
  if (i >= capacity) return success;
  ::pthread_mutex_lock(&turns);
  Context it = contexts[i];
  contexts[i] = Context{};
  if (it.used) store.finalize(it.place), next.finalize(it.next);
  ::pthread_mutex_unlock(&turns);
  return success;
}

int start(void* context, void** handle, const Descriptor& event, int version) {
  const bool interface_4 = version == 4;
  const std::uint64_t type = interface_4 ? event.type & 0xff : event.type;
  const bool foreign = type == event_proxy_operation && event.proxy_operation.pid != store.pid();
  const std::uintptr_t i = reinterpret_cast<std::uintptr_t>(context) - 1;
  const Context none, &it = foreign || i >= capacity ? none : contexts[i];
  const auto ours = [&](const void* other) { return NextPlugin::ours(reinterpret_cast<std::uintptr_t>(other)); };
  const bool operation = type == event_collective || type == event_point_to_point;
  const void* group = !operation                 ? nullptr
                      : interface_4              ? event.parent
                      : type == event_collective ? event.collective.group
                                                 : event.point_to_point.group;
  const std::uint64_t parent = foreign || (interface_4 && operation) ? 0 : ours(event.parent);
  const bool reported = (given_mask.load(std::memory_order_relaxed) & event_kernel_channel) != 0;
  std::uint64_t result = store.start(it.place, type, event, parent, ours(group), reported);
  if (next.is_loaded()) {
    Descriptor whole{};  // no further than NCCL's own
    std::memcpy(&whole, &event,
                version == 4   ? sizeof(Descriptor4)
                : version == 5 ? size_of_descriptor_5
                               : sizeof whole);
    whole.type = type;
    if (interface_4 && type == event_collective) whole.parent = nullptr, whole.collective.group = event.parent;
    if (interface_4 && type == event_point_to_point) whole.parent = nullptr, whole.point_to_point.group = event.parent;
    // What another process began has no context here; the other must not look at it, but may.
    void* of = it.next;
    for (std::size_t any = 0; foreign && of == nullptr && any < capacity; ++any) of = contexts[any].next;
    result = next.start(of, whole, foreign, result);
    give_mask();
  }
  *handle = reinterpret_cast<void*>(result);
  return success;
}

template <int version>
int start_newer(void* context, void** handle, Descriptor* event) {
  return start(context, handle, *event, version);
}
int start_4(void* context, void** handle, Descriptor4* event) {
  return start(context, handle, *reinterpret_cast<Descriptor*>(event), 4);
}

int stop(void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  store.stop(NextPlugin::ours(number));
  if (next.is_loaded()) next.stop(number);
  return success;
}

int record(void* handle, int state, StateArguments* arguments) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  store.record(NextPlugin::ours(number), state, arguments);
  if (next.is_loaded()) next.record(number, state, arguments);
  return success;
}

int init_4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank, Log log);
template <int version>
int init_newer(void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
               Log log);

}  // namespace

#define TOCSIN_EXPORT extern "C" __attribute__((visibility("default")))
TOCSIN_EXPORT const Profiler4 ncclProfiler_v4 = {own_name, init_4, start_4, stop, record, finalize};
TOCSIN_EXPORT const Profiler ncclProfiler_v5 = {own_name, init_newer<5>, start_newer<5>, stop, record, finalize};
TOCSIN_EXPORT const Profiler ncclProfiler_v6 = {own_name, init_newer<6>, start_newer<6>, stop, record, finalize};

namespace {

int init_4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank, Log log) {
  return init(4, context, hash, mask, name, nodes, ranks, rank, log);
}
template <int version>
int init_newer(void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
               Log log) {
  return init(version, context, hash, mask, name, nodes, ranks, rank, log);
}

}  // namespace

}  // namespace tocsin::adapters::nccl
