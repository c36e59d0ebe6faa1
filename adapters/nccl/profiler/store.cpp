#include "adapters/nccl/profiler/store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tocsin::adapters::nccl {

namespace {

using Word = std::atomic_ref<std::uint64_t>;
static_assert(Word::is_always_lock_free);

void put(std::uint64_t& to, std::uint64_t value) { Word{to}.store(value, std::memory_order_relaxed); }
std::uint64_t get(std::uint64_t& from) { return Word{from}.load(std::memory_order_relaxed); }
std::uint64_t add_one(std::uint64_t& to) { return Word{to}.fetch_add(1, std::memory_order_relaxed) + 1; }

template <std::size_t size>
void put(char (&to)[size], const char* text) {
  std::size_t n = 0;
  if (text != nullptr)
    for (; n + 1 < size && text[n] != '\0'; ++n) to[n] = text[n];
  std::memset(to + n, 0, size - n);
}

// The vDSO's: no system call.
std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

enum Kind : std::uint64_t { kind_group = 1, kind_call, kind_operation, kind_channel, kind_proxy, kind_step };

// A handle: kind, communicator, place, and 46 bits whose meaning depends on the kind.
constexpr std::uint64_t handle(Kind kind, std::uint64_t communicator, std::uint64_t place, std::uint64_t rest) {
  return kind | communicator << 4 | place << 10 | rest << 18;
}
constexpr Kind kind_of(std::uint64_t handle) { return static_cast<Kind>(handle & 15); }
constexpr std::size_t communicator_of(std::uint64_t handle) { return handle >> 4 & 63; }
constexpr std::size_t place_of(std::uint64_t handle) { return handle >> 10 & 255; }
constexpr std::uint64_t rest_of(std::uint64_t handle) { return handle >> 18; }
static_assert(ring_communicators <= 64 && ring_operations == 256 && ring_links == 256);
constexpr std::uint64_t position_bits = (std::uint64_t{1} << 32) - 1, step_position_bits = (1 << 22) - 1;

// Anything with these bits is taken for a handle of ours: NCCL hands on what a stale or foreign process wrote.
bool within(std::uint64_t handle, Kind kind) {
  return kind_of(handle) == kind && communicator_of(handle) < ring_communicators;
}

const char* reserve(int file, std::size_t size) {
  if (::fallocate(file, 0, 0, static_cast<off_t>(size)) == 0) return nullptr;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return std::strerror(errno);
  // A file system that cannot reserve: a page that it had no room for would end the process when it is written.
  static const char zeros[4096] = {};
  for (std::size_t at = 0; at < size; at += sizeof zeros)
    if (::pwrite(file, zeros, size - at < sizeof zeros ? size - at : sizeof zeros, static_cast<off_t>(at)) < 0)
      return std::strerror(errno);
  return nullptr;
}

// By number: libc's function has a version that is newer than the libraries of some containers.
bool lock(int file) {
  struct flock all {};
  all.l_type = F_WRLCK, all.l_whence = SEEK_SET;
  return ::syscall(SYS_fcntl, file, F_SETLK, &all) == 0;
}

}  // namespace

const char* Store::open(const char* directory, std::uint64_t interface_version, bool kernels) {
  kernels_ = kernels;
  pid_ = ::getpid();
  rlimit limit{};  // beyond it the kernel sends a signal that ends the process
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < sizeof(Ring))
    return "files may not be so large (ulimit -f)";
  char path[4096];
  int file = -1;
  for (int attempt = 0; file < 0; ++attempt) {
    const int length =
        std::snprintf(path, sizeof path, "%s/nccl-%d-%d.ring", directory, static_cast<int>(pid_), attempt);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return "the directory's name is too long";
    // Left by an earlier process with this number, or by an earlier program of this one; or of a process that has the
    // same number elsewhere, in another namespace or on another machine, and lives.
    if (const int there = ::open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW); there >= 0) {
      if (lock(there)) ::unlink(path);
      ::close(there);
    }
    file = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 && (errno != EEXIST || attempt == 15)) return std::strerror(errno);
  }
  const char* why = reserve(file, sizeof(Ring));
  void* memory = why != nullptr ? nullptr : ::mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (why == nullptr && memory == MAP_FAILED) why = std::strerror(errno);
  if (why == nullptr && !lock(file)) why = std::strerror(errno);
  if (why != nullptr) {
    ::close(file), ::unlink(path);
    return why;
  }
  Ring* ring = static_cast<Ring*>(memory);
  ring->head.version = ring_version;
  ring->head.size = sizeof(Ring);
  ring->head.pid = static_cast<std::uint64_t>(pid_);
  ring->head.interface_version = interface_version;
  ring->head.kernels = kernels ? 1 : 0;
  ring->head.created = now();
  std::memset(ring->parts, 0, sizeof ring->parts);  // no page is met for the first time while NCCL waits
  Word{ring->head.magic}.store(ring_magic, std::memory_order_release);
  file_ = file, ring_ = ring;
  return nullptr;
}

