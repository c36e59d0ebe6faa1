#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/trace/collectives.h"
#include "stream/values/result.h"

namespace tocsin::adapters::trace {

// A process group of c10d, or a communicator of NCCL, in one process.
struct GroupTrace {
  enum class Library : std::uint8_t { c10d, nccl };

  Library library = Library::c10d;
  std::string name;        // equal in all its members; empty: not known
  std::uint32_t rank = 0;  // in the group
  std::uint32_t size = 0;  // 0: not known, since the group is older than the tracer's first look
  bool complete = false;   // seen from its beginning, so that sequences can be compared between members
  std::uint64_t launched = 0;
  std::optional<std::uint64_t> done{};
  std::uint64_t peer_launched = 0;                                 // sends and receives
  std::vector<std::pair<std::string, std::uint64_t>> functions{};  // launched of each, sends and receives too
  std::string last{};  // of NCCL: "all_reduce 1048576 x float32"; empty: not known
};

// A call of the driver that waits for the GPU, and since when.
struct OpenWait {
  std::string function;  // "cuStreamSynchronize"
  stream::Duration open{};
};

// What a process has called in the CUDA driver, be it through the runtime or a library.
struct GpuTrace {
  bool attached = false;  // it has made or taken a context: it holds a GPU
  std::uint64_t kernel_launches = 0, graph_launches = 0;
  std::uint64_t copies = 0, allocations = 0;
  std::uint64_t bytes_to_device = 0, bytes_to_host = 0, bytes_other = 0;
  std::uint64_t waits = 0;            // synchronisations, and copies to the host that block
  stream::Duration waited{};          // in those that have ended
  std::optional<OpenWait> waiting{};  // the longest of its threads'
};

// What a process has called since it was started, or since the tracer first looked at it.
struct ProcessTrace {
  // Collectives over all groups of both libraries. Sends and receives are no part of its counts, for they differ
  // between ranks; one that the process waits for can be the oldest. NCCL's calls do not say when they are completed:
  // where there are any, `done` is none, and `oldest` is of c10d's.
  ProcessCollectives collectives;
  bool complete = true;  // all groups were seen from their beginning
  std::uint64_t peer_launched = 0, peer_done = 0;
  std::vector<GroupTrace> groups{};
  GpuTrace gpu{};
  // What is not counted any more, as some process called it more often than the budget allows: "cuLaunchKernel". The
  // counts have stopped where they were. Of "c10d" and "nccl" no group is reported any more.
  std::vector<std::string> stopped{};
};

// Sees what processes call in the libraries of training, by uprobes that count in the kernel. A probe sits on a file,
// so it counts every process of the machine that runs the file; the tracer reports those that it was asked to look at.
// It changes nothing in a process, and costs about half a microsecond at each probed call.
//
//   auto tracer = Tracer::start();           // once, before the command starts: a probe must be there before the call
//   (*tracer)->look(pids);                   // once a second or more often: finds libraries in new processes
//   for (auto& trace : (*tracer)->read());   // the processes of the last look that have called anything
//
// Owned by one thread.
class Tracer {
 public:
  // How often a process may call one kind of function: a call costs about half a microsecond, so this is about a
  // hundredth of a core. One that calls more often for three seconds ends the probes of that kind on the library, and a
  // note says so.
  static constexpr double most_calls_per_second = 20'000;

  // An error names what is missing and how to allow it, in one line.
  // `one_by_one`: sets each probe alone, as kernels before Linux 6.6 want it (for tests).
  [[nodiscard]] static stream::Result<std::unique_ptr<Tracer>> start(double budget = most_calls_per_second,
                                                                     bool one_by_one = false);
  ~Tracer();

  // These processes, pids as in our /proc, are of interest. It reads their maps at each look in the first minute of a
  // process (or after an exec) until a library is found, then each five seconds, and each ten later.
  void look(std::span<const pid_t> pids);
  // Counts only ever grow for one process: an exec begins them again at zero.
  [[nodiscard]] std::vector<ProcessTrace> read();
  // What could not be attached or counted, one line each, each once.
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  struct State;
  explicit Tracer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::trace
