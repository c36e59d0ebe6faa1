#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adapters/journal/journal.h"
#include "adapters/wrap/recording.h"
#include "adapters/wrap/run_clock.h"
#include "schemas/codec.h"
#include "stream/values/record.h"

namespace tocsin::adapters::wrap {

// The messages without which the rest of a journal cannot be read: the packs, and what shapes the running attempt (its
// start, its members, their exits). Each later segment begins with them, so that a journal whose oldest segments are
// gone is judged by the same rules and for the same ranks. Owned by the Recording.
class Carried {
 public:
  // Keeps a copy of the message if it is one of these; true: it is.
  bool add(const stream::Entry& entry, std::span<const std::byte> message);
  // Drops packs that another has replaced by `now`; true: there was one.
  bool forget_replaced(stream::Time now);

  [[nodiscard]] bool empty() const noexcept { return packs_.empty() && shape_.empty(); }
  [[nodiscard]] std::vector<std::vector<std::byte>> messages() const;  // in the order of writing

 private:
  using Message = std::vector<std::byte>;
  struct Pack {
    stream::Time from{};
    Message message;
  };
  std::vector<Pack> packs_;  // the pack in force, and those whose time has not come
  std::string attempt_;
  std::vector<Message> shape_;  // of this attempt
};

// The journal as the Recorder writes it. What cannot be written (a full disk) is lost and counted, and the journal is
// opened again after a while, behind its last whole frame, so a fault of the disk costs only the recording. Owned by
// the Recorder.
class Recording {
 public:
  Recording(std::filesystem::path directory, std::uint64_t most_bytes, RunClock clock, std::uint32_t epoch);

  // Stamps the entry, writes it and empties the builder. An empty entry is not written.
  void append(schemas::EntryBuilder& entry);
  // `frames`: without the directory's entry for a new segment, which the file systems in use write with it and none has
  // promised.
  enum class Sync { frames, all };
  void sync(Sync what);
  [[nodiscard]] bool working() const noexcept { return writer_.has_value(); }
  void finishes() noexcept { retry_ = stream::long_ago, finishes_ = true; }  // what comes last is worth an attempt
  void report_lost();  // where the disk did not take the last entries

 private:
  [[nodiscard]] bool ready();
  void read_carried();
  void fail(const std::string& why);

  std::filesystem::path directory_;
  std::uint64_t most_bytes_;
  RunClock clock_;
  std::uint32_t epoch_;
  std::uint64_t sequence_ = 0, lost_ = 0;
  std::optional<journal::Writer> writer_;
  schemas::Encoder encoder_;
  Carried carried_;
  stream::Time retry_ = stream::long_ago;
  stream::Duration wait_ = std::chrono::seconds{1};
  bool complained_ = false, finishes_ = false;
};

}  // namespace tocsin::adapters::wrap
