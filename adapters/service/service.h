#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/prometheus/figures.h"
#include "adapters/service/backend.h"
#include "adapters/service/reload_requests.h"
#include "stream/job/shard.h"
#include "stream/ports.h"

namespace tocsin::adapters::service {

// The log of the service. Any thread may write.
struct Log {
  enum class Level : std::uint8_t { debug, info, warning, error };
  std::function<void(Level level, const std::string& line)> write;

  void operator()(const std::string& line) const { write(Level::info, line); }
  void warning(const std::string& line) const { write(Level::warning, line); }
  void error(const std::string& line) const { write(Level::error, line); }
};

// The rules of the cluster, as an instance knows them.
struct RulesFigures {
  stream::PackPtr pack;  // in force
  std::optional<stream::Time> since;
  std::uint64_t reloads = 0, failures = 0;
  std::optional<stream::Time> last_success;
  std::string failure;  // of the last reload, with file, line and text; empty: it succeeded
};

// Where figures and reports go on to. Called by the shards' threads, and by the main thread.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void joined() = 0;                                              // partitions can come from now on
  virtual void figures(const prometheus::PartitionFigures& figures) = 0;  // once a second, of each partition
  virtual void jobs(int partition, prometheus::PublishedJobs jobs) = 0;   // of each partition, about once a second
  virtual void report(int partition, const stream::Report& report) = 0;   // it is committed
  // Of a job whose verdict comes next; only if it wants them.
  virtual void last_lines(const std::string& job, std::vector<std::string> lines) = 0;
  [[nodiscard]] virtual bool wants_last_lines() const = 0;
  // An alert that fires when a partition has been restored: its former owner has reported it.
  virtual void firing(int partition, const stream::AlertTransition& alert) = 0;
  // The partition surely is this instance's until then.
  virtual void committed(int partition, std::chrono::steady_clock::time_point owned_until) = 0;
  virtual void withdraw(int partition) = 0;           // it is not any more
  virtual void rules(const RulesFigures& rules) = 0;  // they changed, or a reload has ended
};

struct ServiceOptions {
  std::function<stream::Result<std::unique_ptr<Backend>>()> open;
  std::string membership;   // "in group tocsin as n1": for the log
  stream::LoadedPack pack;  // that is configured
  stream::ShardOptions shard;
  // Reads the configured directories again and tries what is there; by a thread that may take its time, until `stop`
  // says so. The error has file, line and text.
  std::function<stream::Result<stream::LoadedPack>(const std::function<bool()>& stop)> load;
  std::vector<std::filesystem::path> watched;  // directories: rules that change there are reloaded
  ReloadRequests* reloads = nullptr;           // by whom else
  Outlet* outlet = nullptr;                    // where reports go on to; none: nowhere
  Log log;
  std::function<bool()> stop;  // asked several times a second
};

// How it ended; a supervisor starts it again after `failed`, and need not after `refused`.
enum class Ended { drained = 0, refused = 2, failed = 3 };

// Opens the log, judges the partitions that it is given, and leaves when `stop` says so: what was judged is handed over
// first.
[[nodiscard]] Ended run_service(const ServiceOptions& options);

}  // namespace tocsin::adapters::service
