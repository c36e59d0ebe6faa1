// Opens a profiler plugin as NCCL does and plays what NCCL does with it: a line of input is one action, after which
// "ok" is printed, or what it has to say. Run as: nccl_player PLUGIN VERSION
//
//   comm NAME HASH RANKS RANK [NODES]   a communicator NAME ("-": without a name of the job's)
//   coll COMM OP FUNCTION COUNT CHANNELS [captured]      an operation OP is launched, in a group that `group`, `end`
//   enclose p2p COMM OP FUNCTION COUNT PEER CHANNELS replay COMM OP NEW             a graph launches once more what was
//   captured as OP, as NEW begin OP CHANNEL, finish OP CHANNEL                   of its kernel proxy OP PROXY CHANNEL
//   PEER send|recv STEPS [PID]     the proxy takes it on: of another process with a PID (PXN) run PROXY it is that
//   operation's turn step PROXY N, state PROXY N STATE, done PROXY N finalize COMM, mask, pid, load, quit

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/nccl/profiler/interface.h"

using namespace tocsin::adapters::nccl;

namespace {

int version = 0;
const Profiler4* four = nullptr;
const Profiler* newer = nullptr;
int mask = 0;
std::string logged, plugin;

struct Comm {
  void* context = nullptr;
  std::map<std::string, std::uint64_t> sequence;
};
struct Op {
  Comm* comm = nullptr;
  void* handle = nullptr;
  void* call = nullptr;
  std::map<int, void*> kernels{};
  Descriptor event{};
  int mask = 0;  // as it was at the call
};
struct Proxy {
  Comm* comm = nullptr;
  void* handle = nullptr;
  std::map<int, void*> steps{};
};
std::map<std::string, Comm> comms;
std::map<std::string, Op> ops;
std::map<std::string, Proxy> proxies;
std::map<std::string, std::string> texts;
void* group = nullptr;
bool grouped = false;

void log(int, unsigned long, const char*, int, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  logged += std::string{text} + "\n";
}

const char* keep(const std::string& text) { return (texts[text] = text).c_str(); }

// What NCCL does for a plugin of an older interface: the descriptor has the size of that version, and nothing valid is
// behind it.
void* start(void* context, const Descriptor& event) {
  void* handle = nullptr;
  if (version == 4) {
    if (event.type > events_of_4) return nullptr;
    Descriptor4 d{};
    d.type = static_cast<std::uint8_t>(event.type), d.rank = event.rank, d.parent = event.parent;
    std::memcpy(d.words, &event.collective, sizeof d.words);
    if (event.type == event_collective) d.parent = event.collective.group;
    if (event.type == event_point_to_point) d.parent = event.point_to_point.group;
    four->start_event(context, &handle, &d);
  } else {
    const std::size_t size = version == 5 ? size_of_descriptor_5 : sizeof(Descriptor);
    auto* d = static_cast<Descriptor*>(std::malloc(size));
    std::memcpy(static_cast<void*>(d), &event, size);
    newer->start_event(context, &handle, d);
    std::free(d);
  }
  return handle;
}
void stop(void* handle) {
  if (handle != nullptr) (version == 4 ? four->stop_event : newer->stop_event)(handle);
}
void record(void* handle, int state, std::uint64_t value = 0) {
  if (handle == nullptr) return;
  StateArguments arguments{};
  arguments.kernel_channel.gpu_time = value;
  (version == 4 ? four->record_state : newer->record_state)(handle, state, &arguments);
}

Descriptor event_of(std::uint64_t type, void* parent = nullptr) {
  Descriptor result{};
  result.type = type, result.parent = parent;
  return result;
}

// The calls of interface 5 and later; the group's handle of the plan.
void* open_plan(Comm& comm) { return start(comm.context, event_of(event_group)); }

void launch(Op& op, void* plan) {
  if (op.mask == 0) return;
  Descriptor event = op.event;
  (event.type == event_collective ? event.collective.group : event.point_to_point.group) = plan;
  event.parent = op.call;
  if (event.type == event_collective) event.collective.sequence = op.comm->sequence[event.collective.function]++;
  op.handle = start(op.comm->context, event);
  op.kernels.clear();
  stop(op.handle);  // NCCL stops it once the proxy has the operation, long before the kernel runs
}

void call(Op& op, bool captured) {
  op.mask = mask;  // NCCL takes it before it announces the call
  if (version == 4 || mask == 0) return;
  Descriptor outer = event_of(event_group_call);
  outer.group_call.captured = captured;
  void* const calls = start(op.comm->context, outer);
  Descriptor inner =
      event_of(op.event.type == event_collective ? event_collective_call : event_point_to_point_call, calls);
  if (op.event.type == event_collective) {
    const auto& of = op.event.collective;
    inner.collective_call = {of.function, of.count, of.datatype, of.root, nullptr, captured};
  } else {
    const auto& of = op.event.point_to_point;
    inner.point_to_point_call = {of.function, of.count, of.datatype, nullptr, captured};
  }
  op.call = start(op.comm->context, inner);
  stop(op.call);
  stop(calls);
}

void launch_in_group(Op& op) {
  if (grouped) {
    if (group == nullptr) group = open_plan(*op.comm);
    return launch(op, group);
  }
  void* const plan = open_plan(*op.comm);
  launch(op, plan);
  stop(plan);
}

std::string act(std::istringstream& in, const std::string& action) {
  std::string a, b, c, d;
  int i = 0, j = 0, k = 0;
  if (action == "comm") {
    std::uint64_t hash = 0;
    in >> a >> std::hex >> hash >> std::dec >> i >> j;
    if (!(in >> k)) k = 1;
    Comm& it = comms[a];
    it = {};
    const char* name = a.starts_with("-") ? nullptr : keep(a);
    const int result = version == 4 ? four->init(&it.context, &mask, name, hash, k, i, j, log)
                                    : newer->init(&it.context, hash, &mask, name, k, i, j, log);
    return (result == success ? "" : "init failed") + std::exchange(logged, "");
  }
  if (action == "coll") {
    std::size_t count = 0;
    in >> a >> b >> c >> count >> i;
    const bool captured = static_cast<bool>(in >> d);
    Op& op = ops[b];
    op = {.comm = &comms[a]};
    op.event = event_of(event_collective);
    auto& it = op.event.collective;
    it.function = keep(c), it.count = count, it.datatype = "ncclFloat32", it.root = 0;
    it.channels = static_cast<std::uint8_t>(i), it.algorithm = "RING", it.protocol = "SIMPLE";
    call(op, captured);
    if (!captured) launch_in_group(op);
  } else if (action == "p2p") {
    std::size_t count = 0;
    in >> a >> b >> c >> count >> i >> j;
    Op& op = ops[b];
    op = {.comm = &comms[a]};
    op.event = event_of(event_point_to_point);
    auto& it = op.event.point_to_point;
    it.function = keep(c), it.count = count, it.datatype = "ncclFloat32", it.peer = i;
    it.channels = static_cast<std::uint8_t>(j);
    call(op, false);
    launch_in_group(op);
  } else if (action == "replay") {
    in >> a >> b >> c;
    Op copy = ops[b];
    ops[c] = copy;
    launch_in_group(ops[c]);
  } else if (action == "group") {
    grouped = true;
  } else if (action == "end") {
    stop(std::exchange(group, nullptr));
    grouped = false;
  } else if (action == "begin") {
    in >> a >> i;
    Descriptor event = event_of(event_kernel_channel, ops[a].handle);
    event.kernel_channel.channel = static_cast<std::uint8_t>(i), event.kernel_channel.gpu_time = 1000;
    if (ops[a].mask & event_kernel_channel) ops[a].kernels[i] = start(ops[a].comm->context, event);
  } else if (action == "finish") {
    in >> a >> i;
    record(ops[a].kernels[i], kernel_channel_stop, 2000);
    stop(ops[a].kernels[i]);
  } else if (action == "proxy") {
    in >> a >> b >> i >> j >> c >> k;
    Descriptor event = event_of(event_proxy_operation, ops[a].handle);
    event.proxy_operation = {::getpid(), static_cast<std::uint8_t>(i), j, k, 1 << 20, c == "send"};
    proxies[b] = {.comm = ops[a].comm};
    void* context = proxies[b].comm->context;
    if (int pid = 0; in >> pid) {  // the context and the parent are addresses of the other process
      event.proxy_operation.pid = pid;
      event.parent = reinterpret_cast<void*>(0x7fff12345670);
      context = reinterpret_cast<void*>(0x7fff76543210);
    }
    if (ops[a].mask & (event_proxy_operation | event_proxy_step)) proxies[b].handle = start(context, event);
  } else if (action == "run") {
    in >> a;
    record(proxies[a].handle, proxy_operation_in_progress);
  } else if (action == "step") {
    in >> a >> i;
    Descriptor event = event_of(event_proxy_step, proxies[a].handle);
    event.proxy_step.step = i;
    if (proxies[a].handle != nullptr) proxies[a].steps[i] = start(proxies[a].comm->context, event);
  } else if (action == "state") {
    in >> a >> i >> j;
    record(proxies[a].steps[i], j, 4096);
  } else if (action == "done") {
    in >> a >> i;
    stop(proxies[a].steps[i]);
  } else if (action == "finalize") {
    in >> a;
    if (void* context = comms[a].context) (version == 4 ? four->finalize : newer->finalize)(context);
    comms.erase(a);
  } else if (action == "threads") {
    in >> a >> i >> j;
    std::vector<std::thread> threads;
    for (int n = 0; n < i; ++n)
      threads.emplace_back([&, n] {
        for (int times = 0; times < j; ++times) {
          Descriptor event = event_of(event_collective);
          event.collective.function = "AllReduce", event.collective.datatype = "ncclFloat32";
          event.collective.channels = 1, event.collective.count = 1;
          void* const operation = start(comms[a].context, event);
          Descriptor kernel = event_of(event_kernel_channel, operation);
          kernel.kernel_channel.channel = static_cast<std::uint8_t>(n);
          void* const channel = start(comms[a].context, kernel);
          record(channel, kernel_channel_stop, 1);
          stop(channel), stop(operation);
        }
      });
    for (std::thread& it : threads) it.join();
  } else if (action == "fork") {
    if (const pid_t child = ::fork(); child == 0) {
      std::istringstream line{"child 77 1 0"};
      act(line, "comm");
      Descriptor event = event_of(event_collective);
      event.collective.function = "AllReduce";
      start(comms["child"].context, event);
      ::_exit(0);
    } else {
      ::waitpid(child, nullptr, 0);
    }
  } else if (action == "exec") {
    in >> a;
    ::execl("/proc/self/exe", "nccl_player", plugin.c_str(), a.c_str(), nullptr);
  } else if (action == "mask") {
    return std::to_string(mask);
  } else if (action == "pid") {
    return std::to_string(::getpid());
  } else {
    return "unknown action " + action;
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  plugin = argv[1];
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::cerr << ::dlerror() << '\n', 1;
  for (version = std::atoi(argv[2]); version >= 4; --version) {  // as NCCL does: the newest that it knows
    const void* table = ::dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str());
    if (table == nullptr) continue;
    if (version == 4) four = static_cast<const Profiler4*>(table);
    else newer = static_cast<const Profiler*>(table);
    break;
  }
  if (four == nullptr && newer == nullptr) return std::cerr << "no interface\n", 1;
  std::cout << "version " << version << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in{line};
    std::string action;
    in >> action;
    if (action == "quit") break;
    const std::string answer = act(in, action);
    std::cout << (answer.empty() ? "ok" : answer.substr(0, answer.find('\n'))) << std::endl;
  }
}
