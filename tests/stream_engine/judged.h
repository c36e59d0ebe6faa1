#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/stream_engine/collector.h"
#include "tests/stream_engine/generated_log.h"

namespace tocsin::tests {

// What judging a log came to, to be compared with another way to take its messages.
struct Judged {
  std::map<std::string, std::uint64_t> digests, rows;
  std::vector<std::string> reported;  // each with the number of the message at which it was
  std::uint64_t samples = 0, late = 0, corrected_times = 0, unknown_signal = 0, member_limit = 0;
  friend bool operator==(const Judged&, const Judged&) = default;
};

// `at_once`: nothing waits. Else what waits is taken after every so many messages too; 0: never for this.
inline Judged judge(const GeneratedLog& log, const stream::LoadedPack& pack, bool at_once, std::size_t taken_every) {
  Judged all;
  Collector collector;
  std::size_t i = 0;
  collector.written = [&](const std::string& line) { all.reported.push_back(std::to_string(i) + " " + line); };
  stream::Shard shard{pack, nullptr, collector, {}};
  schemas::Decoder decoder;
  for (; i < log.messages.size(); ++i) {
    stream::Entry entry = decoded(decoder, log, i);
    if (at_once) entry.names = nullptr;  // nobody can keep it
    shard.consume(entry);
    if (at_once || (taken_every != 0 && i % taken_every == 0)) static_cast<void>(shard.digests());
  }
  all.digests = shard.digests(), all.rows = shard.row_digests();
  const stream::Counters& c = shard.counters();
  all.samples = c.samples, all.late = c.late, all.corrected_times = c.corrected_times;
  all.unknown_signal = c.unknown_signal, all.member_limit = c.member_limit;
  return all;
}

}  // namespace tocsin::tests
