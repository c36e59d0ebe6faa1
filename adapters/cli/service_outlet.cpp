#include "adapters/cli/service_outlet.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <variant>

#include "adapters/cli/version.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/http/api.h"
#include "adapters/http/page/page.h"
#include "adapters/wrap/run_directory.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::cli {
namespace {

constexpr std::chrono::seconds last_posts{5};

alertmanager::Owner owner(int partition) { return static_cast<alertmanager::Owner>(partition); }

std::string json(const service::Reloaded& reloaded) {
  return formats::dump({{"pack", reloaded.hash}, {"changed", reloaded.changed}});
}

std::string json(const service::PushCounts& pushed) {
  return formats::dump({{"records", pushed.records}, {"jobs", pushed.jobs}});
}

}  // namespace

std::filesystem::path service_state() {
  const char* given = std::getenv("STATE_DIRECTORY");  // of systemd; several with colons
  const std::string_view state = given == nullptr ? "" : given;
  return state.starts_with('/') ? std::filesystem::path{state.substr(0, state.find(':'))} : wrap::state_directory();
}

ServiceOutlet::ServiceOutlet(const config::Config& config, stream::PackPtr pack, service::ReloadRequests& reloads,
                             service::PushRole& pushes, service::JobList& jobs)
    : config_(config),
      reloads_(&reloads),
      pushes_(&pushes),
      jobs_(&jobs),
      metrics_({.most_jobs = static_cast<std::size_t>(config.limits.job_series)}) {
  rules_.pack = std::move(pack);
  rules_.since = std::chrono::system_clock::now();
}

stream::Result<void> ServiceOutlet::start(const service::Log& log) {
  if (!config_.alertmanager.instances.empty()) {
    alertmanager::PosterOptions options = config_.alertmanager;
    options.log = [log](const std::string& line) { log.warning(line); };
    auto poster = alertmanager::Poster::start(std::move(options));
    if (!poster) return poster.error();
    poster_ = std::move(*poster);
  }
  if (auto notified = start_notifier(log); !notified) return notified;
  http::ServerOptions options = config::server_options(config_);
  options.log = [log](const std::string& line) { log.warning("http: " + line); };
  auto server = http::Server::bind(std::move(options));
  if (!server) return server.error();
  server_ = std::move(*server);
  http::Providers providers;
  providers.jobs = [this](const auto& query) { return jobs_->json(query); };
  providers.alerts = [this](const auto& query) { return recent_.alerts(query); };
  providers.verdicts = [this](const auto& query) { return recent_.verdicts(query); };
  providers.rules = [this](const auto&) -> stream::Result<std::string> { return rules(); };
  providers.status = [this](const auto&) -> stream::Result<std::string> { return status(); };
  providers.reload = [this](std::function<void(stream::Result<std::string>)> done) {
    reloads_->ask([done = std::move(done)](const stream::Result<service::Reloaded>& reloaded) {
      if (reloaded) done(json(*reloaded));
      else done(reloaded.error());
    });
  };
  providers.push = [this](http::Request request, http::Providers::Done done) {
    pushes_->push(request.query, std::move(request.body), std::move(request.sender),
                  [done = std::move(done)](const stream::Result<service::PushCounts>& pushed) {
                    if (pushed) done(json(*pushed));
                    else done(pushed.error());
                  });
  };
  providers.push_telemetry = [this](http::Request request, http::Providers::Done done) {
    pushes_->push_telemetry(std::move(request.body), std::move(request.encoding), std::move(request.sender),
                            [done = std::move(done)](const stream::Result<service::PushCounts>& pushed) {
                              if (pushed) done(formats::dump({{"accepted", pushed->records}}));
                              else done(pushed.error());
                            });
  };
  if (live_ != nullptr)
    providers.ingest = [this](std::string_view format, http::Request request, http::Providers::Done done) {
      const auto source = request.query.find("source");
      const auto to = live_->posted_to(format, source == request.query.end() ? std::string{} : source->second);
      if (!to) return done(to.error());
      sources::Message posted;
      posted.source = *to;
      posted.bytes = std::move(request.body);
      posted.encoding = std::move(request.encoding);
      posted.posted = true;
      posted.sender = std::move(request.sender);
      posted.done = [done = std::move(done)](const stream::Result<void>& taken) {
        if (taken) done(std::string{});
        else done(taken.error());
      };
      live_->take(std::move(posted));
    };
  providers.metrics = [this] { return metrics(); };
  providers.not_ready = [this] { return not_ready(); };
  http::add_api(*server_, std::move(providers));
  http::page::add_page(*server_);
  metrics_.observe([this] { return poster_ ? poster_->status() : alertmanager::PosterStatus{}; },
                   [this] { return notifier_ ? notifier_->status() : notify::NotifierStatus{}; },
                   [this] { return server_->status(); });
  server_->start();
  return {};
}

