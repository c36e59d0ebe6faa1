#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/evidence/stack_taker.h"
#include "adapters/node/job_place.h"
#include "adapters/wrap/process_tree.h"

namespace tocsin::adapters::node {

// Which processes belong to a job that a scheduler or a launcher started: all jobs, or one of them. A process that has
// just begun may come into its control group, or run its program, a moment later.
class JobKin final : public wrap::Kin {
 public:
  explicit JobKin(std::string host, std::optional<JobPlace> one = {}) : host_(std::move(host)), one_(std::move(one)) {}

  [[nodiscard]] Answer of(const wrap::Process& process) override;
  [[nodiscard]] std::string_view set_before(const wrap::Process& process) const override;
  // Of a process of the tree; null: of none.
  [[nodiscard]] const JobPlace* place_of(const wrap::Process& process,
                                         const std::unordered_map<pid_t, wrap::Process>& processes) const;
  // Drops what is known of processes that have gone.
  void keep(const std::unordered_map<pid_t, wrap::Process>& processes);

 private:
  std::string host_;
  std::optional<JobPlace> one_;
  std::unordered_map<pid_t, JobPlace> places_;
  mutable std::string before_;
};

struct NodeJob {
  JobPlace place;
  std::uint32_t world_size = 0;                // 0: not known
  std::vector<evidence::StackTarget> ranks{};  // that run on this machine, by rank
  uid_t user = 0;                              // whose they are
  bool wrapped = false;                        // `tocsin wrap` records it
  bool shared = false;                         // a job of another user has the same name, by choice
};

// Processes of a job that name ranks which cannot be: what a person should set otherwise.
struct RankConflict {
  NodeJob job;  // without its ranks
  std::string why;
};

// The jobs of this machine that have ranks, whoever started them. Owned by a command or by the agent; one pass over
// /proc finds what is new.
class NodeJobs {
 public:
  explicit NodeJobs(std::string host) : kin_(std::move(host)), tree_(kin_) {}
  [[nodiscard]] std::vector<NodeJob> look();
  [[nodiscard]] const std::vector<RankConflict>& conflicts() const noexcept { return conflicts_; }  // of the last look

 private:
  void find_impossible();
  void find_claimed_twice(const NodeJob& job, const std::unordered_map<pid_t, wrap::Process>& processes);

  JobKin kin_;
  wrap::ProcessTree tree_;
  std::vector<RankConflict> conflicts_;
};

// Why /proc does not show the processes of others, and what to do about it. Empty: it shows them.
[[nodiscard]] std::string why_hidden();

[[nodiscard]] std::string user_name(uid_t user);

// "job 4711 step 0: ranks 0-3 of 8, pids 10, 11, 12, 13, by Slurm's cgroup".
[[nodiscard]] std::string text_of(const NodeJob& job);
// "job llama: process 12 (sleep 9) has RANK=5 and WORLD_SIZE=4, so …".
[[nodiscard]] std::string text_of(const RankConflict& conflict);

}  // namespace tocsin::adapters::node
