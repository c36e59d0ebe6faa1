// A library with the names of NVIDIA's: four GPUs, of which 2 is hot and slow, and 1 reports XID 79 where FAKE_NVML_XID
// holds after how many waits. A line "INDEX PID" of the file FAKE_NVML_PROCESSES puts a process on a GPU. GPU 3 does
// not tell its power; 0 hangs in the call that FAKE_NVML_HANGS names.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

constexpr int ok = 0, not_supported = 3, timed_out = 10;
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
int devices[4] = {0, 1, 2, 3};
int number(void* device) { return *static_cast<int*>(device); }

}  // namespace

extern "C" {
int nvmlInit_v2() { return ok; }
int nvmlShutdown() { return ok; }
const char* nvmlErrorString(int result) { return result == not_supported ? "Not Supported" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 4, ok; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return *device = &devices[index], ok; }
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", 0x1b + number(device));
  return ok;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return std::snprintf(text, size, "GPU-%d", number(device)), ok;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) { return std::snprintf(text, size, "Fake 80GB"), ok; }
int nvmlDeviceGetUtilizationRates(void* device, unsigned* two) {
  if (std::getenv("FAKE_NVML_HANGS") != nullptr && number(device) == 0)
    for (;;) ::pause();
  return two[0] = 97, two[1] = 40, ok;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* three) {
  return three[0] = 80ull << 30, three[1] = 20ull << 30, three[2] = 60ull << 30, ok;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return *milliwatts = 350'500, number(device) == 3 ? not_supported : ok;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return *milliwatts = 700'000, ok; }
int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* celsius) {
  return *celsius = number(device) == 2 ? 91 : 60, ok;
}
int nvmlDeviceGetClockInfo(void* device, unsigned, unsigned* megahertz) {
  return *megahertz = number(device) == 2 ? 900 : 1700, ok;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  return *bits = number(device) == 2 ? 0x40 : 0x4, ok;
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned, unsigned long long* errors) {
  return *errors = type == 0 && number(device) == 1 ? 7 : 0, ok;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  return *corrected = *uncorrected = *pending = *failed = 0, ok;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) { return *active = link < 2, ok; }
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned, unsigned counter, unsigned long long* errors) {
  return *errors = counter == 2 ? 5 : 0, ok;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  *count = 0;
  const char* path = std::getenv("FAKE_NVML_PROCESSES");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return ok;
  int index = 0;
  unsigned pid = 0;
  while (std::fscanf(file, "%d %u", &index, &pid) == 2)
    if (index == number(device)) processes[(*count)++] = {pid, 1ull << 30, ~0u, ~0u};
  std::fclose(file);
  return ok;
}
int nvmlEventSetCreate(void** set) { return *set = devices, ok; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return ok; }
int nvmlEventSetWait_v2(void*, Event* event, unsigned milliseconds) {
  static int waits = 0;
  const char* when = std::getenv("FAKE_NVML_XID");
  if (when != nullptr && ++waits == std::atoi(when)) {
    *event = {&devices[1], 8, 79, 0, 0};
    return ok;
  }
  const timespec time{milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1'000'000};
  ::nanosleep(&time, nullptr);
  return timed_out;
}
}
