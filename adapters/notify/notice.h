#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adapters/formats/json.h"
#include "stream/rules/alert.h"

namespace tocsin::adapters::notify {

// Whose reports: a partition, or the one journal.
using Owner = std::uint32_t;

// A transition as people are notified of it. Texts, so that it can be kept over a restart.
struct Alert {
  std::uint64_t id = 0;
  std::uint32_t number = 0;
  bool firing = false;
  stream::Severity severity{};
  stream::Time since{}, at{};
  std::string rule, family, mode, job;
  std::map<std::string, std::string> labels;               // of the job
  std::string summary, who, seen, action, runbook, node;   // who: empty for the whole job
  std::string ended;                                       // of one that resolved: why
  std::vector<std::pair<std::string, std::string>> parts;  // of its form: title, text
  std::string json;                                        // as in alerts.jsonl
  std::string manager_labels, manager_annotations;         // as Alertmanager has them

  [[nodiscard]] bool of_cluster() const { return job == stream::cluster_subject; }
};
// `recording`: as of alert_form().
[[nodiscard]] Alert alert_of(const stream::AlertTransition& transition, const std::string& recording = "");

// A job that has ended.
struct Ended {
  std::uint64_t id = 0;  // hash of job, attempt and time
  std::string job, attempt;
  std::map<std::string, std::string> labels;
  stream::Time at{};
  bool failed = false;
  std::string result;                                      // "failed: CUDA out of memory", "completed, no fault found"
  std::vector<std::pair<std::string, std::string>> parts;  // found, ruled out, not decided
  std::vector<std::string> last_lines;                     // of its log, where they are at hand
  std::string json;
};
[[nodiscard]] Ended ended_of(const stream::Verdict& verdict);

[[nodiscard]] formats::Json json_of(const Alert& alert);
[[nodiscard]] Alert alert_from(const formats::Json& json);  // throws what is not of json_of()

}  // namespace tocsin::adapters::notify
