#pragma once

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "stream/job/shard.h"

namespace tocsin::tests {

// A log of generated jobs, as encoded messages: what a journal would hold. The same seed gives the same log.
struct GeneratedLog {
  struct Message {
    std::vector<std::byte> bytes;
    stream::Time arrival;
    std::string subject;
  };
  std::vector<Message> messages;
};

struct LogOptions {
  std::uint32_t seed = 1;
  unsigned jobs = 2, ranks = 6, seconds = 300;
  unsigned first_job = 0;  // names begin here: other jobs of the same shape
  bool beats = true;
  bool faults = true;
  double grain = 0;  // seconds that arrivals are rounded up to; 0: each has its own
};

// Steps, compute times, GPU signals, process states, losses, XIDs, log lines with tracebacks cut over messages,
// coverage records, late and absent samples; a rank that stops, a loss that is not finite, a slowed rank, a new
// attempt, an end.
GeneratedLog generate(const LogOptions& options);
// The entry of a message; it lasts until the decoder's next.
inline const stream::Entry& decoded(schemas::Decoder& decoder, const GeneratedLog& log, std::size_t i) {
  auto entry = decoder.decode(log.messages[i].bytes, static_cast<stream::Position>(i),
                              static_cast<stream::Position>(i + 1), log.messages[i].arrival);
  if (!entry) throw std::runtime_error(entry.error().message);
  return **entry;
}
// Two logs in the order of arrival; beats are taken from the first.
GeneratedLog interleave(const GeneratedLog& first, const GeneratedLog& second);
// The same records, each message cut into as many as it has records.
GeneratedLog cut(const GeneratedLog& log);
// The same records, all that one job's producer wrote at one arrival in one message, samples of several members in one
// block. Starts and ends of attempts stay by themselves.
GeneratedLog join(const GeneratedLog& log);

// The same records, each read once and without its producer's number: at most `most` neighbours of one job, source and
// arrival an entry, whatever other jobs' stand between them.
GeneratedLog rebatch(const GeneratedLog& log, std::size_t most);

// Everything a run reported, for comparison.
struct Reported {
  std::map<std::string, std::uint64_t> digests, rows;
  std::vector<std::string> transitions;  // id, number, state, text, in order
};
Reported judge(const GeneratedLog& log, const stream::LoadedPack& pack, stream::ShardOptions options = {});
// By a process of its own up to each of these message counts, where SIGKILL ends it; the next takes over from what is
// on disk.
Reported judge_with_restarts(const GeneratedLog& log, const stream::LoadedPack& pack, std::vector<std::size_t> kills);

stream::LoadedPack shipped_pack(bool scripted = false);

}  // namespace tocsin::tests
