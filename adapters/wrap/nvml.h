#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace tocsin::adapters::wrap {

// What NVML shows of one GPU, or one thing that happened. Plain bytes: it goes from one process to another as a
// datagram.
struct GpuReport {
  enum class Kind : std::uint8_t {
    sample,
    xid,      // the driver reported error `xid`
    lost,     // the GPU does not answer any more
    failure,  // NVML did not answer `call`, for `reason`: each is reported once
  };
  enum Value : std::uint8_t {
    utilization,   // ratio
    memory_used,   // bytes
    memory_ratio,  // of all
    power,         // watts
    power_limit,
    temperature,  // celsius
    sm_clock,     // MHz
    clock_reasons,
    thermal,  // seconds, a counter
    ecc_corrected,
    ecc_uncorrected,
    remap_failure,
    link_replay,
    link_recovery,
    link_crc,
    values,
  };
  static constexpr double none = std::numeric_limits<double>::infinity();
  static constexpr std::size_t most_processes = 64;

  Kind kind = Kind::sample;
  bool events = false;  // errors of the driver are reported for this GPU: that none came means none
  unsigned index = 0;
  char pci[32] = {}, uuid[96] = {}, model[96] = {};
  std::array<double, values> value{};  // none: unknown
  std::array<unsigned, most_processes> pid{};
  unsigned processes = 0;
  std::uint64_t xid = 0;
  char call[64] = {}, reason[96] = {};
};

// The names under which rules know the values, in their order.
[[nodiscard]] std::string_view signal_of(GpuReport::Value value) noexcept;

// NVIDIA's management library, found at run time: nothing of it is needed to build. A call that fails is a reason, and
// the rest goes on. Any call can block for ever on a GPU that is ill, so a process of its own owns this.
class Nvml {
 public:
  // Null: it is not installed, or does not start; `reason` says why.
  [[nodiscard]] static std::unique_ptr<Nvml> open(std::string& reason);
  ~Nvml();

  using Report = std::function<void(const GpuReport&)>;
  void read(const Report& report);
  // Returns after that time, or a little earlier; reports errors of the driver at once.
  void wait(int milliseconds, const Report& report);

 private:
  struct State;
  explicit Nvml(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::wrap
