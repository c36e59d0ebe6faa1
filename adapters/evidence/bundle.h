#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "adapters/evidence/background.h"
#include "adapters/evidence/stack_taker.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::evidence {

struct BundleLimits {
  std::uint64_t all = 16u << 20, file = 4u << 20;  // bytes
  stream::Duration apart = std::chrono::minutes{10};
  std::size_t kept = 4;  // of a run: the first and the newest
};

struct BundleRequest {
  std::filesystem::path run;  // the directory of the journal
  std::string job, node;
  stream::Time now{};
  std::vector<StackTarget> targets{};  // the ranks of this node
  std::vector<ProcessStack> stacks{};  // taken just now; empty: the bundle takes them
  bool gdb = false;
  BundleLimits limits{};
};

// What came of one part of a bundle.
struct BundlePart {
  std::string name;
  std::uint64_t bytes = 0;
  std::string missing{};  // why it is not there, with the remedy where there is one
  bool cut = false;       // it was longer
};

struct BundleReport {
  std::string name;  // of its directory, below that of the journal
  std::string job, node, begun;
  bool complete = false;
  std::string groups;  // "3 of 4 ranks: all_reduce < train_step (train.py:41); rank 2: …"
  std::vector<BundlePart> parts;
};

// What is gathered at the first sign of a hang, before somebody kills the job, in a directory beside its journal:
// stacks, flight recorder dumps, the GPUs' state, the kernel's log, /proc of each rank and its last lines. Nothing in
// it is a value of a variable, secrets in lines are masked, and of environments only named variables are there.
// Gathered by a process of its own, each part in one more with a time limit. Owned by the Recorder, or by a command.
class Bundle {
 public:
  // Refused while another is gathered, or where the last one of the run is too young.
  [[nodiscard]] stream::Result<void> begin(BundleRequest request);
  [[nodiscard]] bool running() const noexcept { return work_.running(); }
  [[nodiscard]] int descriptor() const noexcept { return work_.descriptor(); }
  // As StackTaker::poll().
  [[nodiscard]] std::optional<BundleReport> poll();

 private:
  std::string name_;
  Background work_;
};

[[nodiscard]] formats::Json to_json(const BundleReport& report);
// The bundles of a run, the oldest first, by their manifests.
[[nodiscard]] std::vector<BundleReport> bundles_of(const std::filesystem::path& run);

}  // namespace tocsin::adapters::evidence
