#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "stream/values/time.h"

// The load of the benchmarks of the engine: jobs whose signals come once a second.
namespace tocsin::bench {

using stream::Level;
using stream::Time;

// CPU time of this thread: other work on the machine does not count.
struct Clock {
  using duration = std::chrono::nanoseconds;
  static duration now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
  }
};
inline constexpr std::int64_t second = 1'000'000'000;
inline const Time begin = stream::at_nanoseconds(1'780'000'000 * second);

// One job of `ranks` on nodes of eight GPUs, each signal once a second: per node one message with its GPUs, its ranks.
class Load {
 public:
  Load(unsigned ranks, std::vector<std::string> gpu_signals, std::vector<std::string> rank_signals,
       std::string job = "job")
      : job_(std::move(job)),
        ranks_(ranks),
        gpu_signals_(std::move(gpu_signals)),
        rank_signals_(std::move(rank_signals)) {}

  std::vector<std::vector<std::byte>> start() const {
    constexpr unsigned most = 16'384;  // members that a message can name
    std::vector<std::vector<std::byte>> messages;
    for (unsigned from = 0; from < ranks_; from += most) {
      schemas::EntryBuilder b;
      b.about(job_);
      const schemas::EntryBuilder::Field size[] = {{"world_size", static_cast<double>(ranks_), {}, false}};
      if (from == 0) b.event(begin, schemas::EntryBuilder::job(), "start", size, "scheduler");
      for (unsigned r = from; r < std::min(ranks_, from + most); ++r)
        b.event(begin, {Level::rank, r, "n" + std::to_string(r / 8), std::to_string(r % 8)}, "member", {}, "scheduler");
      messages.push_back(schemas::encode(b.entry()));
    }
    return messages;
  }
  [[nodiscard]] unsigned nodes() const { return (ranks_ + 7) / 8; }
  // What a node sends of second `s`: its GPUs, or its ranks.
  [[nodiscard]] std::vector<std::byte> gpus_of(unsigned node, unsigned s, Time time) const {
    schemas::EntryBuilder b;
    b.about(job_, {}, "n" + std::to_string(node));
    for (unsigned g = 0; g < 8; ++g) {
      std::vector<schemas::EntryBuilder::Value> values;
      for (const auto& signal : gpu_signals_)
        values.push_back({signal, value(signal, wobble(node * 8 + g, 2654435761u, s * 40503u)), {}, false});
      b.sample(time, {Level::gpu, 0, "n" + std::to_string(node), std::to_string(g)}, values, "sampler");
    }
    return schemas::encode(b.entry());
  }
  [[nodiscard]] std::vector<std::byte> ranks_of(unsigned node, unsigned s, Time time) const {
    schemas::EntryBuilder b;
    b.about(job_, {}, "n" + std::to_string(node));
    for (unsigned r = node * 8; r < node * 8 + 8; ++r) {
      std::vector<schemas::EntryBuilder::Value> values{{"step", static_cast<double>(s), {}, false}};
      for (const auto& signal : rank_signals_)
        values.push_back({signal, value(signal, wobble(r, 2246822519u, s * 30011u)), {}, false});
      b.sample(time, {Level::rank, r, {}, {}}, values, "profiler");
    }
    return schemas::encode(b.entry());
  }
  std::vector<std::vector<std::byte>> second_of(unsigned s) const {
    std::vector<std::vector<std::byte>> messages;
    const Time time = begin + std::chrono::seconds{s};
    for (unsigned node = 0; node < nodes(); ++node) {
      messages.push_back(gpus_of(node, s, time));
      messages.push_back(ranks_of(node, s, time));
    }
    return messages;
  }
  static std::vector<std::byte> beat() {
    schemas::EntryBuilder b;
    b.beat();
    return schemas::encode(b.entry());
  }
  [[nodiscard]] std::size_t samples_per_second() const {
    return ranks_ * (gpu_signals_.size() + rank_signals_.size() + 1);
  }

 private:
  static double wobble(unsigned member, unsigned factor, unsigned more) {
    return static_cast<double>((member * factor + more) % 1000) / 1000.0;
  }
  static double value(const std::string& signal, double wobble) {
    if (signal == "sm_clock") return 1700 + 10 * wobble;
    if (signal == "gpu_temperature") return 60 + wobble;
    if (signal == "data_time") return 0.01 + 0.001 * wobble;
    if (signal.find("throttle") != std::string::npos || signal == "row_remap_failure") return 0;
    if (signal == "collective_launched" || signal == "collective_done") return 0;
    return 0.5 + 0.02 * wobble;
  }
  std::string job_;
  unsigned ranks_;
  std::vector<std::string> gpu_signals_, rank_signals_;
};

inline const std::vector<std::string> gpu_signals{
    "sm_active",        "gr_engine_active", "tensor_active",    "sm_clock",
    "gpu_power",        "gpu_temperature",  "gpu_memory_used",  "gpu_memory_used_ratio",
    "throttle_thermal", "throttle_brake",   "row_remap_failure"};
inline const std::vector<std::string> rank_signals{"compute_time", "data_time",          "comm_time",
                                                   "step_time",    "process_cpu",        "process_rss",
                                                   "tokens_per_s", "collective_launched"};

}  // namespace tocsin::bench
