#include "adapters/cli/service_commands.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/live_sources.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_outlet.h"
#include "adapters/cli/stop_signals.h"
#include "adapters/cli/topic_journal.h"
#include "adapters/cli/usage.h"
#include "adapters/config/config.h"
#include "adapters/config/options.h"
#include "adapters/disk_log/disk_backend.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"
#include "adapters/kafka/log.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka/topics.h"
#include "adapters/kafka_service/ingest_role.h"
#include "adapters/kafka_service/kafka_backend.h"
#include "adapters/service/push_role.h"
#include "adapters/service/service.h"
#include "adapters/wrap/run_directory.h"
#include "adapters/wrap/wrap.h"
#include "dsl/lua/problems.h"

namespace tocsin::adapters::cli {
namespace {

volatile sig_atomic_t reload_asked = 0;

void ask_to_reload(int) { reload_asked = 1; }

void on_signal(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

struct ServiceArguments {
  std::string config, kafka;
  std::vector<std::string> rules;
  config::Config given;  // by options of the command, which lead over the file's
  unsigned session_seconds = 45;
};

// The file's configuration, with what the command's options say instead.
stream::Result<config::Config> configuration(const ServiceArguments& arguments, const CLI::App& command) {
  config::Config config;
  if (!arguments.config.empty()) {
    auto read = config::read_config(arguments.config);
    if (!read) return stream::Error{stream::Errc::refused, read.error().message};
    config = std::move(*read);
    for (const std::string& warning : config::warnings(config)) write_line("warning: " + warning);
  }
  if (!arguments.kafka.empty()) {
    const auto address = kafka::parse_address(arguments.kafka);
    if (!address)
      return stream::Error{stream::Errc::refused,
                           arguments.kafka + " is not an address; name a configuration with --config"};
    config.kafka.brokers = {address->brokers};
    config.kafka.prefix = address->prefix;
  }
  if (command.count("--alertmanager") > 0) config.alertmanager.instances = arguments.given.alertmanager.instances;
  if (command.count("--notify") > 0) config.notify.receivers = arguments.given.notify.receivers;
  if (command.count("--listen") > 0) config.http.listen = arguments.given.http.listen;
  for (const auto& [option, given, place] :
       {std::tuple{"--group", &arguments.given.kafka.group, &config.kafka.group},
        std::tuple{"--instance", &arguments.given.kafka.instance_id, &config.kafka.instance_id}}) {
    if (command.count(option) == 0) continue;
    if (auto problem = config::problem_of(config::Form::name, option, *given); !problem.empty())
      return stream::Error{stream::Errc::refused, std::move(problem)};
    *place = *given;
  }
  if (command.count("--session-timeout") > 0)
    config.kafka.session_timeout = std::chrono::seconds{arguments.session_seconds};
  if (config.kafka.instance_id.empty()) config.kafka.instance_id = wrap::host();
  if (!arguments.rules.empty()) config.rules = arguments.rules;
  return config;
}

stream::Result<kafka::Address> address_of(const config::Config& config) {
  auto options = config::kafka_properties(config);
  if (!options) return options.error();
  return kafka::Address{fmt::format("{}", fmt::join(config.kafka.brokers, ",")), config.kafka.prefix,
                        std::move(*options)};
}

// The log in the form that the configuration asks for.
service::Log configured_log(const config::Config::Log& options) {
  static constexpr std::array names{"debug", "info", "warning", "error"};
  const auto least = std::find(names.begin(), names.end(), options.level) - names.begin();
  return {[json = options.format == "json", least](service::Log::Level level, const std::string& line) {
    if (static_cast<std::ptrdiff_t>(level) < least) return;
    const std::string time =
        formats::typed_time(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
    const char* name = names[static_cast<std::size_t>(level)];
    if (json) say("{}\n", formats::dump({{"time", time}, {"level", name}, {"message", line}}));
    else say("time={} level={} message={}\n", time, name, formats::dump(line));
  }};
}

// For who starts it by hand: lines as every command writes them.
service::Log plain_log() {
  return {[](service::Log::Level level, const std::string& line) {
    if (level != service::Log::Level::debug) write_line(line);
  }};
}

// The role that ingests, where the configuration has sources; else nothing.
stream::Result<std::unique_ptr<kafka_service::IngestRole>> start_ingest(const config::Config& config,
                                                                        const ingest::NodeMap& nodes,
                                                                        const kafka::Address& address,
                                                                        const service::Log& log,
                                                                        ServiceOutlet& outlet) {
  kafka_service::IngestOptions options;
  for (const ingest::Source& source : config.ingest.sources)
    if (!source.topic.empty()) options.sources.push_back(source);
  if (options.sources.empty()) return std::unique_ptr<kafka_service::IngestRole>{};
  options.kafka = address;
  options.group = {config.ingest.group, config.kafka.instance_id, config.kafka.session_timeout};
  options.nodes = nodes;
  options.pack = [&outlet] { return outlet.known_rules().pack; };
  options.log = [log](const std::string& line) { log("ingest: " + line); };
  options.show = [&outlet](std::vector<prometheus::SourceFigures> figures) { outlet.show(std::move(figures)); };
  return std::make_unique<kafka_service::IngestRole>(std::move(options));
}

// What holds the log: a cluster, or a directory.
struct Storage {
  kafka::Address cluster;                   // without brokers: none
  std::unique_ptr<disk_log::DiskLog> disk;  // null: a cluster
  service::OpenAppender append;
};

std::filesystem::path log_directory(const config::Config& config) {
  return config.log.directory.empty() ? service_state() / "log" : config.log.directory;
}

// Opens it, and says to the service how to.
stream::Result<Storage> storage_of(const config::Config& config, service::ServiceOptions& options) {
  Storage storage;
  const auto warn = [log = options.log](const std::string& line) { log.warning(line); };
  if (config.kafka.brokers.empty()) {
    auto disk = disk_log::DiskLog::open({log_directory(config), static_cast<int>(config.log.partitions),
                                         config.log.retention, config.log.retention_size, options.log, warn});
    if (!disk) return disk.error();
    storage.disk = std::move(*disk);
    disk_log::DiskLog& log = *storage.disk;
    storage.append = [&log]() -> stream::Result<std::unique_ptr<service::Appender>> {
      return std::unique_ptr<service::Appender>{std::make_unique<disk_log::DiskAppender>(log)};
    };
    options.open = [&log] { return disk_log::DiskBackend::open(log); };
    options.membership = std::to_string(log.partitions()) + " partitions";
    return storage;
  }
  auto address = address_of(config);
  if (!address) return address.error();
  kafka::log_to([write = options.log.write](kafka::LogLevel level, const std::string& line) {
    write(static_cast<service::Log::Level>(level), line);
  });
  if (auto fit = kafka_service::check_cluster(*address); !fit) return fit.error();
  storage.cluster = *address;
  storage.append = [cluster = *address] { return kafka_service::TelemetryAppender::open(cluster); };
  const kafka::GroupOptions group{config.kafka.group, config.kafka.instance_id, config.kafka.session_timeout};
  options.open = [backend = kafka_service::BackendOptions{*address, group, config.limits.queue_size,
                                                          options.pack.pack->hash, warn}] {
    return kafka_service::KafkaBackend::open(backend);
  };
  options.membership = "in group " + group.group + " as " + group.instance;
  return storage;
}

// Of the server, for a browser.
std::string page_address(const config::Config& config, std::uint16_t port) {
  std::string host = config.http.listen.substr(0, config.http.listen.rfind(':'));
  if (host == "0.0.0.0" || host == "[::]" || host.empty()) host = wrap::host();
  return fmt::format("{}://{}:{}/", config.http.tls.certificate_file.empty() ? "http" : "https", host, port);
}

int run_as_service(const ServiceArguments& arguments, const CLI::App& command) {
  const auto config = configuration(arguments, command);
  if (!config) return cannot(config.error());
  if (auto unguarded = config::unguarded(*config); !unguarded.empty())
    return cannot({stream::Errc::refused, std::move(unguarded)});
  auto pack = load_pack_from(config->rules);
  if (!pack) return cannot(pack.error());
  service::ServiceOptions options;
  options.pack = std::move(*pack);
  options.shard.most_state = static_cast<std::size_t>(config->limits.state_size);
  options.shard.save_every = config->limits.save_every;
  options.log = arguments.config.empty() ? plain_log() : configured_log(config->log);
  service::ReloadRequests reloads;
  options.reloads = &reloads;
  options.load = [&rules = config->rules](const std::function<bool()>& stop) {
    return load_tested_pack_from(rules, stop);
  };
  for (const std::string& directory : config->rules)
    if (directory != "shipped") options.watched.emplace_back(directory);
  on_signal(SIGHUP, ask_to_reload);
  on_signal(SIGPIPE, SIG_IGN);  // who reads the log may go, and come again
  on_signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write
  auto storage = storage_of(*config, options);
  if (!storage) return cannot(storage.error());
  const StopSignals signals{[&log = options.log](const std::string& line) { log.error(line); }};
  service::JobList jobs;
  service::SenderRights rights{config->http.auth.senders, [&jobs](const std::string& job) { return jobs.find(job); }};
  service::PushRole pushes{storage->append, service::push_limits(config->http.connections, config->http.body_bytes),
                           config->http.auth.senders.empty() ? nullptr : &rights};
  ServiceOutlet outlet{*config, options.pack.pack, reloads, pushes, jobs};
  std::vector<std::filesystem::path> histories;
  for (int partition = 0; storage->disk && partition < storage->disk->partitions(); ++partition)
    histories.push_back(storage->disk->directory_of(partition) / "alerts.jsonl");
  outlet.remember(histories);
  ingest::NodeMap nodes;
  if (!config->ingest.nodes.empty()) {
    auto read = config::read_nodes(config->ingest.nodes);
    if (!read) return cannot(read.error());
    nodes = std::move(*read);
  }
  sources::LiveOptions live_options;
  live_options.nodes = nodes, live_options.open = storage->append, live_options.rights = &rights;
  auto opened = LiveSources::open(*config, std::move(live_options), outlet, options.log);
  if (!opened) return cannot(opened.error());
  const auto& live = *opened;
  if (live) {
    outlet.takes_posts(live->role());
    pushes.tells_places([&role = live->role()](std::string_view node, std::string_view job) { role.saw(node, job); });
  }
  if (auto started = outlet.start(options.log); !started) return cannot(started.error());
  if (live) live->begin(storage->disk ? storage->disk->directory() : service_state());
  options.outlet = &outlet;
  if (storage->disk)
    options.log("the page is at " + page_address(*config, outlet.port()) + ", the log of records in " +
                storage->disk->directory().string());
  options.log("serving on port " + std::to_string(outlet.port()));
  const auto role = start_ingest(*config, nodes, storage->cluster, options.log, outlet);
  if (!role) return cannot(role.error());
  const auto& ingest = *role;
  options.stop = [&] {
    if (std::exchange(reload_asked, 0) != 0) reloads.ask();
    if (signals.asked() && ingest) ingest->begin_to_stop();
    return signals.asked() || (ingest && ingest->failure());
  };
  auto ended = service::run_service(options);
  reloads.close();
  if (live) live->stop();
  pushes.stop();
  if (ingest) {
    ingest->stop();
    if (const auto failure = ingest->failure()) {
      options.log.error("ingest: " + failure->message);
      ended = failure->code == stream::Errc::io ? service::Ended::failed : service::Ended::refused;
    }
  }
  if (!outlet.drain()) options.log.warning("not every Alertmanager has the last alerts");
  if (ended == service::Ended::drained) options.log("drained");
  return static_cast<int>(ended);
}

}  // namespace

stream::Result<kafka::Address> cluster_of(const std::string& text) {
  if (text.starts_with("kafka://") || !names_a_cluster(text)) return kafka::parse_address(text);
  const auto config = config::read_config(text);
  if (!config) return stream::Error{stream::Errc::refused, config.error().message};
  return address_of(*config);
}

int cannot(const stream::Error& error) {
  write_line(error.message);
  return error.code == stream::Errc::io ? 3 : 2;
}

CLI::Validator is_kafka_address() {
  return {[](const std::string& text) {
            if (!text.starts_with("kafka://") && names_a_cluster(text)) return std::string{};
            const auto address = kafka::parse_address(text);
            return address ? std::string{} : address.error().message;
          },
          ""};
}

void add_cluster(CLI::App& command, const std::string& option, std::string& address) {
  add_needed(command, option, address, "ADDRESS",
             "The cluster: kafka://HOST:PORT[,HOST:PORT][/PREFIX of the topics], or a configuration, FILE.yml")
      ->check(is_kafka_address());
}

std::string attempts_of_this_run() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{}-", fmt::gmtime(now), wrap::host(), ::getpid());
}

void add_service_commands(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ServiceArguments>();
  auto* run = app.add_subcommand(
      "run", "Judge jobs as a service: on a log of its own, or as one of several instances on Kafka");
  add_option(*run, "--config", arguments->config, "FILE",
             "The configuration file, such as deploy/tocsin.yml; the options below override it");
  add_option(*run, "--kafka", arguments->kafka, "ADDRESS",
             "The cluster: kafka://HOST:PORT[,HOST:PORT][/PREFIX of the topics] (default: a log of its own on disk)")
      ->check(is_kafka_address());
  add_rules_option(*run, arguments->rules, rules_text);
  run->add_option_function<std::vector<std::string>>(
         "--alertmanager",
         [arguments](const std::vector<std::string>& urls) {
           for (const std::string& url : urls) arguments->given.alertmanager.instances.push_back({url, {}, {}});
         },
         "Post alerts to this Alertmanager, http://HOST:PORT; repeat it for each of a cluster")
      ->option_text("URL ...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run->add_option_function<std::vector<std::string>>(
         "--notify",
         [arguments](const std::vector<std::string>& addresses) {
           for (const std::string& address : addresses) arguments->given.notify.receivers.emplace_back().to = address;
         },
         "Tell this receiver of alerts, mailto:NAME@HOST, slack:?url_file=FILE and so on (docs/notify.md); repeat it "
         "for each")
      ->option_text("ADDRESS ...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_option(*run, "--listen", arguments->given.http.listen, "HOST:PORT",
             "Serve /metrics and the API here (default: 127.0.0.1:9464; port 0: any free one)");
  add_option(*run, "--group", arguments->given.kafka.group, "NAME",
             "The group whose instances share the partitions (default: tocsin)");
  add_option(*run, "--instance", arguments->given.kafka.instance_id, "NAME",
             "This instance's own name in the group, the same at each start (default: the host's)");
  add_option(*run, "--session-timeout", arguments->session_seconds, "SECONDS",
             "How long an instance may be silent before others take its partitions, in seconds (default: 45)")
      ->check(CLI::Range(1, 1800));
  run->callback([arguments, run, &status] { status = run_as_service(*arguments, *run); });

  add_topic_commands(app, status);
  add_record_command(app, status);
  add_forward_command(app, status);
}

}  // namespace tocsin::adapters::cli
