#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "stream/values/result.h"
#include "stream/values/time.h"

// Foreign recordings to a journal: arrival is the running maximum of event time, with a beat each second, coverage
// records for each source and member from its first to its last record, and a seal. The same files give the same
// journal, byte for byte.
namespace tocsin::adapters::formats {

struct IngestSettings {
  std::string job;  // the subject of records without a job; empty: they are errors
  // Called for each line that is left out: "file:line: what, and what to write instead".
  std::function<void(const std::string&)> complain = [](const std::string&) {};
  // 0 to 1, every few thousand lines.
  std::function<void(double)> progress = [](double) {};
};

struct IngestSummary {
  std::uint64_t lines = 0, bad_lines = 0;  // of the files
  std::uint64_t samples = 0, log_lines = 0, events = 0, coverage = 0, controls = 0;
  std::uint64_t made_beats = 0, made_coverage = 0;
  std::uint64_t clocks_off = 0;      // more than a year from the median: they do not move the clock
  std::uint64_t skipped_pauses = 0;  // over 26 hours: no beats in the rest of it
  std::uint64_t entries = 0;
  stream::Time first{}, last{};  // arrivals
};

// Merges several files by time. The directory must not hold a journal yet.
stream::Result<IngestSummary> ingest(const std::vector<std::filesystem::path>& files, const std::filesystem::path& to,
                                     const IngestSettings& settings);

}  // namespace tocsin::adapters::formats
