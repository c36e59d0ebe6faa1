#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/record.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

// What anybody posts to /api/v1/push: JSON lines, which become messages of the telemetry topic.
namespace tocsin::adapters::formats {

struct PushSettings {
  std::string job;             // of records that name none
  std::string producer;        // with a sequence: what is pushed again counts once
  std::uint64_t sequence = 0;  // 0: none
  stream::Time now{};          // of records without a time
};

// The parameters of the request: `job`, `producer` and `sequence`.
stream::Result<PushSettings> push_settings(const std::map<std::string, std::string>& query, stream::Time now);

struct PushedWatermark {
  std::string source;
  bool last = false;  // nothing follows from this source
};
struct PushedEntry {
  std::string job;                   // empty: a watermark
  std::vector<std::byte> message;    // an encoded entry
  std::string source{};              // that its records are of; empty: none
  std::string node{};                // that its records are of; empty: of none, or of several
  std::vector<std::string> users{};  // that its records call the user of the job
  std::vector<PushedWatermark> watermarks{};
};
struct Pushed {
  std::size_t records = 0, jobs = 0;
  std::vector<PushedEntry> entries;  // of a job in the order of its lines
};

// Whom the records of an entry call the user of their job: the label `user` of each start.
std::vector<std::string> users_of(const stream::Entry& entry);

// Reads the whole text or nothing: the error names the first line that is wrong, and what to write instead.
stream::Result<Pushed> read_push(std::string_view text, const PushSettings& settings);

}  // namespace tocsin::adapters::formats
