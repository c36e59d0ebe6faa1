// Slurm's jobcomp records as events of jobs.
#include <algorithm>
#include <charconv>

#include "adapters/formats/parse_time.h"
#include "adapters/ingest/json_values.h"
#include "adapters/ingest/labels.h"

namespace tocsin::adapters::ingest {
namespace {

// A state of Slurm, and the reason of an end that it is.
constexpr std::pair<std::string_view, std::string_view> reasons_of_states[] = {
    {"COMPLETED", "completed"}, {"FAILED", "failed"},       {"TIMEOUT", "timeout"},     {"DEADLINE", "timeout"},
    {"CANCELLED", "cancelled"}, {"NODE_FAIL", "node_fail"}, {"BOOT_FAIL", "node_fail"}, {"PREEMPTED", "preempted"},
    {"REQUEUED", "requeued"},   {"OUT_OF_MEMORY", "oom"},
};
constexpr std::string_view states_before_the_end[] = {"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED"};
// Fields, and the labels of the attempt that they become.
constexpr std::pair<std::string_view, std::string_view> labels_of_fields[] = {
    {"job_name", "labels.name"}, {"username", "labels.user"},   {"partition", "labels.partition"},
    {"qos", "labels.qos"},       {"cluster", "labels.cluster"}, {"nodes", "labels.nodes"},
};

// "CODE:SIGNAL".
void add_exit(std::string_view text, Item& item) {
  int code = 0, signal = 0;
  const auto [colon, wrong] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (wrong != std::errc{} || colon == text.data() + text.size() || *colon != ':') return;
  if (std::from_chars(colon + 1, text.data() + text.size(), signal).ec != std::errc{}) return;
  item.fields.push_back({"code", static_cast<double>(code), {}, false});
  if (signal != 0) item.fields.push_back({"signal", static_cast<double>(signal), {}, false});
}

// A job without nodes has none of these; what jobs wait for stands there, too.
bool names_nodes(std::string_view nodes) { return !blank(nodes) && nodes != "(null)" && nodes != "None assigned"; }

}  // namespace

std::string read_slurm(const dom::object& object, ObjectReading& to) {
  Item& item = to.item;
  if (!add_labels(object, item, to.texts)) return "more than 1024 fields";
  const auto field = [&item](std::string_view name) {
    const auto found =
        std::find_if(item.labels.begin(), item.labels.end(), [name](const Label& label) { return label.name == name; });
    return found == item.labels.end() ? std::string_view{} : found->value;
  };
  if (field("jobid").empty()) return "no 'jobid': this is not a record of Slurm's jobcomp";
  item.source = "scheduler";
  const std::string_view state = field("state").substr(0, field("state").find_first_of(" +"));
  if (state == "RESIZING") {
    to.unsupported = "the job gets other nodes, and goes on";
    return {};
  }
  const bool waits = std::find(std::begin(states_before_the_end), std::end(states_before_the_end), state) !=
                     std::end(states_before_the_end);
  const bool begins = field("@end").empty() && (state.empty() || waits);
  // A time without a zone is the cluster's own: that of the message is used.
  item.time = formats::parse_time(field(begins ? "@start" : "@end"));
  if (begins) {
    item.event = "start";
    for (const auto& [name, label] : labels_of_fields)
      if (const std::string_view value = field(name); !value.empty()) item.fields.push_back({label, 0, value, true});
    if (const std::string_view nodes = field("nodes"); names_nodes(nodes)) item.nodes = nodes;
    constexpr double longest = 1e9;
    if (const auto limit = number_in(field("time_limit")); limit && *limit > 0 && *limit < longest)
      item.time_limit = std::chrono::seconds{static_cast<std::int64_t>(*limit)};
    return {};
  }
  item.event = "end";
  const auto known = std::find_if(std::begin(reasons_of_states), std::end(reasons_of_states),
                                  [state](const auto& one) { return one.first == state; });
  // A job that ended and waits again was requeued.
  const std::string_view reason = known != std::end(reasons_of_states) ? known->second : waits ? "requeued" : "unknown";
  item.fields.push_back({"reason", 0, reason, true});
  add_exit(field("exit_code"), item);
  return {};
}

}  // namespace tocsin::adapters::ingest