void ServiceOutlet::remember(const std::vector<std::filesystem::path>& histories) {
  constexpr std::streamoff most = 4 << 20;  // bytes of each: more than the page shows
  std::vector<std::pair<std::uint32_t, std::string>> lines;
  for (std::uint32_t partition = 0; partition < histories.size(); ++partition) {
    std::ifstream in{histories[partition], std::ios::ate};
    const std::streamoff size = in.tellg();
    std::string line;
    if (size > most) in.seekg(size - most), std::getline(in, line);  // the end of a line
    else in.seekg(0);
    while (std::getline(in, line)) lines.emplace_back(partition, line);
  }
  recent_.remember(lines);
}

void ServiceOutlet::show(std::vector<prometheus::SourceFigures> sources) {
  std::vector<prometheus::SourceFigures> all;
  {
    const std::lock_guard lock{mutex_};
    for (prometheus::SourceFigures& source : sources) sources_[source.source] = std::move(source);
    for (const auto& [name, source] : sources_) all.push_back(source);
  }
  metrics_.publish(std::move(all));
}

stream::Result<void> ServiceOutlet::start_notifier(const service::Log& log) {
  auto receivers = config::receivers(config_);
  if (!receivers) return receivers.error();
  if (receivers->empty()) return {};
  notify::NotifierOptions options;
  options.receivers = std::move(*receivers);
  options.links = {config_.alertmanager.external_url, "/api/v1/alerts of tocsin on " + wrap::host(),
                   config_.alertmanager.runbook_url, wrap::host()};
  options.root = config_.notify.directory;
  if (options.root.empty()) options.root = service_state() / "notify-service";
  options.own = config_.kafka.instance_id;
  options.limits.bytes = config_.notify.queue_size;
  options.limits.age = std::chrono::ceil<std::chrono::hours>(config_.notify.keep);
  options.log = [log](const std::string& line) { log.warning(line); };
  options.last_lines = [this](const std::string& job) {
    const std::lock_guard lock{lines_mutex_};
    auto lines = last_lines_.extract(job);
    return lines ? std::move(lines.mapped()) : std::vector<std::string>{};
  };
  auto notifier = notify::Notifier::start(std::move(options));
  if (!notifier) return notifier.error();
  notifier_ = std::move(*notifier);
  return {};
}

bool ServiceOutlet::drain() {
  if (notifier_) static_cast<void>(notifier_->drain(last_posts));  // what is left waits on disk
  return !poster_ || poster_->drain(last_posts);
}

void ServiceOutlet::joined() {
  const std::lock_guard lock{mutex_};
  joined_ = true;
}

void ServiceOutlet::figures(const prometheus::PartitionFigures& figures) {
  metrics_.publish(figures);
  const std::lock_guard lock{mutex_};
  partitions_[static_cast<int>(figures.partition)] = {figures.restored.value_or(1), figures.subjects};
}

void ServiceOutlet::jobs(int partition, prometheus::PublishedJobs jobs) {
  metrics_.publish(static_cast<std::uint32_t>(partition), jobs);
  jobs_->publish(partition, std::move(jobs));
}

void ServiceOutlet::report(int partition, const stream::Report& report) {
  recent_.report(owner(partition), report);
  const auto* transition = std::get_if<stream::AlertTransition>(&report);
  if (poster_ && transition != nullptr) poster_->report(owner(partition), *transition);
  if (notifier_) notifier_->report(owner(partition), report);
}

void ServiceOutlet::last_lines(const std::string& job, std::vector<std::string> lines) {
  const std::lock_guard lock{lines_mutex_};
  last_lines_[job] = std::move(lines);
}

