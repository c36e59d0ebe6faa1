#include "adapters/wrap/nvml.h"

#include <dlfcn.h>
#include <poll.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace tocsin::adapters::wrap {

namespace {

// The library's own binary interface, as far as it is used.
using Device = void*;
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct Violation {
  unsigned long long reference, violation;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
constexpr int ok = 0, timed_out = 10, gpu_is_lost = 15, not_there = 13;  // not_there: the library has no such function
constexpr unsigned clock_of_sm = 1, temperature_of_gpu = 0, policy_thermal = 1, volatile_counter = 0, links = 18;
constexpr unsigned long long xid_event = 8;
constexpr int between_links = 10;  // reads

template <std::size_t size>
void put(char (&to)[size], std::string_view text) {
  const std::size_t n = std::min(text.size(), size - 1);
  std::copy_n(text.begin(), n, to);
  to[n] = '\0';
}

}  // namespace

struct Nvml::State {
  struct Gpu {
    Device device = nullptr;
    GpuReport report;  // what does not change
  };
  void* library = nullptr;
  void* events = nullptr;
  std::vector<Gpu> gpus;
  std::set<std::pair<unsigned, std::string>> failed;
  int reads = 0;

  // The result of a call by its name, as the library gives it.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    void* symbol = ::dlsym(library, name);
    return symbol == nullptr ? not_there : reinterpret_cast<Function>(symbol)(arguments...);
  }
  std::string why(int result) const {
    using Function = const char* (*)(int);
    void* symbol = ::dlsym(library, "nvmlErrorString");
    const char* text = symbol == nullptr ? nullptr : reinterpret_cast<Function>(symbol)(result);
    return (text != nullptr ? std::string{text} : "an error without a name") + " (" + std::to_string(result) + ")";
  }
  // Whether a call on that GPU worked; the first time that it does not is reported.
  bool worked(const Gpu& gpu, const char* name, int result, const Report& report) {
    if (result == ok) return true;
    if (!failed.emplace(gpu.report.index, name).second) return false;
    GpuReport failure = gpu.report;
    failure.kind = GpuReport::Kind::failure;
    put(failure.call, name);
    put(failure.reason, result == not_there ? std::string{"the library has no such function"} : why(result));
    report(failure);
    if (result == gpu_is_lost && failed.emplace(gpu.report.index, "lost").second) {
      failure.kind = GpuReport::Kind::lost;
      report(failure);
    }
    return false;
  }
  template <class... Arguments>
  bool ask(const Gpu& gpu, const Report& report, const char* name, Arguments... arguments) {
    return worked(gpu, name, call(name, gpu.device, arguments...), report);
  }
  void find();
  void sample(Gpu& gpu, const Report& report);
  void sample_links(Gpu& gpu, GpuReport& out, const Report& report);
};

std::string_view signal_of(GpuReport::Value value) noexcept {
  constexpr std::string_view names[] = {
      "gr_engine_active", "gpu_memory_used",   "gpu_memory_used_ratio", "gpu_power",        "gpu_power_limit",
      "gpu_temperature",  "sm_clock",          "clock_event_reasons",   "throttle_thermal", "ecc_corrected",
      "ecc_uncorrected",  "row_remap_failure", "nvlink_replay",         "nvlink_recovery",  "nvlink_crc"};
  static_assert(std::size(names) == GpuReport::values);
  return names[value];
}

Nvml::Nvml(std::unique_ptr<State> state) : state_(std::move(state)) {}
Nvml::~Nvml() { (void)state_->call("nvmlShutdown"); }

std::unique_ptr<Nvml> Nvml::open(std::string& reason) {
  auto state = std::make_unique<State>();
  state->library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (state->library == nullptr) {
    reason = ::dlerror();
    return nullptr;
  }
  if (const int result = state->call("nvmlInit_v2"); result != ok) {
    reason = "nvmlInit_v2: " + state->why(result);
    return nullptr;
  }
  state->find();
  return std::unique_ptr<Nvml>{new Nvml{std::move(state)}};
}

void Nvml::State::find() {
  unsigned count = 0;
  if (call("nvmlDeviceGetCount_v2", &count) != ok) return;
  const bool has_events = call("nvmlEventSetCreate", &events) == ok;
  for (unsigned i = 0; i < count; ++i) {
    Gpu& gpu = gpus.emplace_back();
    gpu.report.index = i;
    gpu.report.value.fill(GpuReport::none);
    PciInfo pci{};
    if (call("nvmlDeviceGetHandleByIndex_v2", i, &gpu.device) != ok ||
        call("nvmlDeviceGetPciInfo_v3", gpu.device, &pci) != ok) {
      gpus.pop_back();  // without an address it has no name; the kernel's log reports it
      continue;
    }
    put(gpu.report.pci, std::string_view{pci.bus_id});
    (void)call("nvmlDeviceGetUUID", gpu.device, &gpu.report.uuid[0], static_cast<unsigned>(sizeof gpu.report.uuid));
    (void)call("nvmlDeviceGetName", gpu.device, &gpu.report.model[0], static_cast<unsigned>(sizeof gpu.report.model));
    gpu.report.events = has_events && call("nvmlDeviceRegisterEvents", gpu.device, xid_event, events) == ok;
  }
}

