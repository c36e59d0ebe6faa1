#include "bench/kafka/workload.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "schemas/codec.h"
#include "stream/job/murmur2.h"

namespace tocsin::bench {

using schemas::EntryBuilder;
using stream::Level;
using stream::Time;

namespace {

constexpr unsigned ranks_a_node = 8;
// Stand where a time, a step and a sequence number will be written; nothing else in a message has these bytes.
constexpr std::int64_t time_mark = 0x1b2c3d4e5f60718;
constexpr double step_mark = 1'234'567.0;
constexpr std::uint64_t sequence_mark = 0x5a5b5c5d5e5f6061;
constexpr char progress_mark[] = "iter 75310000: loss 0.7531";

// What DCGM's exporters send of a GPU, and what a profiler and `wrap` send of a rank; rules read 24 of the 50.
const std::vector<std::string> signals_of_gpus{"sm_active",        "gr_engine_active", "tensor_active",
                                               "sm_clock",         "gpu_power",        "gpu_power_limit",
                                               "gpu_temperature",  "gpu_memory_used",  "gpu_memory_used_ratio",
                                               "throttle_thermal", "throttle_brake",   "clock_event_reasons",
                                               "nvlink_replay",    "nvlink_recovery",  "nvlink_crc",
                                               "ecc_corrected",    "ecc_uncorrected",  "row_remap_failure",
                                               "dcgm_pcie_tx",     "dcgm_pcie_rx",     "dcgm_nvlink_tx",
                                               "dcgm_nvlink_rx",   "dcgm_fp16_active", "dcgm_fp32_active",
                                               "dcgm_dram_active"};
const std::vector<std::string> signals_of_ranks{"step",
                                                "step_time",
                                                "compute_time",
                                                "data_time",
                                                "comm_time",
                                                "tokens_per_s",
                                                "collective_launched",
                                                "collective_done",
                                                "process_cpu",
                                                "process_rss",
                                                "wait_share",
                                                "children_cpu",
                                                "rank_hung",
                                                "site_forward_time",
                                                "site_backward_time",
                                                "site_optimizer_time",
                                                "site_batch_size",
                                                "site_sequence_length",
                                                "site_queue_length",
                                                "site_cache_hits",
                                                "site_allocated",
                                                "site_reserved",
                                                "site_retries",
                                                "site_network_tx",
                                                "site_network_rx"};
const std::vector<std::string> signals_that_rules_read{
    "step",       "step_time",    "compute_time", "data_time",           "process_cpu",
    "wait_share", "children_cpu", "rank_hung",    "collective_launched", "collective_done"};

bool counts_steps(const std::string& signal) {
  return signal == "step" || signal == "collective_launched" || signal == "collective_done";
}
bool stays_zero(const std::string& signal) {
  for (const char* part : {"throttle", "row_remap", "ecc_", "nvlink_re", "nvlink_crc", "event_reasons", "hung"})
    if (signal.find(part) != signal.npos) return true;
  return false;
}

// Of a healthy rank: within two per cent of its peers'.
double value(const std::string& signal, double wobble) {
  if (counts_steps(signal)) return step_mark;
  if (stays_zero(signal)) return 0;
  if (signal == "sm_clock") return 1700 + static_cast<int>(10 * wobble);
  if (signal == "gpu_temperature") return 60 + static_cast<int>(2 * wobble);
  if (signal == "gpu_power") return 600 + static_cast<int>(8 * wobble);
  if (signal == "gpu_power_limit") return 700;
  if (signal == "data_time") return 0.015625;
  return 0.5 + static_cast<int>(20 * wobble) / 1024.0;
}

double wobble(unsigned member, unsigned signal, unsigned variant) {
  return static_cast<double>((member * 2654435761u + signal * 40503u + variant * 2246822519u) % 1000) / 1000.0;
}

const char* ordinary_lines[] = {"n%u:5776:5902 [%u] NCCL INFO Channel 03/0 : 12[4] -> 13[5] via P2P/CUMEM/read",
                                "[2026-02-03 04:05:06,%03u] [INFO] [utils.py:781:see_memory_usage] MA 31.%02u GB       "
                                "  Max_MA 33.1 GB         CA 40.2 GB         "
                                "Max_CA 72 GB",
                                "time (ms) | forward-compute: 84.%02u | backward-compute: 161.%02u | "
                                "backward-params-all-reduce: 2.11 | optimizer: 4.25",
                                "2026-02-03 04:05:06 | INFO | tokenizer | worker %u read shard 000%u.bin with 412 "
                                "documents of which 3 were too long",
                                "[rank%u]: loading shard %u of 64 from /data/corpus/part-00017.parquet"};

std::string line(unsigned rank, unsigned number) {
  char text[256];
  if ((rank + number) % 100 == 0) std::snprintf(text, sizeof text, "%s, time 512.10ms, mfu 31.66%%", progress_mark);
  else
    std::snprintf(text, sizeof text, ordinary_lines[(rank + number) % std::size(ordinary_lines)], rank % 100,
                  number % 100);
  return text;
}

template <class T>
std::vector<std::uint32_t> places_of(const std::vector<std::byte>& bytes, const T& mark, std::size_t size = sizeof(T),
                                     std::size_t step = 4) {
  std::vector<std::uint32_t> places;
  for (std::size_t at = 0; at + size <= bytes.size(); at += step)
    if (std::memcmp(bytes.data() + at, &mark, size) == 0) places.push_back(static_cast<std::uint32_t>(at));
  return places;
}

Prepared prepared(EntryBuilder& builder, std::uint32_t job, std::size_t samples, std::size_t lines, std::size_t steps) {
  Prepared made;
  made.bytes = schemas::encode(builder.entry());
  made.job = job;
  made.samples = static_cast<std::uint32_t>(samples);
  made.lines = static_cast<std::uint32_t>(lines);
  made.times = places_of(made.bytes, time_mark);
  made.steps = places_of(made.bytes, static_cast<float>(step_mark));
  if (lines > 0) made.progress = places_of(made.bytes, progress_mark, sizeof progress_mark - 1, 1);
  const auto sequence = places_of(made.bytes, sequence_mark);
  if (made.times.empty() || sequence.size() > 1 || made.steps.size() != steps)
    throw std::logic_error("the places that change are not found in a message");
  if (!sequence.empty()) made.sequence = sequence[0];
  return made;
}

void add_samples(EntryBuilder& builder, std::span<const EntryBuilder::Member> members,
                 std::span<const std::string> signals, unsigned first, unsigned variant, std::string_view source,
                 std::size_t& steps) {
  std::vector<EntryBuilder::Value> values(signals.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    for (std::size_t s = 0; s < signals.size(); ++s) {
      values[s] = {signals[s],
                   value(signals[s], wobble(first + static_cast<unsigned>(m), static_cast<unsigned>(s), variant)),
                   {},
                   false};
      steps += counts_steps(signals[s]);
    }
    builder.sample(stream::at_nanoseconds(time_mark), members[m], values, source);
  }
}

std::string node_name(unsigned node) { return "n" + std::to_string(node); }

}  // namespace

void Prepared::set(Time time, std::uint64_t second) {
  const std::int64_t at = stream::nanoseconds(time);
  const float step = static_cast<float>(second);
  const std::uint64_t number = second + 1;
  for (const std::uint32_t place : times) std::memcpy(bytes.data() + place, &at, sizeof at);
  for (const std::uint32_t place : steps) std::memcpy(bytes.data() + place, &step, sizeof step);
  if (!progress.empty()) {
    char text[64];
    std::snprintf(text, sizeof text, "iter %08u: loss %.4f", static_cast<unsigned>(second),
                  0.2 + 0.7 / (1 + 0.01 * static_cast<double>(second)));
    for (const std::uint32_t place : progress) std::memcpy(bytes.data() + place, text, sizeof progress_mark - 1);
  }
  if (sequence != 0) std::memcpy(bytes.data() + sequence, &number, sizeof number);
}

Workload::Workload(const Telemetry& telemetry) : telemetry_(telemetry), variants_(telemetry.variants) {
  for (unsigned j = 0; j < telemetry.jobs; ++j) {
    const std::string name = "job" + std::to_string(j);
    jobs_.push_back({name, static_cast<int>(stream::murmur2(name) % telemetry.partitions)});
  }
  EntryBuilder b;
  const auto begin = [&](unsigned job, const std::string& producer, const std::string& node) {
    b.clear();
    b.about(jobs_[job].name, {}, node);
    b.produced_by(producer, 1, sequence_mark);
  };
  std::vector<EntryBuilder::Member> members;
  for (unsigned variant = 0; variant < telemetry.variants; ++variant) {
    auto& messages = variants_[variant];
    // Jobs in turn, so that those of each are spread over the second.
    if (telemetry.form.members == 0) {
      for (unsigned node = 0; node * ranks_a_node < telemetry.ranks; ++node)
        for (unsigned job = 0; job < telemetry.jobs; ++job) {
          const std::string name = node_name(job * ((telemetry.ranks + 7) / 8) + node);
          const unsigned first = node * ranks_a_node;
          for (const bool of_gpus : {true, false}) {
            begin(job, (of_gpus ? "g" : "r") + name, name);
            members.clear();
            for (unsigned i = 0; i < ranks_a_node; ++i)
              members.push_back(of_gpus ? EntryBuilder::Member{Level::gpu, 0, name, std::to_string(i)}
                                        : EntryBuilder::rank(first + i));
            const auto& signals = of_gpus ? signals_of_gpus : signals_of_ranks;
            std::size_t steps = 0;
            add_samples(b, members, signals, first, variant, of_gpus ? "sampler" : "profiler", steps);
            messages.push_back(prepared(b, job, members.size() * signals.size(), 0, steps));
          }
          if (telemetry.lines > 0) messages.push_back(lines(job, node, telemetry.lines * ranks_a_node, "l" + name));
        }
      continue;
    }
    const Form form = telemetry.form;
    const std::span<const std::string> signals{signals_that_rules_read};
    for (unsigned first = 0; first < telemetry.ranks; first += form.members)
      for (unsigned from = 0; from + form.width <= signals.size(); from += form.width)
        for (unsigned job = 0; job < telemetry.jobs; ++job) {
          b.clear();
          b.about(jobs_[job].name);
          members.clear();
          for (unsigned r = first; r < first + form.members; ++r) members.push_back(EntryBuilder::rank(r));
          std::size_t steps = 0;
          add_samples(b, members, signals.subspan(from, form.width), first + from * 7, variant, {}, steps);
          messages.push_back(prepared(b, job, members.size() * form.width, 0, steps));
        }
  }
}

std::vector<std::byte> Workload::start(std::uint32_t job, Time time) const {
  EntryBuilder b;
  b.about(jobs_[job].name);
  const EntryBuilder::Field size[] = {{"world_size", static_cast<double>(telemetry_.ranks), {}, false}};
  b.event(time, EntryBuilder::job(), "start", size, "scheduler");
  const unsigned first_node = job * ((telemetry_.ranks + 7) / 8);
  for (unsigned r = 0; r < telemetry_.ranks; ++r)
    b.event(time, {Level::rank, r, node_name(first_node + r / ranks_a_node), std::to_string(r % ranks_a_node)},
            "member", {}, "scheduler");
  return schemas::encode(b.entry());
}

Prepared Workload::lines(std::uint32_t job, unsigned node, unsigned count, const std::string& producer) const {
  const std::string name = node_name(job * ((telemetry_.ranks + 7) / 8) + node);
  EntryBuilder b;
  b.about(jobs_[job].name, {}, name);
  b.produced_by(producer, 1, sequence_mark);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned rank = node * ranks_a_node + i % ranks_a_node;
    b.line(stream::at_nanoseconds(time_mark), EntryBuilder::rank(rank), line(rank, i / ranks_a_node + 7 * rank));
  }
  return prepared(b, job, 0, count, 0);
}

}  // namespace tocsin::bench
