#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tocsin::adapters::service {

// Notices that the rules in some directories have changed: files that are written, renamed or removed, and links that
// lead elsewhere, as the ones that Kubernetes swaps. It looks at names, sizes, inodes and times, and so works on every
// file system. Owned by the Reloader; touched by its thread alone.
class RuleWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds settles{1000};
  explicit RuleWatch(std::vector<std::filesystem::path> directories);

  // Looks now. True once for each change, when nothing has changed any more for a second.
  [[nodiscard]] bool changed(Clock::time_point now);
  // What stands there now; and that it was read, so that it is no change any more.
  [[nodiscard]] std::string seen() const;
  void has_read(std::string seen) { read_ = last_ = std::move(seen); }

 private:
  std::vector<std::filesystem::path> directories_;
  std::string read_, last_;
  Clock::time_point since_{};  // `last_` is what stands there
};

}  // namespace tocsin::adapters::service
