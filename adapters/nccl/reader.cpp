#include "adapters/nccl/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>

#include "adapters/nccl/names.h"
#include "adapters/nccl/profiler/interface.h"
#include "adapters/nccl/ring.h"

namespace tocsin::adapters::nccl {

namespace {

using stream::Duration, stream::Errc, stream::Error, stream::Result;

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

  // Read, not mapped: a file that is cut short meanwhile must not end this process.
  template <class T>
  bool read(T* to, std::size_t count, std::size_t offset) const {
    const std::size_t size = count * sizeof(T);
    return ::pread(descriptor_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

 private:
  int descriptor_;
};

// Of a field that may hold any bytes: what is printed of it.
template <std::size_t size>
std::string text(const char (&field)[size]) {
  std::string result{field, ::strnlen(field, size)};
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return result;
}

std::string type_name(std::string_view name) {
  if (name.starts_with("nccl")) name.remove_prefix(4);
  return function_name(name);
}

std::string hex(std::uint64_t number) {
  char result[19];
  std::snprintf(result, sizeof result, "0x%llx", static_cast<unsigned long long>(number));
  return result;
}

Duration since(std::uint64_t then, Duration now) {
  const auto time = static_cast<std::uint64_t>(now.count());
  return Duration{then == 0 || then > time ? 0 : static_cast<std::int64_t>(time - then)};
}

std::string arguments(const RingOperation& from, const std::string& function) {
  std::string result = std::to_string(from.count) + " x " + type_name(text(from.datatype));
  const auto peer = std::to_string(static_cast<std::int32_t>(from.peer));
  if (from.flags & operation_point_to_point) result += (function == "send" ? ", to rank " : ", from rank ") + peer;
  else if (function == "broadcast" || function == "reduce" || function == "gather" || function == "scatter")
    result += ", root " + peer;
  return result;
}

// Whether all of its channels have ended. A few that were announced may have had nothing to do: then it has ended once
// nothing has run for a second.
bool ended(const RingOperation& it, Duration now) {
  if (it.completed == 0 || it.channels_started != it.channels_completed) return false;
  return std::popcount(it.channels_completed) >= static_cast<int>(std::min(it.channels, ring_channels)) ||
         it.channels_completed == 0 || since(it.completed, now) > std::chrono::seconds{1};
}

std::string waits_for(const RingLink& link) {
  switch (link.state) {
    case step_send_gpu_wait:
    case step_receive_gpu_wait: return "GPU";
    case step_send_peer_wait: return "peer";
    case step_send_wait:
    case step_receive_wait: return "network";
    case step_receive_flush_wait: return "flush";
    default: return "";
  }
}

OpenOperation open_operation(const RingOperation& from, const Communicator& of, Duration now) {
  OpenOperation result;
  result.is.function = function_name(text(from.function));
  result.is.sequence = from.number;
  result.is.group = of.group, result.is.group_size = of.ranks;
  result.is.arguments = arguments(from, result.is.function);
  result.is.open = since(from.entered, now);
  result.point_to_point = from.flags & operation_point_to_point;
  result.captured = from.flags & operation_captured;
  result.peer = static_cast<std::uint32_t>(from.peer);
  result.position = from.position, result.sequence = from.sequence, result.group = from.group;
  result.algorithm = text(from.algorithm), result.protocol = text(from.protocol);
  if ((from.flags & operation_reported) != 0) result.is.started = from.started != 0;
  if (from.started != 0) result.running = since(from.started, now);
  result.channels = static_cast<unsigned>(std::min(from.channels, ring_channels));
  result.channels_started = static_cast<unsigned>(std::popcount(from.channels_started));
  result.channels_completed = static_cast<unsigned>(std::popcount(from.channels_completed & from.channels_started));
  return result;
}

// The operations of a communicator run in the order of their launch, but for those of one group. So what precedes a
// group that has begun is done, also where NCCL did not report its end; and what is behind an open one is open.
void read_operations(const RingPart& part, Communicator& to, Duration now) {
  std::vector<const RingOperation*> there;
  for (std::size_t i = 0; i < ring_operations; ++i)
    if (const auto& it = part.operations[i];
        it.position != 0 && it.position == it.again && it.position % ring_operations == i && it.position <= to.launched)
      there.push_back(&it);
  std::sort(there.begin(), there.end(), [](const auto* a, const auto* b) { return a->position > b->position; });
  std::vector<const RingOperation*> undone;
  bool later_began = false, group_began = false;
  std::uint64_t group = 0;
  for (const RingOperation* it : there) {  // the newest first
    if (it->group != group || group == 0) later_began |= group_began, group_began = false;
    group = it->group;
    group_began |= it->channels_started != 0;
    if (!later_began && !ended(*it, now)) undone.push_back(it);
  }
  for (auto it = undone.rbegin(); it != undone.rend(); ++it) {
    const bool open = !to.open.empty() || ((*it)->flags & operation_reported) != 0 || (*it)->channels_started != 0;
    (open ? to.open : to.unreported).push_back(open_operation(**it, to, now));
  }
}

using Members = std::map<std::uint32_t, Communicator*>;  // of one communicator, by rank

// The collectives that may not be done, by number: the newest.
std::map<std::uint64_t, const OpenOperation*> undone(const Communicator& of) {
  constexpr std::size_t most = 64;
  std::map<std::uint64_t, const OpenOperation*> result;
  for (const auto* list : {&of.unreported, &of.open})
    for (const OpenOperation& it : *list)
      if (!it.point_to_point && it.is.sequence != 0) result.emplace(it.is.sequence, &it);
  while (result.size() > most) result.erase(result.begin());
  return result;
}

constexpr std::uint64_t none = ~std::uint64_t{0};

// The first number under which not all members have launched the same collective.
std::uint64_t first_mismatch(const Members& members) {
  std::uint64_t result = none;
  const auto first = undone(*members.begin()->second);
  for (const auto& [rank, member] : members)
    for (const auto& [number, it] : undone(*member))
      if (const auto other = first.find(number);
          other != first.end() &&
          (it->is.function != other->second->is.function || it->is.arguments != other->second->is.arguments))
        result = std::min(result, number);
  return result;
}

// Whether a rank cannot have completed what it launched, as it needs data of another rank that has not launched its
// part. Who only sends may be done: a small message waits in a buffer.
bool needs_missing(const OpenOperation& it, std::uint32_t rank, const Members& members) {
  const auto launched = [&](std::uint32_t by) {
    const auto member = members.find(by);
    return member == members.end() ? none : member->second->collectives;  // one that is not seen may have
  };
  const std::string& function = it.is.function;
  if (it.is.sequence == 0) return false;
  if (function == "recv") {
    const auto other = members.find(it.peer);
    if (it.sequence == 0 || other == members.end() || it.peer == rank) return false;
    const auto with = other->second->peers.find(rank);
    return with == other->second->peers.end() || it.sequence > with->second.sends;
  }
  if (function == "broadcast" || function == "scatter") return it.peer != rank && launched(it.peer) < it.is.sequence;
  if (function != "all_reduce" && function != "all_gather" && function != "reduce_scatter" && function != "all_to_all")
    return false;
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& one) { return launched(one.first) < it.is.sequence; });
}

void compare_ranks(std::vector<ProcessRing>& processes) {
  std::map<std::uint64_t, Members> by_hash;
  for (ProcessRing& process : processes)
    for (Communicator& it : process.communicators)
      if (!it.finalized && it.ranks > 1) by_hash[it.hash][it.rank] = &it;
  for (auto& [hash, members] : by_hash) {
    const std::uint64_t mismatch = first_mismatch(members);
    for (auto& [rank, it] : members) {
      auto& maybe = it->unreported;
      const auto from = std::find_if(maybe.begin(), maybe.end(), [&, rank = rank](const OpenOperation& one) {
        return (!one.point_to_point && one.is.sequence >= mismatch) || needs_missing(one, rank, members);
      });
      it->open.insert(it->open.begin(), std::make_move_iterator(from), std::make_move_iterator(maybe.end()));
      maybe.erase(from, maybe.end());
    }
  }
}

void read_connections(const RingPart& part, std::uint64_t launched, std::vector<Connection>& to, Duration now) {
  for (const RingLink& link : part.links) {
    if ((link.key & 1) == 0 || link.changed == 0 || link.operation > launched) continue;
    Connection it;
    it.channel = link.key >> 2 & 63, it.sends = link.key & 2, it.peer = link.key >> 8 & 0xffffff;
    if (link.key >> 32 != 0) it.for_process = static_cast<pid_t>(link.key >> 32);
    it.operation = link.operation;
    it.steps = link.steps, it.posted = link.posted, it.moved = link.moved, it.done = link.done;
    if (it.done < it.posted) it.waits_for = waits_for(link);
    it.unchanged = since(link.changed, now);
    to.push_back(it);
  }
}

Error torn(const std::filesystem::path& file) {
  return {Errc::torn, file.string() + ": the file is shorter than a ring of NCCL's operations; delete it"};
}

}  // namespace

