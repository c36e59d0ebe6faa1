#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/ingest/placement.h"
#include "adapters/ingest/records.h"
#include "adapters/ingest/rekey.h"
#include "schemas/codec.h"
#include "stream/rules/pack.h"

namespace tocsin::adapters::ingest {

// What the rules of the cluster need of the records of nodes and GPUs: nothing, where a pack has none.
struct ClusterNeeds {
  std::set<std::string, std::less<>> signals;  // with their aliases
  std::set<std::string, std::less<>> events;
  std::set<std::string, std::less<>> lines;  // the sources whose lines can become such events

  [[nodiscard]] bool any() const noexcept { return !signals.empty() || !events.empty(); }
};
[[nodiscard]] ClusterNeeds cluster_needs(const stream::Pack& pack);

// The records of one message as entries, one for each job and attempt in it, that say where they come from. The same
// message makes the same entries with the same numbers, so that those that are written again after a restart are known
// as repeated. A record that names a node and no job is copied to each job on the node, and what the rules of the
// cluster need to the cluster, one entry a node. Numbers never depend on where jobs are: who reads a message again, and
// knows other jobs on a node, repeats no number. Owned by the reader of a source; reuses its working memory.
class Rekeyer final : public Output {
 public:
  static constexpr std::size_t most_jobs = 256, most_records = 20'000;  // of a message; of an entry
  static constexpr std::uint64_t most_attempts = 15;                    // of a job in a message
  static constexpr std::uint64_t most_nodes = 4096;                     // of a message
  static constexpr std::uint64_t most_jobs_of_node = 7;                 // that labels name

  // `beyond` gets what is left out, and what is unwanted.
  explicit Rekeyer(Output& beyond) : beyond_(&beyond) {}

  // Where the jobs are; outlives it. Without, no record is copied.
  void copy_by(Placement& placement) noexcept { placement_ = &placement; }
  void cluster_needs(ClusterNeeds needs) { needs_ = std::move(needs); }
  // The nodes and jobs of the message that the topic of placements is to have, and those that left; without a node, a
  // job's allocation.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& placed() const noexcept { return placed_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& left() const noexcept { return left_; }

  // The message at `offset` of `source` (topic/partition), appended there at `arrival`.
  void begin(std::string_view source, std::uint64_t offset, stream::Time arrival);
  // Behind the message: brings its entries into the order of their numbers, in which the engine must have those of the
  // cluster.
  void finish();
  void record(const Record& record) override;
  void without_job(const Record& record, const std::function<LeftOut()>& why) override;
  void left_out(const LeftOut& part) override { beyond_->left_out(part); }
  void unwanted(std::uint64_t values) override { beyond_->unwanted(values); }

  // Of the message, by job in the order in which they were begun, then those of the cluster; an entry is valid until
  // the next begin().
  [[nodiscard]] std::size_t entries() const noexcept { return used_; }
  [[nodiscard]] const stream::Entry& entry(std::size_t i);

 private:
  enum class Kind : std::uint8_t { own, copied, cluster };
  struct Pending {
    schemas::EntryBuilder builder;
    std::string job, attempt;
    Kind kind = Kind::own;
    std::uint64_t number = 0;
    std::size_t records = 0;
    bool closed = false;  // the job's end is in it, or it has started anew since
    stream::Entry entry;
  };
  static constexpr std::uint64_t numbers =
      most_attempts + 1;  // a job's in a message: its attempts, and what is copied to it

  Pending* begun(std::string_view job, std::string_view attempt, Kind kind, std::uint64_t number);
  Pending* place_of(const Record& record);
  Pending* copy_for(std::string_view job);
  const std::vector<std::string_view>& jobs_on(std::string_view node);
  // The nodes of a job that the scheduler starts.
  void allocate(const Record& record);
  bool put(Pending* to, const Record& record);
  // Whether the cluster needs the record, or a part of it, which goes there.
  bool copy_to_cluster(const Record& record);
  [[nodiscard]] std::optional<std::uint64_t> cluster_number(const Record& record);
  bool introduced(const Record& record);

  Output* beyond_;
  Placement* placement_ = nullptr;
  ClusterNeeds needs_;
  std::string source_;
  std::uint64_t offset_ = 0;
  stream::Time arrival_{};
  std::vector<std::unique_ptr<Pending>> pending_;
  std::size_t used_ = 0, jobs_ = 0;
  struct Node {
    std::uint64_t number = 0;
    std::vector<std::string> jobs;  // that labels name
  };
  std::unordered_map<std::string, Node> nodes_;  // of the message, each numbered as it came
  std::vector<std::pair<std::string, std::string>> placed_, left_;
  std::map<std::string, stream::Time, std::less<>>
      introduced_;                         // members of the cluster: when their names were given last
  std::string jobs_of_;                    // the node that on_node_ is of, as long as nothing changes; empty: of none
  std::vector<std::string_view> on_node_;  // scratch, as these
  std::vector<schemas::EntryBuilder::Value> values_;
  std::string key_;
};

}  // namespace tocsin::adapters::ingest
