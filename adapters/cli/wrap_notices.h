#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "adapters/cli/ending.h"
#include "adapters/cli/engine.h"
#include "adapters/notify/notifier.h"
#include "adapters/runtime/last_lines.h"

namespace tocsin::adapters::cli {

// The receivers of `--notify`. Mail of addresses mailto: goes out by the server in $TOCSIN_SMTP, else by this
// machine's; the end of the job is sent unless an address says otherwise. The error names the address.
[[nodiscard]] stream::Result<std::vector<notify::Receiver>> wrap_receivers(const std::vector<std::string>& addresses);

// Where messages of wrapped runs wait: each run has a directory of its own below, and the next one sends what is left.
[[nodiscard]] std::filesystem::path wrap_queue();

// Notifications of a wrapped run. Owned by its engine process, and never needed for the command's end.
class WrapNotices {
 public:
  WrapNotices(std::vector<notify::Receiver> receivers, const std::filesystem::path& journal);
  // What the engine is to report here.
  [[nodiscard]] Observers observers();
  // After the last report: sends for some seconds, and says what is left.
  void finish();

 private:
  void report(const stream::Report& report);
  void ended(stream::Verdict verdict);

  Ending ending_;
  runtime::LastLines lines_;
  std::vector<stream::AlertTransition> held_;  // of a command that was no training they are not sent
  std::mutex mutex_;                           // of what follows
  std::vector<std::string> last_lines_;
  std::unique_ptr<notify::Notifier> notifier_;  // last: its thread asks for the lines
};

}  // namespace tocsin::adapters::cli
