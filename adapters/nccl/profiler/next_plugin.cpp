#include "adapters/nccl/profiler/next_plugin.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <new>

// Those of the oldest libc: the newer ones do the same, and are missing in containers that are older than this library.
#if defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.17\n.symver dlsym, dlsym@GLIBC_2.17");
#endif

namespace tocsin::adapters::nccl {

namespace {

// NCCL announces the parents of what was asked for, too.
constexpr std::uint64_t in_operations =
    event_proxy_operation | event_proxy_step | event_kernel_channel | event_net_plugin;
constexpr std::uint64_t in_copies = event_copy_collective | event_copy_sync | event_copy_batch;
constexpr std::uint64_t in_groups = event_collective | event_point_to_point | in_operations;

std::uint64_t asked_by(std::uint64_t type) {
  switch (type) {
    case event_group: return event_group | in_groups;
    case event_collective: return event_collective | in_operations;
    case event_point_to_point: return event_point_to_point | in_operations;
    case event_proxy_operation: return event_proxy_operation | event_proxy_step | event_net_plugin;
    case event_proxy_step: return event_proxy_step | event_net_plugin;
    case event_group_call: return ~std::uint64_t{event_proxy_control};
    case event_collective_call: return event_collective_call | event_collective | in_operations | in_copies;
    case event_point_to_point_call: return event_point_to_point_call | event_point_to_point | in_operations;
    case event_copy_collective: return in_copies;
    default: return type;
  }
}

std::uint64_t events_of(int version) { return version == 4 ? events_of_4 : version == 5 ? events_of_5 : events_of_6; }

constexpr std::uintptr_t pair_bits = 15;  // of a pair's address none is set, of a handle of ours one is

}  // namespace

const char* NextPlugin::load(const char* name, int interface_version, const char* own) {
  char text[4096];
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr && std::strchr(name, '/') == nullptr) {
    std::snprintf(text, sizeof text, "libnccl-profiler-%s.so", name);
    library = ::dlopen(text, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return "it cannot be loaded";
  const auto table = [&](int version) {
    std::snprintf(text, sizeof text, "ncclProfiler_v%d", version);
    return ::dlsym(library, text);
  };
  // The newest that is not newer than NCCL's own, for which nothing is left out; else the oldest of the newer ones.
  int version = interface_version;
  while (version >= 4 && table(version) == nullptr) --version;
  if (version < 4)
    for (version = interface_version + 1; version <= 6 && table(version) == nullptr;) ++version;
  if (version > 6) return "it has none of the interfaces 4 to 6";
  const void* const chosen = table(version);  // which begins with its name
  if (std::strcmp(*static_cast<const char* const*>(chosen), own) == 0) return "it is this plugin itself";
  void* memory = ::mmap(nullptr, sizeof(Pair) * (own_end + referred + captured), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "there is no memory for its events";
  pairs_ = static_cast<Pair*>(memory);
  for (std::size_t i = 0; i < own_end + referred + captured; ++i) ::new (pairs_ + i) Pair;
  if (version == 4) four_ = static_cast<const Profiler4*>(chosen);
  else newer_ = static_cast<const Profiler*>(chosen);
  version_ = version;
  return nullptr;
}

std::uint64_t NextPlugin::mask() const noexcept {
  return is_loaded() ? static_cast<std::uint64_t>(__atomic_load_n(&mask_, __ATOMIC_RELAXED)) & events_of(version_) : 0;
}

void* NextPlugin::init(std::uint64_t hash, const char* name, int nodes, int ranks, int rank, Log log) {
  void* context = nullptr;
  const int result = version_ == 4 ? four_->init(&context, &mask_, name, hash, nodes, ranks, rank, log)
                                   : newer_->init(&context, hash, &mask_, name, nodes, ranks, rank, log);
  return result == success ? context : nullptr;
}

void NextPlugin::finalize(void* context) {
  if (context != nullptr) (version_ == 4 ? four_->finalize : newer_->finalize)(context);
}

std::uint64_t NextPlugin::start(void* context, const Descriptor& event, bool foreign, std::uint64_t ours) {
  const std::uint64_t wanted = mask();
  if (context == nullptr || (event.type & events_of(version_)) == 0 || (asked_by(event.type) & wanted) == 0)
    return ours;
  Pair* pair = this->pair(event);
  if (pair == nullptr) return ours;
  pair->ours = ours;
  pair->theirs = nullptr;
  void* const parent = foreign ? nullptr : theirs(event.parent);
  const bool operation = event.type == event_collective || event.type == event_point_to_point;
  if (version_ == 4) {
    Descriptor4 four{};
    four.type = static_cast<std::uint8_t>(event.type), four.rank = event.rank;
    std::memcpy(four.words, &event.collective, sizeof four.words);
    four.parent = event.type == event_collective       ? theirs(event.collective.group)
                  : event.type == event_point_to_point ? theirs(event.point_to_point.group)
                                                       : parent;
    four_->start_event(context, &pair->theirs, &four);
  } else {
    Descriptor copy = event;
    copy.parent = parent;
    if (operation)
      (event.type == event_collective ? copy.collective.group : copy.point_to_point.group) =
          theirs(event.type == event_collective ? event.collective.group : event.point_to_point.group);
    newer_->start_event(context, &pair->theirs, &copy);
  }
  if (pair->theirs == nullptr) {
    pair->busy.store(false, std::memory_order_release);
    return ours;
  }
  return reinterpret_cast<std::uintptr_t>(pair);
}

NextPlugin::Pair* NextPlugin::pair(const Descriptor& event) {
  const bool call = event.type == event_collective_call || event.type == event_point_to_point_call;
  const bool graph = event.type == event_group_call        ? event.group_call.captured
                     : event.type == event_collective_call ? event.collective_call.captured
                                                           : call && event.point_to_point_call.captured;
  if (graph) {
    const std::size_t place = captured_next_.fetch_add(1, std::memory_order_relaxed);
    return place < captured ? pairs_ + own_end + referred + place : nullptr;
  }
  if (call || event.type == event_group_call || event.type == event_group || event.type == event_collective ||
      event.type == event_point_to_point || event.type == event_copy_collective)
    return pairs_ + own_end + referred_next_.fetch_add(1, std::memory_order_relaxed) % referred;
  for (int probe = 0; probe < 64; ++probe) {
    Pair* pair = pairs_ + own_end_next_.fetch_add(1, std::memory_order_relaxed) % own_end;
    if (!pair->busy.exchange(true, std::memory_order_acquire)) return pair;
  }
  return nullptr;
}

void NextPlugin::stop(std::uint64_t handle) {
  if (handle == 0 || (handle & pair_bits) != 0) return;
  Pair* pair = reinterpret_cast<Pair*>(handle);
  (version_ == 4 ? four_->stop_event : newer_->stop_event)(pair->theirs);
  pair->busy.store(false, std::memory_order_release);
}

void NextPlugin::record(std::uint64_t handle, int state, StateArguments* arguments) {
  if (handle == 0 || (handle & pair_bits) != 0) return;
  void* const theirs = reinterpret_cast<Pair*>(handle)->theirs;
  if (version_ == 4 && state <= last_state_of_4) four_->record_state(theirs, state, arguments);
  else if (version_ == 6 || (version_ == 5 && state <= last_state_of_5)) newer_->record_state(theirs, state, arguments);
}

std::uint64_t NextPlugin::ours(std::uint64_t handle) noexcept {
  return handle == 0 || (handle & pair_bits) != 0 ? handle : reinterpret_cast<const Pair*>(handle)->ours;
}

void* NextPlugin::theirs(const void* handle) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  return number == 0 || (number & pair_bits) != 0 ? nullptr : static_cast<const Pair*>(handle)->theirs;
}

}  // namespace tocsin::adapters::nccl
