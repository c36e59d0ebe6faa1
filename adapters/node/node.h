#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "adapters/node/node_jobs.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::node {

struct NodeOptions {
  std::filesystem::path state;                   // where journals, and the bundles beside them, are kept
  std::string node;                              // this machine, as records name it
  std::function<bool(const NodeJob&)> recorded;  // whether the job is recorded
  std::function<std::string()> attempts;         // what the names of the attempts of a job begin with
  std::size_t most_jobs = 64;                    // at once
  std::uint64_t journal_bytes = 64u << 20, state_bytes = 1u << 30;
};

// Records the jobs of this machine that no `wrap` records, and has each journal sent by `send`, until SIGTERM or
// SIGINT. What a job has not sent then is sent by the next agent, which goes on with the attempts of the jobs that run.
// Called once, by a process without threads: it forks. Returns its exit code.
[[nodiscard]] int run_node(const NodeOptions& options, const wrap::EngineEntry& send);

}  // namespace tocsin::adapters::node
