#include "adapters/service/job_list.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "adapters/formats/json.h"

namespace tocsin::adapters::service {
namespace {

using prometheus::JobFigures;
using stream::Errc;
using stream::Error;

constexpr std::size_t usual_limit = 1000;
constexpr std::string_view states[] = {"starting", "running", "hung", "unobserved", "ended"};

using formats::Json;
using formats::put;

void put(Json& out, const char* key, std::optional<double> number) {
  if (number && !stream::is_absent(*number)) out[key] = formats::json_number(*number);
}
void put(Json& out, const char* key, const stream::Spread& spread) {
  if (spread.count == 0) return;
  Json& of = out[key] = {{"ranks", spread.count}};
  put(of, "least", spread.least), put(of, "median", spread.median);
  put(of, "p90", spread.high), put(of, "greatest", spread.greatest);
}

Json json_of(const JobFigures::Alert& alert) {
  Json out{{"rule", alert.rule}, {"family", alert.family}, {"severity", stream::name(alert.severity)}};
  if (alert.member.rank) out["rank"] = *alert.member.rank;
  put(out, "node", alert.member.node), put(out, "gpu", alert.member.gpu), put(out, "rack", alert.member.rack);
  out["who"] = alert.who;
  return out;
}

Json json_of(const stream::SubjectFigures::Rank& rank) {
  Json out{{"rank", rank.rank}};
  put(out, "node", rank.node);
  put(out, "step", rank.step), put(out, "step_time", rank.step_time), put(out, "compute_time", rank.compute_time);
  return out;
}

Json json_of(const stream::UndecidedRule& undecided) {
  return {{"rule", undecided.rule}, {"missing", undecided.missing}};
}

void put_list(Json& out, const char* key, const auto& list) {
  Json& of = out[key] = Json::array();
  for (const auto& one : list) of.push_back(json_of(one));
}

Json json_of(const JobFigures& job, std::optional<int> partition, bool by_rank, bool with_undecided) {
  Json out{{"job", job.job}, {"attempt", job.attempt}, {"state", job.state}};
  put(out, "user", job.user);
  if (partition) out["partition"] = *partition;
  if (job.ranks) out["ranks"] = *job.ranks;
  put(out, "step", job.step), put(out, "steps_per_second", job.steps_per_second), put(out, "loss", job.loss);
  put(out, "goodput", job.goodput), put(out, "lost_gpu_seconds", job.gpu_seconds_lost);
  put(out, "step_time", job.step_time), put(out, "compute_time", job.compute_time);
  put_list(out, "alerts", job.alerts);
  if (by_rank) put_list(out, "by_rank", job.by_rank);
  if (with_undecided) put_list(out, "undecided", job.undecided);
  return out;
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

std::optional<SenderRights::KnownJob> JobList::find(const std::string& job) const {
  const std::lock_guard lock{mutex_};
  for (const auto& [partition, jobs] : jobs_)
    for (const JobFigures& one : *jobs)
      if (one.job == job) return SenderRights::KnownJob{one.user, one.state == "ended"};
  return std::nullopt;
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
  Json out = Json::array();
  for (const auto& [partition, jobs] : all)
    for (const JobFigures& one : *jobs) {
      if (one.job == stream::cluster_subject || (!job.empty() && one.job != job) ||
          (!state.empty() && one.state != state))
        continue;
      if (limit-- == 0) return formats::dump(out);
      out.push_back(json_of(one, partition, by_rank == "yes", !job.empty()));
    }
  return formats::dump(out);
}

std::string jobs_json(const std::vector<JobFigures>& jobs) {
  Json out = Json::array();
  for (const JobFigures& job : jobs)
    if (job.job != stream::cluster_subject) out.push_back(json_of(job, std::nullopt, true, true));
  return formats::dump(out);
}

}  // namespace tocsin::adapters::service
