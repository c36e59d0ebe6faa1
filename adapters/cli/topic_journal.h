#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "adapters/journal/directory.h"
#include "adapters/kafka/record.h"
#include "stream/values/result.h"

namespace tocsin::adapters::cli {

// A part of a partition of a cluster's telemetry, as options name it.
struct TopicPart {
  std::string cluster;           // as cluster_of() takes it
  std::filesystem::path log;     // of a service without Kafka, in its place
  kafka::RecordOptions options;  // partition or job
  std::string from, until;       // offsets or times; empty: all
  [[nodiscard]] bool given_beside_job() const { return options.partition >= 0 || !from.empty() || !until.empty(); }
  [[nodiscard]] bool given() const { return given_beside_job() || !options.subject.empty(); }
};
void add_part_options(CLI::App& command, TopicPart& part);

// Whether an argument names a cluster, and not a journal: kafka://…, or a configuration, FILE.yml.
[[nodiscard]] bool names_a_cluster(const std::string& argument);

// Copies it into a journal, a directory that is new or empty. A job that has no record among those that are there is an
// error, which names others, and leaves the directory empty.
[[nodiscard]] stream::Result<kafka::Recorded> copy(const TopicPart& part, const std::filesystem::path& journal);

// A copy that is there as long as this is; it also goes with a process that a signal ends.
class TemporaryJournal {
 public:
  [[nodiscard]] static stream::Result<TemporaryJournal> of(const TopicPart& part);
  [[nodiscard]] static stream::Result<TemporaryJournal> make();  // an empty directory
  TemporaryJournal(TemporaryJournal&& other) noexcept
      : directory_(std::exchange(other.directory_, {})), alive_(std::move(other.alive_)) {}
  TemporaryJournal& operator=(TemporaryJournal&&) = delete;
  ~TemporaryJournal();
  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }

 private:
  explicit TemporaryJournal(int alive) : alive_(alive) {}
  std::filesystem::path directory_;
  journal::File alive_;  // while it is open the directory stays
};

// Where `journal` names a cluster, copies that part of its telemetry, and makes `journal` the copy; else nothing.
[[nodiscard]] stream::Result<std::optional<TemporaryJournal>> copy_of_part(TopicPart part,
                                                                           std::filesystem::path& journal);

}  // namespace tocsin::adapters::cli