int Store::add(std::uint64_t hash, const char* name, int nodes, int ranks, int rank) {
  if (ring_ == nullptr) return -1;
  std::size_t place = ring_communicators;
  for (std::size_t i = 0; i < foreign_communicator && place == ring_communicators; ++i)
    if (ring_->communicators[i].state == communicator_free) place = i;
  if (place == ring_communicators)  // that of the one that has been finalized for the longest
    for (std::size_t i = 0; i < foreign_communicator; ++i)
      if (ring_->communicators[i].state == communicator_finalized &&
          (place == ring_communicators || ring_->communicators[i].finalized < ring_->communicators[place].finalized))
        place = i;
  if (place == ring_communicators) return add_one(ring_->head.untracked), -1;

  RingCommunicator& it = ring_->communicators[place];
  Word{it.state}.store(communicator_free, std::memory_order_release);
  put(ring_->head.past_launched, ring_->head.past_launched + it.collectives + it.point_to_points);
  const std::uint64_t generation = it.generation + 1;
  std::memset(&ring_->parts[place], 0, sizeof ring_->parts[place]);
  std::memset(&it, 0, sizeof it);
  it.generation = generation;
  it.hash = hash;
  it.ranks = static_cast<std::uint64_t>(ranks), it.rank = static_cast<std::uint64_t>(rank);
  it.nodes = static_cast<std::uint64_t>(nodes);
  it.created = now();
  put(it.name, name);
  Word{it.state}.store(communicator_open, std::memory_order_release);
  return static_cast<int>(place);
}

void Store::finalize(int communicator) {
  if (ring_ == nullptr || communicator < 0) return;
  RingCommunicator& it = ring_->communicators[communicator];
  put(it.finalized, now());
  Word{it.state}.store(communicator_finalized, std::memory_order_release);
}

std::uint64_t Store::start(int communicator, std::uint64_t type, const Descriptor& event, std::uint64_t parent,
                           std::uint64_t group, bool reported) {
  if (ring_ == nullptr) return 0;
  switch (type) {
    case event_group: return handle(kind_group, 0, 0, add_one(groups_) & position_bits);
    case event_collective_call:
    case event_point_to_point_call: {
      if (communicator >= 0) add_one(ring_->communicators[communicator].calls);
      const bool captured =
          type == event_collective_call ? event.collective_call.captured : event.point_to_point_call.captured;
      return handle(kind_call, 0, 0, captured ? 1 : 0);
    }
    case event_collective:
    case event_point_to_point:
      return communicator < 0 ? 0 : operation(communicator, type, event, parent, group, reported);
    case event_kernel_channel: return channel_started(parent, event);
    case event_proxy_operation: return proxy_operation(communicator, event, parent);
    case event_proxy_step: {
      if (!within(parent, kind_proxy)) return 0;
      const std::size_t c = communicator_of(parent);
      RingLink& link = ring_->parts[c].links[place_of(parent)];
      add_one(link.posted), put(link.changed, now());
      return handle(kind_step, c, place_of(parent), 0);
    }
    default: return 0;  // a group of calls, a launch and what the copy engines do: not stored
  }
}

