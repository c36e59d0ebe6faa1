#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "adapters/alertmanager/poster.h"
#include "adapters/config/config.h"
#include "adapters/http/recent_reports.h"
#include "adapters/http/server.h"
#include "adapters/notify/notifier.h"
#include "adapters/prometheus/metrics.h"
#include "adapters/service/job_list.h"
#include "adapters/service/push_role.h"
#include "adapters/service/service.h"
#include "adapters/sources/live_role.h"

namespace tocsin::adapters::cli {

// Where `tocsin run` keeps what is on this machine: $STATE_DIRECTORY, else the state directory of the user.
[[nodiscard]] std::filesystem::path service_state();

// Where `tocsin run` shows what it does: Alertmanager, people, /metrics and the API.
// Owned by the command; its functions are called by the service's threads and by the server's.
class ServiceOutlet final : public service::Outlet {
 public:
  // `reloads`: what POST /-/reload asks; `pushes`: what POST /api/v1/push does; `jobs`: what the API shows.
  ServiceOutlet(const config::Config& config, stream::PackPtr pack, service::ReloadRequests& reloads,
                service::PushRole& pushes, service::JobList& jobs);
  // Binds the port and begins to post and to serve. The error says what is wrong with an address.
  stream::Result<void> start(const service::Log& log);
  // Waits a few seconds until each Alertmanager that answers has the last alerts, and what waits for people is sent or
  // kept. False: an Alertmanager has not.
  bool drain();
  [[nodiscard]] std::uint16_t port() const noexcept { return server_->port(); }

  void joined() override;
  void figures(const prometheus::PartitionFigures& figures) override;
  void jobs(int partition, prometheus::PublishedJobs jobs) override;
  void report(int partition, const stream::Report& report) override;
  void last_lines(const std::string& job, std::vector<std::string> lines) override;
  [[nodiscard]] bool wants_last_lines() const override;
  void firing(int partition, const stream::AlertTransition& alert) override;
  void committed(int partition, std::chrono::steady_clock::time_point owned_until) override;
  void withdraw(int partition) override;
  void rules(const service::RulesFigures& rules) override;
  [[nodiscard]] service::RulesFigures known_rules() const;
  // Of the roles that ingest.
  void show(std::vector<prometheus::SourceFigures> sources);
  // Before start(): what was reported before, from the ends of the histories of partitions 0, 1, and so on.
  void remember(const std::vector<std::filesystem::path>& histories);
  // Before start(): who takes what other programs post.
  void takes_posts(sources::LiveRole& role) { live_ = &role; }

 private:
  struct Partition {
    double restored = 0;
    std::uint64_t subjects = 0;
  };
  [[nodiscard]] stream::Result<void> start_notifier(const service::Log& log);
  [[nodiscard]] std::string not_ready() const;
  [[nodiscard]] std::string metrics();
  [[nodiscard]] std::string rules() const;
  [[nodiscard]] std::string status() const;

  config::Config config_;
  service::ReloadRequests* reloads_;
  service::PushRole* pushes_;
  service::JobList* jobs_;
  sources::LiveRole* live_ = nullptr;  // null: nobody
  std::unique_ptr<alertmanager::Poster> poster_;
  std::mutex lines_mutex_;
  std::map<std::string, std::vector<std::string>> last_lines_;  // by job, until its verdict is reported
  std::unique_ptr<notify::Notifier> notifier_;                  // its thread asks for the lines
  http::RecentReports recent_;
  prometheus::Metrics metrics_;
  mutable std::mutex mutex_;  // of what follows
  bool joined_ = false;
  service::RulesFigures rules_;
  std::map<int, Partition> partitions_;
  std::map<std::string, prometheus::SourceFigures> sources_;
  std::unique_ptr<http::Server> server_;  // last: its thread asks for all of the above
};

}  // namespace tocsin::adapters::cli
