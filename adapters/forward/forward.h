#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "adapters/forward/destination.h"
#include "stream/values/result.h"

namespace tocsin::adapters::forward {

struct ForwardOptions {
  std::filesystem::path journal;
  bool follow = false;                     // until the seal
  int stop_when_readable = -1;             // at end of file there, what follows is not waited for
  std::chrono::milliseconds wait{20'000};  // for the destination, once the journal is at its end
  std::function<void(const std::string& line)> log;
};

struct Forwarded {
  std::uint64_t sent = 0;  // entries
  std::uint64_t left = 0;  // that are not there; the next call begins with them
};

// Sends a journal's records, keyed by job, as records that were re-keyed: they arrived when they
// were appended to the journal, and each beat of the journal becomes a watermark, so that a job's clock is the
// journal's, however late its records come. Behind a gap of beats the watermark says that nobody could write; the seal
// becomes one that says that the source has ended. Beats, seal and packs are the journal's own and stay there. The
// position up to which all is there is remembered beside the journal; what is sent twice is known by its
// number.
stream::Result<Forwarded> forward(const ForwardOptions& options, Destination& to);

}  // namespace tocsin::adapters::forward
