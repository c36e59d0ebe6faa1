#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::kafka {

// A place in a partition: the first record with this offset or a later one, or the first appended at this time or later.
using Mark = std::variant<std::int64_t, stream::Time>;
struct RecordOptions {
  Address from;
  int partition = -1;   // or that of
  std::string subject;  // a job
  std::filesystem::path journal;
  // A part only: the rules that were named last before it begin the journal; of jobs that run already it has the rest
  // alone.
  std::optional<Mark> begin, end;
  std::chrono::milliseconds patience = std::chrono::seconds{60};  // for brokers that send nothing
};
struct Recorded {
  static constexpr std::size_t most_jobs = 1000;
  std::string partition;                      // TOPIC/NUMBER
  std::uint64_t entries = 0, of_subject = 0;  // all; of the job that was asked for
  std::set<std::string> jobs;                 // the first that were seen
};

// Copies a partition of the telemetry topic as it is, with its control records and append times, into a new journal:
// `replay` of the journal gives what a service made of the partition. The journal begins with the partition's first
// pack. The copy ends where the partition ended when record() was called.
stream::Result<Recorded> record(const RecordOptions& options);

}  // namespace tocsin::adapters::kafka
