#include "adapters/service/job_list.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "adapters/formats/json_text.h"

namespace tocsin::adapters::service {
namespace {

using prometheus::JobFigures;
using stream::Errc;
using stream::Error;

constexpr std::size_t usual_limit = 1000;
constexpr std::string_view states[] = {"starting", "running", "hung", "unobserved", "ended"};

void put(std::string& out, std::string_view key, std::string_view text) {
  formats::put_key(out, key);
  formats::put_text(out, text);
}
void put(std::string& out, std::string_view key, std::optional<double> number) {
  if (!number || stream::is_absent(*number)) return;
  formats::put_key(out, key);
  formats::put_number(out, *number);
}
void put_count(std::string& out, std::string_view key, std::uint64_t count) {
  formats::put_key(out, key);
  formats::put_whole(out, static_cast<std::int64_t>(count));
}

void put(std::string& out, std::string_view key, const stream::Spread& spread) {
  if (spread.count == 0) return;
  formats::put_key(out, key);
  out += '{';
  put_count(out, "ranks", spread.count);
  put(out, "least", spread.least), put(out, "median", spread.median), put(out, "p90", spread.high),
      put(out, "greatest", spread.greatest);
  out += '}';
}

void put(std::string& out, const JobFigures::Alert& alert) {
  out += '{';
  put(out, "rule", alert.rule), put(out, "family", alert.family), put(out, "severity", stream::name(alert.severity));
  if (alert.member.rank) put_count(out, "rank", *alert.member.rank);
  if (!alert.member.node.empty()) put(out, "node", alert.member.node);
  if (!alert.member.gpu.empty()) put(out, "gpu", alert.member.gpu);
  if (!alert.member.rack.empty()) put(out, "rack", alert.member.rack);
  put(out, "who", alert.who);
  out += '}';
}

void put(std::string& out, const stream::SubjectFigures::Rank& rank) {
  out += '{';
  put_count(out, "rank", rank.rank);
  if (!rank.node.empty()) put(out, "node", rank.node);
  put(out, "step", rank.step), put(out, "step_time", rank.step_time), put(out, "compute_time", rank.compute_time);
  out += '}';
}

void put(std::string& out, const std::string& text) { formats::put_text(out, text); }

template <class T>
void put_list(std::string& out, std::string_view key, const std::vector<T>& list);

void put(std::string& out, const stream::UndecidedRule& undecided) {
  out += '{';
  put(out, "rule", undecided.rule);
  put_list(out, "missing", undecided.missing);
  out += '}';
}

template <class T>
void put_list(std::string& out, std::string_view key, const std::vector<T>& list) {
  formats::put_key(out, key);
  out += '[';
  for (const T& one : list) {
    if (out.back() != '[') out += ',';
    put(out, one);
  }
  out += ']';
}

void put(std::string& out, const JobFigures& job, std::optional<int> partition, bool by_rank, bool with_undecided) {
  out += '{';
  put(out, "job", job.job), put(out, "attempt", job.attempt), put(out, "state", job.state);
  if (partition) put_count(out, "partition", static_cast<std::uint64_t>(*partition));
  if (job.ranks) put_count(out, "ranks", *job.ranks);
  put(out, "step", job.step), put(out, "steps_per_second", job.steps_per_second), put(out, "loss", job.loss);
  put(out, "goodput", job.goodput), put(out, "lost_gpu_seconds", job.gpu_seconds_lost);
  put(out, "step_time", job.step_time), put(out, "compute_time", job.compute_time);
  put_list(out, "alerts", job.alerts);
  if (by_rank) put_list(out, "by_rank", job.by_rank);
  if (with_undecided) put_list(out, "undecided", job.undecided);
  out += '}';
}

}  // namespace

void JobList::publish(int partition, prometheus::PublishedJobs jobs) {
  const std::lock_guard lock{mutex_};
  jobs_[partition] = std::move(jobs);
}

void JobList::withdraw(int partition) {
  const std::lock_guard lock{mutex_};
  jobs_.erase(partition);
}

stream::Result<std::string> JobList::json(const http::Providers::Query& query) const {
  std::size_t limit = usual_limit;
  std::string job, state, by_rank = "yes";
  for (const auto& [name, value] : query) {
    if (name == "job") job = value;
    else if (name == "state") state = value;
    else if (name == "by_rank") by_rank = value;
    else if (name != "limit")
      return Error{Errc::malformed, "there is no parameter '" + name + "'; known are job, state, by_rank, limit"};
    else if (const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), limit);
             wrong != std::errc{} || end != value.data() + value.size())
      return Error{Errc::malformed, "limit is not a whole number: ?limit=1000"};
  }
  if (!state.empty() && std::find(std::begin(states), std::end(states), state) == std::end(states))
    return Error{Errc::malformed, "state is starting, running, hung, unobserved or ended"};
  if (by_rank != "yes" && by_rank != "no") return Error{Errc::malformed, "by_rank is yes or no"};
  std::map<int, prometheus::PublishedJobs> all;
  {
    const std::lock_guard lock{mutex_};
    all = jobs_;
  }
  std::string out = "[";
  for (const auto& [partition, jobs] : all)
    for (const JobFigures& one : *jobs) {
      if (one.job == stream::cluster_subject || (!job.empty() && one.job != job) ||
          (!state.empty() && one.state != state))
        continue;
      if (limit-- == 0) return out += ']';
      if (out.size() > 1) out += ',';
      put(out, one, partition, by_rank == "yes", !job.empty());
    }
  return out += ']';
}

std::string jobs_json(const std::vector<JobFigures>& jobs) {
  std::string out = "[";
  for (const JobFigures& job : jobs) {
    if (job.job == stream::cluster_subject) continue;
    if (out.size() > 1) out += ',';
    put(out, job, std::nullopt, true, true);
  }
  return out += ']';
}

}  // namespace tocsin::adapters::service
