#pragma once

#include <filesystem>
#include <memory>

#include "adapters/cli/service_outlet.h"
#include "adapters/config/config.h"
#include "adapters/service/service.h"
#include "adapters/sources/file_follower.h"
#include "adapters/sources/live_role.h"
#include "adapters/sources/scraper.h"

namespace tocsin::adapters::cli {

// The sources of a configuration whose messages come to this program itself: posted, scraped, from files. Owned by the
// command.
class LiveSources {
 public:
  // Null: the configuration has none. `options`: the nodes, the log, and who may write. Of posts it is asked by the
  // outlet; begin() reads the rest.
  static stream::Result<std::unique_ptr<LiveSources>> open(const config::Config& config, sources::LiveOptions options,
                                                           ServiceOutlet& outlet, const service::Log& log);
  void begin(const std::filesystem::path& state);
  [[nodiscard]] sources::LiveRole& role() noexcept { return *role_; }
  void stop();

 private:
  explicit LiveSources(service::Log log) : log_(std::move(log)) {}
  service::Log log_;
  std::unique_ptr<sources::LiveRole> role_;
  std::unique_ptr<sources::FileFollower> files_;
  std::unique_ptr<sources::Scraper> scraper_;
};

}  // namespace tocsin::adapters::cli
