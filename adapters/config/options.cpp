#include "adapters/config/options.h"

#include <algorithm>
#include <array>

namespace tocsin::adapters::config {
namespace {

constexpr std::uint64_t second = 1000, minute = 60 * second;
constexpr std::uint64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

const Option of_kafka[] = {
    {"brokers", [](Config& c) -> Place { return &c.kafka.brokers; }, "The brokers to begin with.", Form::host_port, 0,
     no_limit, true},
    {"prefix", [](Config& c) -> Place { return &c.kafka.prefix; },
     "What the names of the topics begin with: PREFIX.telemetry and so on.", Form::name},
    {"group", [](Config& c) -> Place { return &c.kafka.group; },
     "The consumer group. Its instances divide the partitions among them.", Form::name},
    {"instance_id", [](Config& c) -> Place { return &c.kafka.instance_id; },
     "The name of this instance in the group, which it keeps over restarts. No two have the same. Empty: the host's "
     "name.",
     Form::name_or_none},
    {"session_timeout", [](Config& c) -> Place { return &c.kafka.session_timeout; },
     "How long an instance may be silent before its partitions go to others. No alert is posted once they may have "
     "gone.",
     Form::plain, 6 * second, 30 * minute},
    {"properties", [](Config& c) -> Place { return &c.kafka.properties; },
     "Handed to librdkafka as they are: security.protocol, ssl.ca.location, sasl.mechanism, sasl.username and so on."},
    {"property_files", [](Config& c) -> Place { return &c.kafka.property_files; },
     "Properties whose value is the first line of a file: sasl.password, ssl.key.password."},
};
const Option of_rules[] = {
    {"rules", [](Config& c) -> Place { return &c.rules; },
     "Directories of rules, in order; shipped is the program's own. A site's directories add to it."},
};
const Option of_alertmanager[] = {
    {"instances", [](Config& c) -> Place { return &c.alertmanager.instances; },
     "Every one gets every alert. None: alerts are not posted."},
    {"labels", [](Config& c) -> Place { return &c.alertmanager.labels; },
     "Labels that every alert has besides its own: cluster, instance_group, what the site routes by."},
    {"runbook_url", [](Config& c) -> Place { return &c.alertmanager.runbook_url; },
     "The annotation runbook_url; {rule} and {family} are filled in. Empty: none.", Form::url_template},
    {"canary", [](Config& c) -> Place { return &c.alertmanager.canary; },
     "Posts alerts of canary rules too, with the label mode=canary."},
    {"resend", [](Config& c) -> Place { return &c.alertmanager.resend; },
     "How often an alert that fires is posted again. Alertmanager ends one after four times this.", Form::plain, second,
     60 * minute},
    {"resolved_for", [](Config& c) -> Place { return &c.alertmanager.resolved_for; },
     "How long the end of an alert is posted again.", Form::plain, second, 24 * 60 * minute},
    {"timeout", [](Config& c) -> Place { return &c.alertmanager.request_timeout; }, "How long a request may take.",
     Form::plain, 100, 5 * minute},
    {"batch", [](Config& c) -> Place { return &c.alertmanager.batch; }, "Alerts in one request, at most.", Form::plain,
     1, 10'000},
    {"buffer", [](Config& c) -> Place { return Size{&c.alertmanager.most_bytes}; },
     "Memory for alerts that fire or wait; beyond it new ones are dropped and counted.", Form::plain, mib, 16 * gib},
};
const Option of_http[] = {
    {"listen", [](Config& c) -> Place { return &c.http.listen; },
     "The address and port of the server. Beyond loopback, set credentials and a certificate too.", Form::listen},
    {"external_url", [](Config& c) -> Place { return &c.http.external_url; },
     "This server as readers of alerts reach it: generatorURL leads to an alert on its page. Empty: alerts have none.",
     Form::url},
    {"names", [](Config& c) -> Place { return &c.http.names; },
     "Other names under which clients without credentials ask for this server, besides localhost, the host's own and "
     "that of external_url."},
    {"certificate_file", [](Config& c) -> Place { return &c.http.certificate_file; },
     "The certificate (PEM, with its chain) for TLS. Empty: no TLS."},
    {"key_file", [](Config& c) -> Place { return &c.http.key_file; }, "The key of the certificate."},
    {"client_ca_file", [](Config& c) -> Place { return &c.http.client_ca_file; },
     "Clients need a certificate of this authority. Empty: they need none."},
    {"user", [](Config& c) -> Place { return &c.http.user; }, "The user of basic authentication. Empty: none."},
    {"password_file", [](Config& c) -> Place { return &c.http.password_file; },
     "The user's password: the first line of this file."},
    {"token_file", [](Config& c) -> Place { return &c.http.token_file; },
     "The token of bearer authentication: the first line of this file."},
    {"header_size", [](Config& c) -> Place { return Size{&c.http.header_size}; }, "The largest head of a request.",
     Form::plain, kib, mib},
    {"body_size", [](Config& c) -> Place { return Size{&c.http.body_size}; }, "The largest body of a request.",
     Form::plain, kib, gib},
    {"connections", [](Config& c) -> Place { return &c.http.connections; },
     "Open connections, at most; for one more the one that waits longest is closed.", Form::plain, 1, 100'000},
    {"requests_per_second", [](Config& c) -> Place { return &c.http.requests_per_second; },
     "Requests of all clients, at most; beyond, they are answered 429. Probes are not counted.", Form::plain, 1,
     1'000'000},
    {"read_timeout", [](Config& c) -> Place { return &c.http.read_timeout; },
     "How long a client may take to send a request.", Form::plain, 100, 10 * minute},
    {"idle_timeout", [](Config& c) -> Place { return &c.http.idle_timeout; },
     "How long a connection may stay open between requests.", Form::plain, 100, 60 * minute},
};
const Option of_ingest[] = {
    {"group", [](Config& c) -> Place { return &c.ingest.group; },
     "The consumer group in which instances divide the partitions of the sources among them.", Form::name},
    {"nodes", [](Config& c) -> Place { return &c.ingest.nodes; },
     "The static map of racks and GPUs: a file, by node. Empty: what labels say is all."},
    {"sources", [](Config& c) -> Place { return &c.ingest.sources; },
     "The topics, and how to read each. None: nothing is ingested."},
};
const std::vector<std::string> log_formats{"logfmt", "json"}, log_levels{"debug", "info", "warning", "error"};
const Option of_log[] = {
    {"format", [](Config& c) -> Place { return &c.log.format; }, "How a line of the log is written.", Form::plain, 0,
     no_limit, false, log_formats},
    {"level", [](Config& c) -> Place { return &c.log.level; }, "The least important lines that are written.",
     Form::plain, 0, no_limit, false, log_levels},
};
const Option of_limits[] = {
    {"queue_size", [](Config& c) -> Place { return Size{&c.limits.queue_size}; },
     "Records of a partition that are fetched and not judged yet.", Form::plain, mib, 16 * gib},
    {"subjects", [](Config& c) -> Place { return &c.limits.subjects; },
     "Jobs of a partition, at most; records of others are refused and counted.", Form::plain, 1, 10'000'000},
    {"job_series", [](Config& c) -> Place { return &c.limits.job_series; },
     "Jobs with series of their own in /metrics: those with the most severe alerts first.", Form::plain, 0, 1'000'000},
    {"save_every", [](Config& c) -> Place { return &c.limits.save_every; },
     "How often the state of a job that changes is kept.", Form::plain, 10 * second, 4 * minute},
};

const Section all_sections[] = {
    {"kafka", "Where records come from, and where alerts, verdicts and state are kept.", of_kafka},
    {"", "What jobs are judged by.", of_rules},
    {"alertmanager", "Where alerts are posted.", of_alertmanager},
    {"http", "The server of /metrics, the API and reloads.", of_http},
    {"ingest", "Topics of other programs whose records become records of jobs: docs/ingest.md.", of_ingest},
    {"log", "The log of the program, on standard error.", of_log},
    {"limits", "What the program may use.", of_limits},
};

using Instance = alertmanager::Instance;
const InstanceOption of_instances[] = {
    {"url", [](Instance& i) -> Place { return &i.url; }, "Its address.", Form::url, 0, no_limit, true},
    {"user", [](Instance& i) -> Place { return &i.auth.user; }, "The user of basic authentication."},
    {"password_file", [](Instance& i) -> Place { return &i.auth.password_file; },
     "The user's password: the first line of this file."},
    {"token_file", [](Instance& i) -> Place { return &i.auth.token_file; },
     "The token of bearer authentication: the first line of this file."},
    {"ca_file", [](Instance& i) -> Place { return &i.tls.ca_file; },
     "The authorities that its certificate may be of. Empty: the system's."},
    {"server_name", [](Instance& i) -> Place { return &i.tls.server_name; },
     "The name in its certificate, where it is not the host's."},
    {"certificate_file", [](Instance& i) -> Place { return &i.tls.certificate_file; },
     "The certificate of this program."},
    {"key_file", [](Instance& i) -> Place { return &i.tls.key_file; }, "The key of that certificate."},
};

constexpr std::pair<std::string_view, std::string_view> reserved[] = {
    {"bootstrap.servers", "kafka.brokers"},
    {"metadata.broker.list", "kafka.brokers"},
    {"group.id", "kafka.group"},
    {"group.instance.id", "kafka.instance_id"},
    {"session.timeout.ms", "kafka.session_timeout"},
    {"enable.auto.commit", ""},
    {"enable.auto.offset.store", ""},
    {"enable.idempotence", ""},
    {"transactional.id", ""},
    {"isolation.level", ""},
    {"partition.assignment.strategy", ""},
    {"partitioner", ""},
    {"auto.offset.reset", ""},
    {"queued.max.messages.kbytes", "limits.queue_size"},
    {"acks", ""},
    {"request.required.acks", ""},
};
constexpr std::string_view secrets[] = {"sasl.password",
                                        "ssl.key.password",
                                        "ssl.keystore.password",
                                        "ssl.key.pem",
                                        "sasl.oauthbearer.client.secret",
                                        "sasl.oauthbearer.config"};

}  // namespace

std::span<const InstanceOption> instance_options() { return of_instances; }
std::span<const Section> sections() { return all_sections; }
std::span<const std::pair<std::string_view, std::string_view>> reserved_properties() { return reserved; }
bool secret_property(std::string_view name) {
  return std::find(std::begin(secrets), std::end(secrets), name) != std::end(secrets);
}
bool property_of_file(std::string_view name) { return secret_property(name) || name == "sasl.username"; }

}  // namespace tocsin::adapters::config