bool ServiceOutlet::wants_last_lines() const {
  return notifier_ &&
         std::any_of(config_.notify.receivers.begin(), config_.notify.receivers.end(),
                     [](const auto& one) { return one.verdicts != "none" || one.to.find("verdicts=") != one.to.npos; });
}

void ServiceOutlet::firing(int partition, const stream::AlertTransition& alert) {
  recent_.report(owner(partition), alert);
  if (poster_) poster_->report(owner(partition), alert);
  if (notifier_) notifier_->report(owner(partition), alert, true);
}

void ServiceOutlet::committed(int partition, std::chrono::steady_clock::time_point owned_until) {
  if (poster_) poster_->permit(owner(partition), owned_until);
  if (notifier_) notifier_->permit(owner(partition), owned_until);
}

void ServiceOutlet::withdraw(int partition) {
  if (poster_) poster_->withdraw(owner(partition));
  if (notifier_) notifier_->withdraw(owner(partition));
  recent_.withdraw(owner(partition));
  jobs_->withdraw(partition);
  metrics_.withdraw(static_cast<std::uint32_t>(partition));
  const std::lock_guard lock{mutex_};
  partitions_.erase(partition);
}

void ServiceOutlet::rules(const service::RulesFigures& rules) {
  const std::lock_guard lock{mutex_};
  rules_ = rules;
}

service::RulesFigures ServiceOutlet::known_rules() const {
  const std::lock_guard lock{mutex_};
  return rules_;
}

std::string ServiceOutlet::not_ready() const {
  const std::lock_guard lock{mutex_};
  if (!joined_) return "it has not joined the group " + config_.kafka.group + " yet";
  for (const auto& [number, partition] : partitions_)
    if (partition.restored < 1) return "partition " + std::to_string(number) + " is being restored";
  return {};
}

std::string ServiceOutlet::metrics() {
  const auto rules = known_rules();
  metrics_.publish(prometheus::ProcessFigures{version_number(), rules.pack->hash, rules.since, rules.reloads,
                                              rules.failures, !rules.failure.empty(), rules.last_success,
                                              not_ready().empty()});
  return metrics_.text();
}

std::string ServiceOutlet::rules() const {
  formats::Json out = formats::Json::array();
  const stream::PackPtr pack = known_rules().pack;
  for (const stream::Rule& rule : pack->rules)
    out.push_back({{"name", rule.name},
                   {"family", rule.family},
                   {"severity", stream::name(rule.severity)},
                   {"mode", stream::name(rule.mode)},
                   {"summary", rule.summary},
                   {"file", rule.file},
                   {"line", rule.line},
                   {"scripted", rule.scripted.has_value()}});
  return formats::dump(out);
}

std::string ServiceOutlet::status() const {
  using std::chrono::floor;
  const auto rules = known_rules();
  const auto now = floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  formats::Json out{{"version", version_number()},
                    {"group", config_.kafka.group},
                    {"instance", config_.kafka.instance_id},
                    {"pack", rules.pack->hash},
                    {"pack_since", formats::typed_time(floor<std::chrono::seconds>(*rules.since))},
                    {"reload_failure", rules.failure},
                    {"not_ready", not_ready()},
                    {"time", formats::typed_time(now)},
                    {"partitions", formats::Json::array()}};
  const std::lock_guard lock{mutex_};
  for (const auto& [number, partition] : partitions_)
    out["partitions"].push_back(
        {{"partition", number}, {"restored", formats::json_number(partition.restored)}, {"jobs", partition.subjects}});
  if (!notifier_) return formats::dump(out);
  const notify::NotifierStatus notified = notifier_->status();
  out["notify"] = {{"bytes", notified.bytes}, {"dropped", notified.dropped}, {"receivers", formats::Json::array()}};
  for (const notify::ReceiverStatus& one : notified.receivers)
    out["notify"]["receivers"].push_back({{"name", one.name},
                                          {"results", one.results},
                                          {"waiting", one.waiting},
                                          {"backs_off", one.backs_off},
                                          {"last_error", one.last_error}});
  return formats::dump(out);
}

}  // namespace tocsin::adapters::cli