void Nvml::State::sample_links(Gpu& gpu, GpuReport& out, const Report& report) {
  constexpr std::pair<unsigned, GpuReport::Value> counters[] = {
      {0, GpuReport::link_replay}, {1, GpuReport::link_recovery}, {2, GpuReport::link_crc}};
  for (unsigned link = 0; link < links; ++link) {
    unsigned active = 0;
    if (call("nvmlDeviceGetNvLinkState", gpu.device, link, &active) != ok || active == 0) continue;
    for (const auto& [counter, value] : counters) {
      unsigned long long errors = 0;
      if (!ask(gpu, report, "nvmlDeviceGetNvLinkErrorCounter", link, counter, &errors)) continue;
      out.value[value] = (out.value[value] == GpuReport::none ? 0 : out.value[value]) + static_cast<double>(errors);
    }
  }
}

void Nvml::State::sample(Gpu& gpu, const Report& report) {
  GpuReport out = gpu.report;
  unsigned number = 0, other = 0, pending = 0, failure = 0;
  unsigned long long wide = 0;
  if (Utilization used{}; ask(gpu, report, "nvmlDeviceGetUtilizationRates", &used))
    out.value[GpuReport::utilization] = used.gpu / 100.0;
  if (Memory memory{}; ask(gpu, report, "nvmlDeviceGetMemoryInfo", &memory)) {
    out.value[GpuReport::memory_used] = static_cast<double>(memory.used);
    if (memory.total > 0)
      out.value[GpuReport::memory_ratio] = static_cast<double>(memory.used) / static_cast<double>(memory.total);
  }
  if (ask(gpu, report, "nvmlDeviceGetPowerUsage", &number)) out.value[GpuReport::power] = number / 1000.0;
  if (ask(gpu, report, "nvmlDeviceGetEnforcedPowerLimit", &number)) out.value[GpuReport::power_limit] = number / 1000.0;
  if (ask(gpu, report, "nvmlDeviceGetTemperature", temperature_of_gpu, &number))
    out.value[GpuReport::temperature] = number;
  if (ask(gpu, report, "nvmlDeviceGetClockInfo", clock_of_sm, &number)) out.value[GpuReport::sm_clock] = number;
  // The newer name, and the one before it.
  if (call("nvmlDeviceGetCurrentClocksEventReasons", gpu.device, &wide) == ok ||
      ask(gpu, report, "nvmlDeviceGetCurrentClocksThrottleReasons", &wide))
    out.value[GpuReport::clock_reasons] = static_cast<double>(wide);
  if (Violation slowed{}; ask(gpu, report, "nvmlDeviceGetViolationStatus", policy_thermal, &slowed))
    out.value[GpuReport::thermal] = static_cast<double>(slowed.violation) * 1e-9;
  if (ask(gpu, report, "nvmlDeviceGetTotalEccErrors", 0u, volatile_counter, &wide))
    out.value[GpuReport::ecc_corrected] = static_cast<double>(wide);
  if (ask(gpu, report, "nvmlDeviceGetTotalEccErrors", 1u, volatile_counter, &wide))
    out.value[GpuReport::ecc_uncorrected] = static_cast<double>(wide);
  if (ask(gpu, report, "nvmlDeviceGetRemappedRows", &number, &other, &pending, &failure))
    out.value[GpuReport::remap_failure] = failure;
  if (reads % between_links == 0) sample_links(gpu, out, report);
  std::array<ProcessInfo, GpuReport::most_processes> running{};
  unsigned count = static_cast<unsigned>(running.size());
  if (ask(gpu, report, "nvmlDeviceGetComputeRunningProcesses_v3", &count, running.data())) {
    out.processes = std::min(count, static_cast<unsigned>(running.size()));
    for (unsigned i = 0; i < out.processes; ++i) out.pid[i] = running[i].pid;
  }
  report(out);
}

void Nvml::read(const Report& report) {
  for (State::Gpu& gpu : state_->gpus) state_->sample(gpu, report);
  ++state_->reads;
}

void Nvml::wait(int milliseconds, const Report& report) {
  const bool waits =
      std::any_of(state_->gpus.begin(), state_->gpus.end(), [](const State::Gpu& gpu) { return gpu.report.events; });
  EventData data{};
  const int result =
      waits ? state_->call("nvmlEventSetWait_v2", state_->events, &data, static_cast<unsigned>(milliseconds))
            : timed_out;
  if (result == ok && data.type == xid_event) {
    for (const State::Gpu& gpu : state_->gpus) {
      if (gpu.device != data.device) continue;
      GpuReport error = gpu.report;
      error.kind = GpuReport::Kind::xid;
      error.xid = data.data;
      report(error);
    }
  } else if (!waits || result != timed_out) {
    ::poll(nullptr, 0, milliseconds);
  }
}

}  // namespace tocsin::adapters::wrap
