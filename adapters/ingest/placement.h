#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/time.h"

namespace tocsin::adapters::ingest {

// Which jobs are on which node: what records of nodes are copied by. A job is seen on a node by records that name both,
// or allocated nodes by the scheduler. Every instance that ingests has the same, by way of a topic. Two names are of
// one node if they are equal, or if one has no dot and is what the other has before its first: n1 and n1.example.org.
// An address is no such name. Owned by the role that ingests, and touched by its thread alone.
class Placement {
 public:
  static constexpr stream::Duration current =
      std::chrono::minutes{5};  // a job is on a node for so long after its last record there
  static constexpr stream::Duration repeated = std::chrono::minutes{1};    // how often the topic is to say so again
  static constexpr stream::Duration forgotten = std::chrono::minutes{30};  // what the topic need not hold any longer
  // An end of an allocation is remembered for so long: its start may be read later, of another partition.
  static constexpr stream::Duration end_remembered = std::chrono::hours{24};
  static constexpr std::size_t most_allocated = 400'000;  // nodes of all jobs; and jobs

  // A record of the job came from the node. True: the topic is to have it.
  bool saw(std::string_view node, std::string_view job, stream::Time at);
  // When a job was first and last seen on a node.
  struct Stay {
    stream::Time first{}, last{};
  };
  [[nodiscard]] std::optional<Stay> stay(std::string_view node, std::string_view job) const;
  // The topic has it.
  void read(std::string_view node, std::string_view job, const Stay& stay);
  void left(std::string_view node, std::string_view job);

  // The nodes that the scheduler lets a job run on, from a time on.
  struct Allocation {
    stream::Time first{}, until{};  // until: its end, or when it is taken to have ended where nobody says so
    std::string nodes;              // the scheduler's list (host_list.h); empty: it has ended
  };
  enum class Allocated { yes, known_or_older, no_room };
  // In place of the job's nodes before.
  Allocated allocate(std::string_view job, const Allocation& allocation, std::span<const std::string> nodes);
  // True: the topic is to have it. An end from before the present allocation is none of it.
  bool deallocate(std::string_view job, stream::Time at);
  // The topic has it, or has it no more.
  void read(std::string_view job, const Allocation& allocation);
  void forget_allocation(std::string_view job);
  [[nodiscard]] const Allocation* allocation(std::string_view job) const;  // null: there is none

  // The job has ended; the nodes on which it was seen, of which the topic is to have that it left.
  std::vector<std::string> ended(std::string_view job);
  // Nodes and jobs of long ago, of which the topic is to have that they left; without a node, an allocation.
  std::vector<std::pair<std::string, std::string>> forget(stream::Time now);

  // The jobs that were on a node then, by name. Valid until the next change.
  void jobs_on(std::string_view node, stream::Time at, std::vector<std::string_view>& jobs) const;

 private:
  struct Seen {
    Stay stay;
    stream::Time written{};
  };
  using Jobs = std::map<std::string, Seen, std::less<>>;
  static bool make_room(Jobs& jobs, stream::Time at);
  void take_nodes(std::string_view job);

  std::map<std::string, Jobs, std::less<>> nodes_;
  std::map<std::string, Allocation, std::less<>> allocations_;                        // by job
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> allocated_;  // jobs, by node
  std::size_t allocated_nodes_ = 0;                                                   // of all jobs
};

}  // namespace tocsin::adapters::ingest
