#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka {

// Copies a partition of the telemetry topic as it is, its control records and append times included, into a new journal: what `replay`
// makes of it is what a service made of the partition. The first pack comes first, as it judges what was written before it. Ends where the partition ended when it began. Returns how many entries there are.
struct RecordOptions {
  Address from;
  int partition = -1;   // or that of
  std::string subject;  // a job
  std::filesystem::path journal;
};
stream::Result<std::uint64_t> record(const RecordOptions& options);

}  // namespace tocsin::adapters::kafka
