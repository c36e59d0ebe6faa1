#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/time.h"

namespace tocsin::adapters::ingest {

// Which jobs are on which node, by the records that name both: what records of nodes are copied by. Every instance that ingests has the
// same, by way of a topic.
// Owned by the role that ingests, and touched by its thread alone.
class Placement {
 public:
  static constexpr stream::Duration current = std::chrono::minutes{5};     // a job is on a node for so long after its last record there
  static constexpr stream::Duration repeated = std::chrono::minutes{1};    // how often the topic is to say so again
  static constexpr stream::Duration forgotten = std::chrono::minutes{30};  // what the topic need not hold any longer

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
  // The job has ended; its nodes, of which the topic is to have that it left.
  std::vector<std::string> ended(std::string_view job);
  // Nodes and jobs of long ago, of which the topic is to have that they left.
  std::vector<std::pair<std::string, std::string>> forget(stream::Time now);

  // The jobs that were on a node then, by name. Valid until the next change.
  void jobs_on(std::string_view node, stream::Time at, std::vector<std::string_view>& jobs) const;

 private:
  struct Seen {
    Stay stay;
    stream::Time written{};
  };
  std::map<std::string, std::map<std::string, Seen, std::less<>>, std::less<>> nodes_;  // node, job
};

}  // namespace tocsin::adapters::ingest