Result<ProcessRing> read_ring(const std::filesystem::path& path, Duration now) {
  const File file{path};
  if (file.get() < 0)
    return Error{errno == ENOENT ? Errc::not_found : Errc::io, path.string() + ": " + std::strerror(errno)};
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return Error{Errc::malformed, path.string() + ": this is not a regular file"};
  RingHead head{};
  if (!file.read(&head, 1, 0)) return torn(path);
  struct flock writer {};
  writer.l_type = F_RDLCK, writer.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_GETLK, &writer) != 0) return Error{Errc::io, path.string() + ": " + std::strerror(errno)};
  if (writer.l_type == F_UNLCK) return Error{Errc::not_found, path.string() + ": its process has ended"};
  if (head.magic != ring_magic)
    return Error{Errc::malformed,
                 path.string() + ": this is not a ring of NCCL's operations, or it is still being created"};
  if (head.version != ring_version || head.size != sizeof(Ring))
    return Error{Errc::unknown_version,
                 path.string() + ": written by a plugin of another version of tocsin; use that of this one"};
  if (writer.l_pid <= 0)
    return Error{Errc::refused, path.string() + ": its process is in another namespace and cannot be seen from here"};
  auto heads = std::make_unique<RingCommunicator[]>(ring_communicators);
  if (!file.read(heads.get(), ring_communicators, offsetof(Ring, communicators))) return torn(path);

  ProcessRing result;
  result.pid = writer.l_pid;
  result.interface_version = head.interface_version, result.kernels_reported = head.kernels != 0;
  result.untracked = head.untracked, result.past_launched = head.past_launched;
  auto part = std::make_unique<RingPart>();
  for (std::size_t i = 0; i < ring_communicators; ++i) {
    const RingCommunicator& from = heads[i];
    const bool foreign = i == foreign_communicator;
    if (!foreign && from.state != communicator_open && from.state != communicator_finalized) continue;
    Communicator to;
    const std::string name = text(from.name);
    to.group = foreign ? "" : name.empty() ? hex(from.hash) : name + " " + hex(from.hash);
    to.hash = from.hash;
    to.ranks = static_cast<std::uint32_t>(from.ranks), to.rank = static_cast<std::uint32_t>(from.rank);
    to.nodes = static_cast<std::uint32_t>(from.nodes);
    to.finalized = from.state == communicator_finalized;
    to.launched = from.launched, to.collectives = from.collectives, to.point_to_points = from.point_to_points;
    to.captured = from.captured, to.calls = from.calls;
    if (!to.finalized) {
      if (!file.read(part.get(), 1, offsetof(Ring, parts) + i * sizeof(RingPart))) return torn(path);
      read_operations(*part, to, now);
      read_connections(*part, to.launched, to.connections, now);
      for (const RingPeer& with : part->peers)
        if (with.key != 0) to.peers[static_cast<std::uint32_t>(with.key - 1)] = {with.sends, with.receives};
    }
    if (!foreign || !to.connections.empty()) result.communicators.push_back(std::move(to));
  }
  return result;
}

