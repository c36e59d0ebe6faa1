#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

namespace tocsin::adapters::wrap {

// What the parent sends to the recorder: the whole state each time, as one datagram, so that a restarted recorder needs
// no history. Owned by the parent; plain bytes.
struct RunState {
  pid_t child = 0;            // of the command; 0: not started yet
  std::uint64_t dropped = 0;  // bytes of output that were dropped because the recorder's queue was full
  std::uint32_t reloads = 0;  // how often the rules were asked for anew
  bool ended = false;
  bool asked_to_end = false;  // a signal that asks to end passed through us
  int status = 0;             // as waitpid gives it
  std::int64_t asked_at = 0;  // nanoseconds since 1970: the last such signal, or Ctrl-C
  std::int64_t ended_at = 0;  // nanoseconds since 1970
};

// What one recorder leaves to the next if it is killed: in memory that the parent shares with them and does not read.
// Written by the one recorder that runs.
struct Legacy {
  static constexpr std::size_t most_ranks = 4096;
  struct Rank {
    std::uint32_t rank;
    pid_t pid;
    std::uint64_t start;  // ticks since boot
    bool alive;
  };
  bool begun = false;         // the journal has its start event
  bool assumed = false;       // rank 0 is the command, since no process calls itself a rank
  std::uint32_t attempt = 1;  // of the ranks: one more each time their processes are replaced
  std::uint32_t world_size = 0;
  std::uint32_t reloads = 0;  // of those asked for, how many were answered
  std::uint32_t count = 0;
  std::array<Rank, most_ranks>
      ranks;  // the first `count`; the rest is not even touched: each page would cost the start
};

}  // namespace tocsin::adapters::wrap