std::uint64_t Store::operation(int communicator, std::uint64_t type, const Descriptor& event, std::uint64_t parent,
                               std::uint64_t group, bool reported) {
  RingCommunicator& of = ring_->communicators[communicator];
  const std::uint64_t position = add_one(of.launched);
  const std::size_t place = position % ring_operations;
  RingOperation& it = ring_->parts[communicator].operations[place];
  put(it.position, 0), put(it.again, 0);
  std::atomic_thread_fence(std::memory_order_release);
  const bool captured = within(parent, kind_call) && rest_of(parent) == 1;
  // Unless kernels are reported, not all ranks learn of each launch of a graph; and numbers are to be equal in all.
  const bool numbered = !captured || kernels_;
  const std::uint64_t flags =
      (captured ? std::uint64_t{operation_captured} : 0) | (reported ? std::uint64_t{operation_reported} : 0);
  if (type == event_collective) {
    const auto& d = event.collective;
    put(it.number, numbered ? add_one(of.collectives) : 0);
    put(it.sequence, d.sequence), put(it.count, d.count);
    put(it.channels, d.channels), put(it.peer, static_cast<std::uint64_t>(d.root));
    put(it.function, d.function), put(it.datatype, d.datatype);
    put(it.algorithm, d.algorithm), put(it.protocol, d.protocol);
    put(it.flags, flags);
  } else {
    const auto& d = event.point_to_point;
    put(it.number, numbered ? add_one(of.point_to_points) : 0);
    const bool sends = d.function != nullptr && d.function[0] == 'S';
    put(it.sequence, numbered ? count_with_peer(communicator, static_cast<std::uint64_t>(d.peer), sends) : 0);
    put(it.count, d.count);
    put(it.channels, d.channels), put(it.peer, static_cast<std::uint64_t>(d.peer));
    put(it.function, d.function), put(it.datatype, d.datatype);
    put(it.algorithm, nullptr), put(it.protocol, nullptr);
    put(it.flags, operation_point_to_point | flags);
  }
  if (captured) add_one(of.captured);
  put(it.started, 0), put(it.completed, 0), put(it.gpu_started, 0), put(it.gpu_completed, 0);
  put(it.channels_started, 0), put(it.channels_completed, 0);
  put(it.group, within(group, kind_group) ? rest_of(group) : 0);
  const std::uint64_t time = now();
  put(it.entered, time);
  // Nothing to send or receive: no kernel does it, and no channel is reported.
  if (type == event_point_to_point && event.point_to_point.count == 0) put(it.started, time), put(it.completed, time);
  Word{it.again}.store(position, std::memory_order_release);
  Word{it.position}.store(position, std::memory_order_release);
  return handle(kind_operation, static_cast<std::uint64_t>(communicator), place, position & position_bits);
}

std::uint64_t Store::channel_started(std::uint64_t parent, const Descriptor& event) {
  if (!within(parent, kind_operation)) return 0;
  const std::size_t c = communicator_of(parent), place = place_of(parent);
  RingOperation& it = ring_->parts[c].operations[place];
  if ((get(it.position) & position_bits) != rest_of(parent)) return 0;  // its place is another's by now
  const std::uint64_t channel = event.kernel_channel.channel % ring_channels;
  if (get(it.started) == 0) {
    put(it.started, now()), put(it.gpu_started, event.kernel_channel.gpu_time);
    add_one(ring_->communicators[c].began);
  }
  Word{it.channels_started}.fetch_or(std::uint64_t{1} << channel, std::memory_order_relaxed);
  return handle(kind_channel, c, place, (rest_of(parent) & position_bits) | channel << 32);
}

void Store::channel_stopped(std::uint64_t handle, std::uint64_t gpu_time) {
  RingOperation& it = ring_->parts[communicator_of(handle)].operations[place_of(handle)];
  if ((get(it.position) & position_bits) != (rest_of(handle) & position_bits)) return;
  const std::uint64_t channel = std::uint64_t{1} << (rest_of(handle) >> 32 & 63);
  if (gpu_time > get(it.gpu_completed)) put(it.gpu_completed, gpu_time);
  const std::uint64_t completed = Word{it.channels_completed}.fetch_or(channel, std::memory_order_relaxed) | channel;
  if (completed == get(it.channels_started)) put(it.completed, now());
}