trace::ProcessCollectives ProcessRing::collectives() const {
  trace::ProcessCollectives result;
  result.pid = pid;
  result.launched = past_launched;
  std::uint64_t open = 0;
  for (const Communicator& it : communicators) {
    result.launched += it.collectives + it.point_to_points;
    for (const OpenOperation& one : it.open) {
      if (one.is.sequence != 0) ++open;
      if (!result.oldest || one.is.open > result.oldest->open) result.oldest = one.is;
    }
  }
  if (kernels_reported) result.done = result.launched - std::min(open, result.launched);
  return result;
}

Rings read_rings(const std::filesystem::path& directory, Duration now) {
  Rings result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{directory, error}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("nccl-") || !name.ends_with(".ring")) continue;
    auto ring = read_ring(entry.path(), now);
    if (ring) result.processes.push_back(std::move(*ring));
    else if (ring.error().code == Errc::not_found) result.ended.push_back(entry.path());
    else result.unread.push_back(ring.error());
  }
  if (error) result.unread.push_back({Errc::io, directory.string() + ": " + error.message()});
  compare_ranks(result.processes);
  std::sort(result.processes.begin(), result.processes.end(),
            [](const auto& a, const auto& b) { return a.pid < b.pid; });
  std::sort(result.ended.begin(), result.ended.end());
  return result;
}

Rings read_rings(const std::filesystem::path& directory) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return read_rings(directory, std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec});
}

}  // namespace tocsin::adapters::nccl
