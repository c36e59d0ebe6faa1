#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/journal/directory.h"
#include "adapters/notify/receiver.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::notify {

// A message on its way, with the receiver as it was when the message was made. Without secrets.
struct Outgoing {
  Receiver receiver;
  std::uint64_t id = 0;  // the same each time it is sent
  stream::Time made{};
  std::string subject, content_type, body;
};

// Messages that wait, one file each, on disk before add() returns; each receiver's in order. Where the disk takes
// none they wait in memory. Bounded in bytes and age: the oldest go first, and whoever asks is notified which.
// Several processes have a directory each below one root; what one has left there the next one takes.
// Owned by the Notifier's thread.
class Queue {
 public:
  struct Limits {
    std::uint64_t bytes = 256u << 20, memory_bytes = 16u << 20;
    std::chrono::hours age{72};
  };
  // Locks the directory `own` below the root. An error: it cannot be used, or another process has it.
  [[nodiscard]] static stream::Result<Queue> open(const std::filesystem::path& root, const std::string& own,
                                                  Limits limits);
  explicit Queue(Limits limits) : limits_(limits) {}  // in memory alone

  // Takes the messages that other processes, which have ended, have left. `remove`: with their directories.
  void adopt(bool remove);
  // The error says why it waits in memory, or that it is dropped.
  [[nodiscard]] stream::Result<void> add(Outgoing message);
  // Of each receiver the first, read from disk. A file that holds no message is set aside. The error: not_found,
  // nothing waits; or the disk cannot be read now, and the message stays.
  [[nodiscard]] std::vector<std::string> receivers() const;
  [[nodiscard]] stream::Result<Outgoing> front(const std::string& receiver);
  std::string pop(const std::string& receiver);  // its subject
  // Drops what is too old, or too much. A line for each that says so, and for what happened since the last call.
  struct Line {
    std::string receiver, text;
    bool dropped = true;  // false: a message is kept that cannot be read now
    bool operator==(const Line&) const = default;
  };
  [[nodiscard]] std::vector<Line> expire(stream::Time now);

  [[nodiscard]] std::size_t waiting(const std::string& receiver) const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool on_disk() const noexcept { return directory_.has_value(); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  // Beside the messages: what is to survive a restart.
  [[nodiscard]] std::string state() const;
  [[nodiscard]] stream::Result<void> keep_state(const std::string& state);
  // Removes the directory, where nothing waits in it.
  void close();

 private:
  struct Entry {
    std::string file;                 // empty: in memory
    std::optional<Outgoing> message;  // in memory
    std::string subject;
    stream::Time made{};
    std::uint64_t bytes = 0;
  };
  void load(const std::string& file, bool again = false);
  void set_aside(const std::string& receiver, const std::string& file);
  void drop(std::deque<Entry>& entries, std::size_t at);

  Limits limits_;
  std::filesystem::path root_, path_;
  std::optional<journal::OpenDirectory> directory_;
  std::map<std::string, std::deque<Entry>> entries_;  // by receiver
  std::vector<std::string> unread_;                   // files that could not be read when they were found
  std::vector<Line> lines_;                           // for the next expire()
  std::uint64_t bytes_ = 0, memory_bytes_ = 0;
};

}  // namespace tocsin::adapters::notify