std::uint64_t Store::proxy_operation(int communicator, const Descriptor& event, std::uint64_t parent) {
  const auto& d = event.proxy_operation;
  const bool foreign = d.pid != pid_;  // the context and the parent are another process's, too
  const std::size_t c = foreign                          ? foreign_communicator
                        : within(parent, kind_operation) ? communicator_of(parent)
                                                         : static_cast<std::size_t>(communicator);
  if (c >= ring_communicators) return 0;
  const int place = link(static_cast<int>(c), link_key(d.channel, d.sends != 0, static_cast<std::uint64_t>(d.peer),
                                                       foreign ? static_cast<std::uint64_t>(d.pid) : 0));
  if (place < 0) return add_one(ring_->communicators[c].lost_links), 0;
  const std::uint64_t position = foreign || !within(parent, kind_operation) ? 0 : rest_of(parent) & step_position_bits;
  const std::uint64_t steps = static_cast<std::uint64_t>(d.steps) & 0xffffff;
  return handle(kind_proxy, c, static_cast<std::uint64_t>(place), position | steps << 22);
}

// The number of a send to, or a receive from, a rank; 0: there is no room to count those of so many ranks.
std::uint64_t Store::count_with_peer(int communicator, std::uint64_t peer, bool sends) {
  auto& peers = ring_->parts[communicator].peers;
  std::size_t place = peer % ring_peers;
  for (int probe = 0; probe < 8; ++probe, place = (place + 1) % ring_peers) {
    std::uint64_t there = get(peers[place].key);
    if (there == 0 && Word{peers[place].key}.compare_exchange_strong(there, peer + 1, std::memory_order_relaxed))
      there = peer + 1;
    if (there == peer + 1) return add_one(sends ? peers[place].sends : peers[place].receives);
  }
  return 0;
}

// A connection's place: found by its key, or taken.
int Store::link(int communicator, std::uint64_t key) {
  auto& links = ring_->parts[communicator].links;
  std::size_t place = (key * 0x9e3779b97f4a7c15ULL) >> 56;
  for (int probe = 0; probe < 8; ++probe, place = (place + 1) % ring_links) {
    std::uint64_t there = get(links[place].key);
    if (there == 0 && Word{links[place].key}.compare_exchange_strong(there, key, std::memory_order_relaxed))
      there = key;
    if (there == key) return static_cast<int>(place);
  }
  return -1;
}

void Store::stop(std::uint64_t handle) {
  if (ring_ == nullptr || !within(handle, kind_step)) return;  // a channel's end is a state that is recorded
  RingLink& link = ring_->parts[communicator_of(handle)].links[place_of(handle)];
  add_one(link.done), put(link.changed, now());
}

void Store::record(std::uint64_t handle, int state, const StateArguments* arguments) {
  if (ring_ == nullptr) return;
  if (within(handle, kind_channel)) {
    if (state == kernel_channel_stop)
      channel_stopped(handle, arguments == nullptr ? 0 : arguments->kernel_channel.gpu_time);
    return;
  }
  if (!within(handle, kind_step) && !within(handle, kind_proxy)) return;
  const std::size_t c = communicator_of(handle);
  RingLink& link = ring_->parts[c].links[place_of(handle)];
  if (within(handle, kind_step)) {
    put(link.state, static_cast<std::uint64_t>(state));
    if (state == step_send_wait || state == step_receive_flush_wait) add_one(link.moved);
  } else if (state == proxy_operation_in_progress) {
    // An operation is announced long before it is this connection's turn: only now the counts are its own.
    const std::uint64_t newest = get(ring_->communicators[c].launched);
    const std::uint64_t bits = rest_of(handle) & step_position_bits;
    put(link.posted, 0), put(link.moved, 0), put(link.done, 0), put(link.state, 0);
    put(link.steps, rest_of(handle) >> 22 & 0xffffff);
    put(link.operation, bits == 0 ? 0 : newest - ((newest - bits) & step_position_bits));
    put(link.changed, now());
  }
}

}  // namespace tocsin::adapters::nccl
