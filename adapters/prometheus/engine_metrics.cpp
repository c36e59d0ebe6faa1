#include "adapters/prometheus/engine_metrics.h"

#include <functional>
#include <set>
#include <string>

namespace tocsin::adapters::prometheus {
namespace {

using stream::Counters;

struct Count {
  const char* name;
  const char* help;
  std::uint64_t Counters::*value;
};
constexpr Count counts[] = {
    {"tocsin_entries_total", "Log entries read, control records included.", &Counters::entries},
    {"tocsin_samples_total", "Samples written into rows.", &Counters::samples},
    {"tocsin_lines_total", "Log lines read.", &Counters::lines},
    {"tocsin_events_total", "Events read.", &Counters::events},
    {"tocsin_beats_total", "Beats read: records that prove that the log was read up to them.", &Counters::beats},
    {"tocsin_late_total", "Samples that came after their row had closed. They prove life, and change no value.",
     &Counters::late},
    {"tocsin_duplicates_total", "Records that were read before.", &Counters::duplicates},
    {"tocsin_unwanted_total", "Samples of signals that no rule needs.", &Counters::unwanted},
    {"tocsin_clock_gaps_total", "Stretches of the log without a beat for more than five seconds.", &Counters::gaps},
    {"tocsin_ticks_total", "Ticks: moments at which rules of a job were due.", &Counters::ticks},
    {"tocsin_evaluations_total", "Evaluations of a rule at a tick.", &Counters::evaluations},
    {"tocsin_alert_transitions_total", "Alerts that began to fire or were resolved.", &Counters::transitions},
    {"tocsin_alerts_over_limit_total", "Alerts beyond the limit of a job. One summary alert has their number.",
     &Counters::alerts_over_limit},
    {"tocsin_quarantines_total", "Times that a rule failed or went over its budget, and was disabled for a while.",
     &Counters::quarantined},
    {"tocsin_packs_refused_total", "Packs named by the log that could not be loaded. The one before stays in force.",
     &Counters::packs_refused},
};

constexpr Count refusals[] = {
    {"unknown_signal", "", &Counters::unknown_signal}, {"malformed_block", "", &Counters::rejected_blocks},
    {"unit_mismatch", "", &Counters::unit_mismatch},   {"stray", "", &Counters::strays},
    {"member_limit", "", &Counters::member_limit},     {"state_limit", "", &Counters::state_limit},
    {"event_limit", "", &Counters::event_limit},       {"text_limit", "", &Counters::text_limit},
};

void add_rules(Families& families, const Partitions& partitions, std::size_t most) {
  std::set<std::string> rules;
  for (const auto& [partition, figures] : partitions)
    for (const auto& [rule, message] : figures.counters.quarantine_messages) rules.insert(rule);
  families.gauge("tocsin_rule_failed", "1 for a rule that was in quarantine since the start. The log has its message.");
  std::size_t shown = 0;
  for (const std::string& rule : rules)
    if (shown++ < most) families.value({{"rule", rule}}, 1.0);
  families.gauge("tocsin_rules_omitted", "Failed rules without a series of their own, because there are too many.")
      .value({}, static_cast<std::uint64_t>(rules.size() > most ? rules.size() - most : 0));
}

}  // namespace

void add_engine(Families& families, const Partitions& partitions, std::size_t most_rules) {
  const auto each = [&](Families& metric, const auto& value_of) {
    for (const auto& [partition, figures] : partitions)
      metric.value({{"partition", std::to_string(partition)}}, std::invoke(value_of, figures));
  };
  for (const Count& count : counts)
    each(families.counter(count.name, count.help), [&](const PartitionFigures& f) { return f.counters.*count.value; });
  families.counter("tocsin_refused_total", "Records that were read and rejected, by reason.");
  for (const auto& [partition, figures] : partitions)
    for (const Count& refusal : refusals)
      families.value({{"partition", std::to_string(partition)}, {"reason", refusal.name}},
                     figures.counters.*refusal.value);
  families.counter("tocsin_times_corrected_total",
                   "Times that could not be true, and were corrected: of events, or of arrivals.");
  for (const auto& [partition, figures] : partitions)
    families.value({{"partition", std::to_string(partition)}, {"kind", "event"}}, figures.counters.corrected_times)
        .value({{"partition", std::to_string(partition)}, {"kind", "arrival"}}, figures.counters.corrected_arrivals);

  using Of = PartitionFigures;
  each(families.gauge("tocsin_lag_records", "Records of the partition that are not judged yet."), &Of::lag_records);
  each(families.gauge("tocsin_lag_seconds", "How far the log's clock is behind the time."), &Of::lag_seconds);
  each(families.gauge("tocsin_queue_bytes", "Records that are fetched and not judged yet."), &Of::queue_bytes);
  each(families.gauge("tocsin_subjects", "Jobs that are kept in memory, and the cluster."), &Of::subjects);
  each(families.gauge("tocsin_state_bytes", "The state of the jobs, by estimate: what limits.state_size limits."),
       &Of::state_bytes);
  each(families.gauge("tocsin_restore_progress_ratio", "How much of the state has been restored: 1 is all."),
       &Of::restored);
  each(families.counter("tocsin_commits_total", "Bundles of alerts and state that were kept."), &Of::commits);
  each(families.counter("tocsin_commit_failures_total", "Bundles that could not be kept, and were tried again."),
       &Of::commit_failures);
  each(families.histogram("tocsin_step_duration_seconds",
                          "How long it took to judge what was read at once, ticks included."),
       &Of::step_seconds);
  each(families.histogram("tocsin_commit_duration_seconds", "How long it took to keep a bundle."), &Of::commit_seconds);
  add_rules(families, partitions, most_rules);
}

void add_process(Families& families, const ProcessFigures& process) {
  families.gauge("tocsin_build_info", "1, with the version.").value({{"version", process.version}}, 1.0);
  families.gauge("tocsin_pack_info", "1, with the hash of the rules in force.");
  if (!process.pack_hash.empty()) families.value({{"hash", process.pack_hash}}, 1.0);
  families.gauge("tocsin_pack_loaded_timestamp_seconds", "When the rules in force were loaded.");
  if (process.pack_since) families.value({}, static_cast<double>(stream::nanoseconds(*process.pack_since)) / 1e9);
  families.counter("tocsin_reloads_total", "Reloads of the rules, by result.")
      .value({{"result", "success"}}, process.reloads)
      .value({{"result", "failure"}}, process.reload_failures);
  families.gauge("tocsin_rules_load_failed", "1 while the rules that were read last do not load or fail their cases.")
      .value({}, process.last_reload_failed ? 1.0 : 0.0);
  families.gauge("tocsin_last_reload_success_timestamp_seconds", "When the rules were last reloaded, changed or not.");
  if (process.last_reload) families.value({}, static_cast<double>(stream::nanoseconds(*process.last_reload)) / 1e9);
  families.gauge("tocsin_ready", "1 once the state is restored and the log is read.")
      .value({}, process.ready ? 1.0 : 0.0);
}

void add_sources(Families& families, const std::vector<SourceFigures>& sources) {
  const auto each = [&](Families& metric, auto SourceFigures::*value) {
    for (const SourceFigures& source : sources) metric.value({{"source", source.source}}, source.*value);
  };
  using Of = SourceFigures;
  each(families.counter("tocsin_ingest_messages_total", "Messages that were read of a source."), &Of::messages);
  each(families.counter("tocsin_ingest_bytes_total", "Bytes of these messages."), &Of::bytes);
  each(families.counter("tocsin_ingest_entries_total",
                        "Records of jobs that were appended to the log: one for each message and job."),
       &Of::entries);
  each(families.counter("tocsin_ingest_unwanted_values_total", "Values that a mapping does not keep."), &Of::unwanted);
  families.counter("tocsin_ingest_left_out_total", "Parts of messages that made no record, by reason.");
  for (const auto& source : sources)
    for (const auto& [reason, count] : source.left_out)
      families.value({{"source", source.source}, {"reason", reason}}, count);
  each(families.gauge("tocsin_ingest_behind_seconds",
                      "Now less the time up to which all partitions of a source were read."),
       &Of::behind_seconds);
}

void add_poster(Families& families, const alertmanager::PosterStatus& status) {
  families.counter("tocsin_alertmanager_posts_total",
                   "Requests to an Alertmanager, by result: a status, or what there was instead.");
  for (const auto& instance : status.instances)
    for (const auto& [code, count] : instance.posts)
      families.value({{"alertmanager", instance.url}, {"code", code}}, count);
  families.counter("tocsin_alertmanager_acknowledged_total",
                   "Alerts that an Alertmanager acknowledged, repeats included.");
  for (const auto& instance : status.instances) families.value({{"alertmanager", instance.url}}, instance.alerts);
  families.gauge("tocsin_alertmanager_waiting", "Alerts that an Alertmanager has not acknowledged yet.");
  for (const auto& instance : status.instances)
    families.value({{"alertmanager", instance.url}}, static_cast<std::uint64_t>(instance.waiting));
  families.gauge("tocsin_alertmanager_up", "0 while requests to an Alertmanager fail.");
  for (const auto& instance : status.instances)
    families.value({{"alertmanager", instance.url}}, instance.backs_off ? 0.0 : 1.0);
  families.gauge("tocsin_alertmanager_alerts_firing", "Alerts that are posted as firing.")
      .value({}, static_cast<std::uint64_t>(status.firing));
  families
      .counter("tocsin_alertmanager_dropped_total", "Transitions that were not posted, because too many alerts waited.")
      .value({}, status.dropped);
}

void add_notifier(Families& families, const notify::NotifierStatus& status) {
  families.counter("tocsin_notifications_total",
                   "Messages to a receiver, by result: sent, failed (tried again), refused, dropped.");
  for (const auto& one : status.receivers)
    for (const auto& [result, count] : one.results) families.value({{"receiver", one.name}, {"result", result}}, count);
  families.gauge("tocsin_notifications_waiting", "Messages and alerts that a receiver is to be sent.");
  for (const auto& one : status.receivers)
    families.value({{"receiver", one.name}}, static_cast<std::uint64_t>(one.waiting));
  if (!status.receivers.empty())
    families.counter("tocsin_notifications_dropped_total", "Reports that came faster than they could be taken.")
        .value({}, status.dropped);
}

void add_server(Families& families, const http::ServerStatus& status) {
  families.counter("tocsin_http_requests_total", "Requests to this server, by route and status.");
  for (const auto& [route, count] : status.by_route)
    families.value({{"path", route.first}, {"code", std::to_string(route.second)}}, count);
  families.counter("tocsin_http_refused_total", "Requests and connections that were refused, by reason.")
      .value({{"reason", "unauthorized"}}, status.unauthorized)
      .value({{"reason", "malformed_or_too_many"}}, status.refused)
      .value({{"reason", "timeout"}}, status.timed_out)
      .value({{"reason", "evicted"}}, status.evicted);
  families.gauge("tocsin_http_connections", "Connections that are open.")
      .value({}, static_cast<std::uint64_t>(status.connections));
}

}  // namespace tocsin::adapters::prometheus
