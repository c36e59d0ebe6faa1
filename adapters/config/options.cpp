#include "adapters/config/options.h"

#include <algorithm>

namespace tocsin::adapters::config {
namespace {

constexpr std::uint64_t second = 1000, minute = 60 * second;
constexpr std::uint64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

const Option of_kafka[] = {
    {{"brokers", "The brokers to begin with. Without this section the service keeps the log itself, in log.directory.",
      Form::host_port, 0, no_limit, true},
     [](Config& c) -> Place { return &c.kafka.brokers; }},
    {{"prefix", "The prefix of the topics' names: PREFIX.telemetry and so on.", Form::name},
     [](Config& c) -> Place { return &c.kafka.prefix; }},
    {{"group", "The consumer group. Its instances divide the partitions among them.", Form::name},
     [](Config& c) -> Place { return &c.kafka.group; }},
    {{"instance_id",
      "The name of this instance in the group, which it keeps over restarts. No two have the same. Empty: the host's "
      "name.",
      Form::name_or_none},
     [](Config& c) -> Place { return &c.kafka.instance_id; }},
    {{"session_timeout",
      "How long an instance may be silent before its partitions go to others. No alert is posted once they may have "
      "gone.",
      Form::plain, 6 * second, 30 * minute},
     [](Config& c) -> Place { return &c.kafka.session_timeout; }},
    {{"properties",
      "Handed to librdkafka as they are: security.protocol, ssl.ca.location, sasl.mechanism, sasl.username and so on."},
     [](Config& c) -> Place { return &c.kafka.properties; }},
    {{"property_files", "Properties whose value is the first line of a file: sasl.password, ssl.key.password."},
     [](Config& c) -> Place { return &c.kafka.property_files; }},
};
const Option of_rules[] = {
    {{"rules", "Directories of rules, in order; shipped is the program's own. A site's directories add to it."},
     [](Config& c) -> Place { return &c.rules; }},
};
const Option of_alertmanager[] = {
    {{"instances", "Every one gets every alert. None: alerts are not posted."},
     [](Config& c) -> Place { return &c.alertmanager.instances; }},
    {{"labels", "Labels that every alert has besides its own: cluster, instance_group, what the site routes by."},
     [](Config& c) -> Place { return &c.alertmanager.labels; }},
    {{"runbook_url", "The annotation runbook_url; {rule} and {family} are filled in. Empty: none.", Form::url_template},
     [](Config& c) -> Place { return &c.alertmanager.runbook_url; }},
    {{"canary", "Posts alerts of canary rules too, with the label mode=canary."},
     [](Config& c) -> Place { return &c.alertmanager.canary; }},
    {{"resend", "How often an alert that fires is posted again. Alertmanager ends one after four times this.",
      Form::plain, second, 60 * minute},
     [](Config& c) -> Place { return &c.alertmanager.resend; }},
    {{"resolved_for", "How long the end of an alert is posted again.", Form::plain, second, 24 * 60 * minute},
     [](Config& c) -> Place { return &c.alertmanager.resolved_for; }},
    {{"timeout", "How long a request may take.", Form::plain, 100, 5 * minute},
     [](Config& c) -> Place { return &c.alertmanager.request_timeout; }},
    {{"batch", "Alerts in one request, at most.", Form::plain, 1, 10'000},
     [](Config& c) -> Place { return &c.alertmanager.batch; }},
    {{"buffer", "Memory for alerts that fire or wait; beyond it new ones are dropped and counted.", Form::plain, mib,
      16 * gib},
     [](Config& c) -> Place { return Size{&c.alertmanager.most_bytes}; }},
};
const Option of_notify[] = {
    {{"receivers", "Who is notified, by what, and of what. None: nobody is notified."},
     [](Config& c) -> Place { return &c.notify.receivers; }},
    {{"relay",
      "The mail server for addresses mailto:, as smtp://USER@HOST:587/?from=NAME@HOST&password_file=FILE; smtps:// is "
      "TLS "
      "from the start."},
     [](Config& c) -> Place { return &c.notify.relay; }},
    {{"directory",
      "Where messages wait that are not sent yet, and what has been notified. Empty: in $STATE_DIRECTORY, else in "
      "$XDG_STATE_HOME/tocsin or ~/.local/state/tocsin."},
     [](Config& c) -> Place { return &c.notify.directory; }},
    {{"queue_size", "Disk for messages that wait; beyond it the oldest are dropped, with a line in the log.",
      Form::plain, mib, 64 * gib},
     [](Config& c) -> Place { return Size{&c.notify.queue_size}; }},
    {{"keep", "How long a message may wait; then it is dropped, with a line in the log.", Form::plain, minute,
      30 * 24 * 60 * minute},
     [](Config& c) -> Place { return &c.notify.keep; }},
};
const Option of_http[] = {
    {{"listen", "The address and port of the server. Beyond loopback, set credentials and a certificate too.",
      Form::listen},
     [](Config& c) -> Place { return &c.http.listen; }},
    {{"external_url",
      "This server as readers of alerts reach it: generatorURL leads to an alert on its page. Empty: alerts have none.",
      Form::url},
     [](Config& c) -> Place { return &c.alertmanager.external_url; }},
    {{"names",
      "Other names under which clients without credentials ask for this server, besides localhost, the host's own and "
      "that of external_url."},
     [](Config& c) -> Place { return &c.http.names; }},
    {{"certificate_file", "The certificate (PEM, with its chain) for TLS. Empty: no TLS."},
     [](Config& c) -> Place { return &c.http.tls.certificate_file; }},
    {{"key_file", "The key of the certificate."}, [](Config& c) -> Place { return &c.http.tls.key_file; }},
    {{"client_ca_file", "Clients need a certificate of this authority. Empty: they need none."},
     [](Config& c) -> Place { return &c.http.tls.client_ca_file; }},
    {{"user", "The user of basic authentication. Empty: none."}, [](Config& c) -> Place { return &c.http.auth.user; }},
    {{"password_file", "The user's password: the first line of this file."},
     [](Config& c) -> Place { return &c.http.auth.password_file; }},
    {{"token_file", "The token of bearer authentication: the first line of this file."},
     [](Config& c) -> Place { return &c.http.auth.token_file; }},
    {{"open",
      "Allows the server beyond loopback without credentials: whoever reaches it may read all, push records and reload "
      "the rules. Else the program does not start so."},
     [](Config& c) -> Place { return &c.http_open; }},
    {{"senders",
      "Clients with tokens of their own, which may send records and nothing else: docs/http.md. They need http.user or "
      "http.token_file beside them, for readers."},
     [](Config& c) -> Place { return &c.http.auth.senders; }},
    {{"header_size", "The largest head of a request.", Form::plain, kib, mib},
     [](Config& c) -> Place { return Size{&c.http.header_bytes}; }},
    {{"body_size", "The largest body of a request.", Form::plain, kib, gib},
     [](Config& c) -> Place { return Size{&c.http.body_bytes}; }},
    {{"connections", "Open connections, at most; for one more the one that waits longest is closed.", Form::plain, 1,
      100'000},
     [](Config& c) -> Place { return &c.http.connections; }},
    {{"requests_per_second", "Requests of all clients, at most; beyond, they are answered 429. Probes are not counted.",
      Form::plain, 1, 1'000'000},
     [](Config& c) -> Place { return &c.http.requests_per_second; }},
    {{"read_timeout", "How long a client may take to send a request.", Form::plain, 100, 10 * minute},
     [](Config& c) -> Place { return &c.http.read_time; }},
    {{"idle_timeout", "How long a connection may stay open between requests.", Form::plain, 100, 60 * minute},
     [](Config& c) -> Place { return &c.http.idle_time; }},
};
const Option of_ingest[] = {
    {{"group", "The consumer group in which instances divide the partitions of the sources among them.", Form::name},
     [](Config& c) -> Place { return &c.ingest.group; }},
    {{"nodes", "The static map of racks and GPUs: a file, by node. Empty: what labels say is all."},
     [](Config& c) -> Place { return &c.ingest.nodes; }},
    {{"sources", "The topics, and how to read each. None: nothing is ingested."},
     [](Config& c) -> Place { return &c.ingest.sources; }},
};
const std::vector<std::string> log_formats{"logfmt", "json"}, log_levels{"debug", "info", "warning", "error"};
const Option of_log[] = {
    {{"format", "How a line of the log is written.", Form::plain, 0, no_limit, false, log_formats},
     [](Config& c) -> Place { return &c.log.format; }},
    {{"level", "The least important lines that are written.", Form::plain, 0, no_limit, false, log_levels},
     [](Config& c) -> Place { return &c.log.level; }},
    {{"directory",
      "Where the service keeps records, alerts and state if kafka.brokers names no broker: docs/run.md. Empty: the log "
      "directory below $STATE_DIRECTORY, else below $XDG_STATE_HOME/tocsin, else below ~/.local/state/tocsin."},
     [](Config& c) -> Place { return &c.log.directory; }},
    {{"partitions", "The partitions of that log, each with a shard of its own. Cannot be changed later.", Form::plain,
      1, 1024},
     [](Config& c) -> Place { return &c.log.partitions; }},
    {{"retention", "How long that log keeps records. Records that a restart needs stay longer.", Form::plain, minute,
      10 * 366 * 24 * 60 * minute},
     [](Config& c) -> Place { return &c.log.retention; }},
    {{"retention_size",
      "How much that log keeps of records, in all partitions together. Records that a restart needs stay.", Form::plain,
      mib, 1024 * gib},
     [](Config& c) -> Place { return Size{&c.log.retention_size}; }},
};
const Option of_limits[] = {
    {{"queue_size", "Records of a partition that are fetched and not judged yet.", Form::plain, mib, 16 * gib},
     [](Config& c) -> Place { return Size{&c.limits.queue_size}; }},
    {{"state_size",
      "State of a partition's jobs, by estimate. Where they take as much, a new job is refused: its records are "
      "dropped and counted, and the log names it. Jobs that are there go on.",
      Form::plain, 16 * mib, 1024 * gib},
     [](Config& c) -> Place { return Size{&c.limits.state_size}; }},
    {{"job_series", "Jobs with series of their own in /metrics: those with the most severe alerts first.", Form::plain,
      0, 1'000'000},
     [](Config& c) -> Place { return &c.limits.job_series; }},
    {{"save_every", "How often the state of a job that changes is kept.", Form::plain, 10 * second, 4 * minute},
     [](Config& c) -> Place { return &c.limits.save_every; }},
};

const Section all_sections[] = {
    {"kafka", "Where records come from, and where alerts, verdicts and state are kept.", of_kafka},
    {"", "The rules that judge jobs.", of_rules},
    {"alertmanager", "Where alerts are posted.", of_alertmanager},
    {"notify", "Who is notified by mail, chat, pager or webhook: docs/notify.md.", of_notify},
    {"http", "The server of /metrics, the API and reloads.", of_http},
    {"ingest", "Topics of other programs whose records become records of jobs: docs/ingest.md.", of_ingest},
    {"log", "The lines that the program writes to standard error, and the log of records that it keeps without Kafka.",
     of_log},
    {"limits", "Limits on what the program uses.", of_limits},
};

using Instance = alertmanager::Instance;
const OptionOf<Instance> of_instances[] = {
    {{"url", "Its address.", Form::url, 0, no_limit, true}, [](Instance& i) -> Place { return &i.url; }},
    {{"user", "The user of basic authentication."}, [](Instance& i) -> Place { return &i.auth.user; }},
    {{"password_file", "The user's password: the first line of this file."},
     [](Instance& i) -> Place { return &i.auth.password_file; }},
    {{"token_file", "The token of bearer authentication: the first line of this file."},
     [](Instance& i) -> Place { return &i.auth.token_file; }},
    {{"ca_file", "The authorities that its certificate may be of. Empty: the system's."},
     [](Instance& i) -> Place { return &i.tls.ca_file; }},
    {{"server_name", "The name in its certificate, where it is not the host's."},
     [](Instance& i) -> Place { return &i.tls.server_name; }},
    {{"certificate_file", "The certificate of this program."},
     [](Instance& i) -> Place { return &i.tls.certificate_file; }},
    {{"key_file", "The key of that certificate."}, [](Instance& i) -> Place { return &i.tls.key_file; }},
};

using http::Sender;
const OptionOf<Sender> of_senders[] = {
    {{"name", "Its name in answers.", Form::name, 0, no_limit, true}, [](Sender& s) -> Place { return &s.name; }},
    {{"token_file", "Its token: the first line of this file.", Form::plain, 0, no_limit, true},
     [](Sender& s) -> Place { return &s.token_file; }},
    {{"jobs",
      "The jobs of which it may send records; * stands for any text, and ! in front for none of these. Empty: all."},
     [](Sender& s) -> Place { return &s.jobs; }},
    {{"users", "The users, in the same form, of whom it may send jobs: by the label user of their start. Empty: all."},
     [](Sender& s) -> Place { return &s.users; }},
    {{"requests_per_second", "Its requests, at most (1000); beyond, they are answered 429.", Form::plain, 1, 1'000'000},
     [](Sender& s) -> Place { return &s.requests_per_second; }},
    {{"size_per_second", "Its records, not compressed, at most (16MiB); beyond, requests are answered 503.",
      Form::plain, kib, gib},
     [](Sender& s) -> Place { return Size{&s.bytes_per_second}; }},
};

using notify::Receiver;
const std::vector<std::string> severities{"info", "warning", "critical"}, verdict_choices{"none", "failed", "all"};
const OptionOf<Receiver> of_receivers[] = {
    {{"to",
      "Its address: mailto:NAME@HOST, smtps://USER@HOST/?to=NAME@HOST, slack:, teams:, discord:, pagerduty:, "
      "webhook:https://…, alertmanager-webhook:https://…"},
     [](Receiver& r) -> Place { return &r.to; }},
    {{"command", "In place of an address: a program and its arguments, which gets JSON on its standard input."},
     [](Receiver& r) -> Place { return &r.command; }},
    {{"name", "Its name in the log and in metrics. Empty: made of the address."},
     [](Receiver& r) -> Place { return &r.name; }},
    {{"from", "For mail: the sender."}, [](Receiver& r) -> Place { return &r.from; }},
    {{"password_file", "For mail: the password of the user in the address: the first line of this file."},
     [](Receiver& r) -> Place { return &r.password_file; }},
    {{"url_file", "For slack, teams, discord and webhooks: the URL, which is a secret: the first line of this file."},
     [](Receiver& r) -> Place { return &r.url_file; }},
    {{"key_file", "For PagerDuty: the routing key: the first line of this file."},
     [](Receiver& r) -> Place { return &r.key_file; }},
    {{"token_file", "For webhooks: the token of bearer authentication: the first line of this file."},
     [](Receiver& r) -> Place { return &r.token_file; }},
    {{"ca_file", "The authorities that its server's certificate may be of. Empty: the system's."},
     [](Receiver& r) -> Place { return &r.ca_file; }},
    {{"severity", "Alerts at least as severe.", Form::plain, 0, no_limit, false, severities},
     [](Receiver& r) -> Place { return &r.severity; }},
    {{"families", "Alerts of these families; * stands for any text, and ! in front for none of these. Empty: all."},
     [](Receiver& r) -> Place { return &r.families; }},
    {{"rules", "Alerts of these rules, in the same form. Empty: all."}, [](Receiver& r) -> Place { return &r.rules; }},
    {{"modes", "Alerts of rules in these modes: live, canary, shadow."}, [](Receiver& r) -> Place { return &r.modes; }},
    {{"jobs",
      "Alerts and ends of jobs whose labels have these values, as jobs of a rule: {partition: [prod, batch], user: "
      "'!ci'}."},
     [](Receiver& r) -> Place { return &r.jobs; }},
    {{"alerts", "Whether alerts are notified; false: the ends of jobs alone."},
     [](Receiver& r) -> Place { return &r.alerts; }},
    {{"resolved", "Whether the end of an alert is notified."}, [](Receiver& r) -> Place { return &r.resolved; }},
    {{"verdicts", "Which ends of jobs are notified, with the verdict.", Form::plain, 0, no_limit, false,
      verdict_choices},
     [](Receiver& r) -> Place { return &r.verdicts; }},
    {{"artifacts", "For mail of a job's end: globs of files to attach; {job} is its name."},
     [](Receiver& r) -> Place { return &r.artifacts; }},
    {{"artifact_size", "The largest file that is attached.", Form::plain, kib, gib},
     [](Receiver& r) -> Place { return Size{&r.artifact_size}; }},
    {{"artifacts_size", "All attached files of a mail, at most.", Form::plain, kib, gib},
     [](Receiver& r) -> Place { return Size{&r.artifacts_size}; }},
    {{"group", "Alerts that come within this time are one message.", Form::plain, 0, 60 * minute},
     [](Receiver& r) -> Place { return &r.group; }},
    {{"repeat", "How often an alert that fires is notified again. 0s: never.", Form::plain, 0, 30 * 24 * 60 * minute},
     [](Receiver& r) -> Place { return &r.repeat; }},
    {{"limit",
      "Messages an hour; later alerts wait until there is room. 0: 60, and for PagerDuty as many as there are.",
      Form::plain, 0, 100'000},
     [](Receiver& r) -> Place { return &r.limit; }},
};

using ingest::Source;
const std::vector<std::string> source_formats = [] {
  std::vector<std::string> names;
  for (const auto& format : ingest::format_names) names.emplace_back(format.name);
  return names;
}();
const OptionOf<Source> of_sources[] = {
    {{"name", "Its name in the log and in metrics.", Form::name, 0, no_limit, true},
     [](Source& s) -> Place { return &s.name; }},
    {{"topic", "The topic of Kafka that it reads; or one of the next three.", Form::name_or_none},
     [](Source& s) -> Place { return &s.topic; }},
    {{"scrape", "Targets whose metrics are scraped: HOST:PORT, a URL, or a file that lists them (.json)."},
     [](Source& s) -> Place { return &s.scrape; }},
    {{"files", "Files that are followed: /var/log/{job}/*-rank{rank}.out, /dev/kmsg."},
     [](Source& s) -> Place { return &s.files; }},
    {{"post", "Takes requests: OTLP on /v1/metrics and /v1/logs, remote write on /api/v1/write."},
     [](Source& s) -> Place { return &s.post; }},
    {{"every", "How often targets are scraped.", Form::plain, 1000, 3'600'000},
     [](Source& s) -> Place { return &s.every; }},
    {{"format", "The format of its messages.", Form::plain, 0, no_limit, true, source_formats},
     [](Source& s) -> Place { return &s.format; }},
    {{"job",
      "Labels that name the job; the first that has a value counts, here and below. Empty, here and below: the usual "
      "ones, in docs/ingest.md."},
     [](Source& s) -> Place { return &s.job; }},
    {{"attempt", "Labels that name the attempt."}, [](Source& s) -> Place { return &s.attempt; }},
    {{"rank", "Labels with the rank."}, [](Source& s) -> Place { return &s.rank; }},
    {{"node", "Labels that name the node."}, [](Source& s) -> Place { return &s.node; }},
    {{"gpu", "Labels with a PCI address, UUID or index of the GPU. All count."},
     [](Source& s) -> Place { return &s.gpu; }},
    {{"time", "For logs: fields with the time of the line."}, [](Source& s) -> Place { return &s.time; }},
    {{"text", "For logs: fields with the line."}, [](Source& s) -> Place { return &s.text; }},
    {{"covers", "For logs: their source, as kernel_log. Empty: the ranks' own log."},
     [](Source& s) -> Place { return &s.covers; }},
    {{"extract",
      "Label: template of its value, as /var/log/{job}/*-rank{rank}.log, for what no label of its own says."},
     [](Source& s) -> Place { return &s.extract; }},
    {{"labels", "Labels that every record has besides its own."}, [](Source& s) -> Place { return &s.labels; }},
    {{"signals",
      "For metrics: foreign name: signal, or signal and the unit of the values. Names that the rules list as aliases "
      "need none."},
     [](Source& s) -> Place { return &s.signals; }},
    {{"keep", "For metrics: the foreign names to keep; * stands for any text. Empty: all."},
     [](Source& s) -> Place { return &s.keep; }},
};

const OptionOf<ingest::MappedGpu> of_gpus[] = {
    {{"index", "Its number."}, [](ingest::MappedGpu& g) -> Place { return &g.index; }},
    {{"pci", "Its PCI address."}, [](ingest::MappedGpu& g) -> Place { return &g.pci; }},
    {{"uuid", "Its UUID."}, [](ingest::MappedGpu& g) -> Place { return &g.uuid; }},
};
const OptionOf<ingest::MappedNode> of_nodes[] = {
    {{"rack", "Its rack."}, [](ingest::MappedNode& n) -> Place { return &n.rack; }},
    {{"gpus", "Its GPUs."}, [](ingest::MappedNode& n) -> Place { return &n.gpus; }},
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

ItemOptions<Instance> options_of(const Instance&) { return {of_instances, "url: http://HOST:9093"}; }
ItemOptions<Source> options_of(const Source&) { return {of_sources, "name: NAME"}; }
ItemOptions<Sender> options_of(const Sender&) { return {of_senders, "name: NAME"}; }
ItemOptions<Receiver> options_of(const Receiver&) { return {of_receivers, "to: mailto:NAME@HOST"}; }
ItemOptions<ingest::MappedGpu> options_of(const ingest::MappedGpu&) { return {of_gpus, "index: 0"}; }
std::span<const OptionOf<ingest::MappedNode>> node_options() { return of_nodes; }
std::span<const Section> sections() { return all_sections; }
std::span<const std::pair<std::string_view, std::string_view>> reserved_properties() { return reserved; }
bool secret_property(std::string_view name) {
  return std::find(std::begin(secrets), std::end(secrets), name) != std::end(secrets);
}
bool property_of_file(std::string_view name) { return secret_property(name) || name == "sasl.username"; }

}  // namespace tocsin::adapters::config
