#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stream/values/record.h"
#include "stream/values/result.h"

namespace tocsin::adapters::journal {

// A log on disk: a directory of append-only segments with checksummed frames. One process writes it, any number follow
// it. A frame: length, xxh3 checksum, arrival, payload (schemas/). A position is the byte count from the journal's
// beginning.
struct WriterOptions {
  std::uint64_t segment_bytes = 64u << 20;
  std::uint64_t most_bytes = 0;  // cap: the oldest segments go first; 0: none
};

class Writer {
 public:
  // Makes the directory (private to the user), or goes on behind the last whole frame: a torn tail is cut.
  static stream::Result<Writer> open(const std::filesystem::path& directory, WriterOptions options = {});
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // Arrivals are made non-decreasing. Returns the frame's position.
  stream::Result<stream::Position> append(std::span<const std::byte> payload, stream::Time arrival);
  // What each later segment begins with, in place of what it began with before: messages without which the rest cannot
  // be read, since the cap may have deleted the segments that hold them. Verbatim copies: a reader that had them knows
  // them by producer and sequence number, and passes over them.
  void carry(std::vector<std::vector<std::byte>> payloads);
  // An error where the disk has no space for so many bytes more, or the process may not make its files so large. What
  // there is is kept for them; a file system that cannot do that is trusted.
  stream::Result<void> reserve(std::uint64_t bytes);
  // On disk when it returns. Without `names` the directory's entry of a new segment is left for later.
  stream::Result<void> sync(bool names = true);
  [[nodiscard]] stream::Position end() const noexcept;     // where the next frame begins
  [[nodiscard]] std::uint64_t cut_bytes() const noexcept;  // of a torn tail, at open
  [[nodiscard]] stream::Time last_arrival() const noexcept;

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether a process has the journal open for writing, wherever on this machine it runs.
[[nodiscard]] bool is_written(const std::filesystem::path& directory);

struct Frame {
  stream::Position position{}, next{};
  stream::Time arrival{};
  std::span<const std::byte> payload;  // valid until the next call
};

class Reader {
 public:
  static stream::Result<Reader> open(const std::filesystem::path& directory);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // The next whole frame; nullopt at the end of what is written (ask again to follow). A corrupt frame is skipped to
  // the next whole one and counted, an unreadable segment is an error.
  stream::Result<std::optional<Frame>> next();
  // An error where the cap has deleted what was there, or where the journal ends before.
  stream::Result<void> seek(stream::Position position);
  [[nodiscard]] stream::Result<stream::Position> oldest() const;  // where what is left begins
  [[nodiscard]] std::uint64_t corrupt_frames() const noexcept;
  [[nodiscard]] std::uint64_t corrupt_bytes() const noexcept;
  // What it cost so far: bytes read from the disk, searched for a frame and compared with a checksum.
  [[nodiscard]] std::uint64_t examined_bytes() const noexcept;

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::journal
