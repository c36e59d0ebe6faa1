#include <algorithm>
#include <tuple>
#include <vector>

#include "adapters/prometheus/engine_metrics.h"
#include "stream/values/utf8.h"

namespace tocsin::adapters::prometheus {
namespace {

// Jobs with the most severe alerts first, then those with the most, then those that run, then by name: which are shown
// depends on nothing else. One that has ended is here for a day.
std::tuple<int, std::uint64_t, bool> weight(const JobFigures& job) {
  int severest = 0;
  std::uint64_t alerts = 0;
  for (const auto& [severity, count] : job.firing)
    if (count > 0) severest = std::max(severest, static_cast<int>(severity) + 1), alerts += count;
  return {severest, alerts, job.state != "ended"};
}

// By the name that their series have: a job that moves to another partition may be in two for a moment, names that are
// no UTF-8 may look the same, and two series with the same labels are no valid answer.
using Shown = std::map<std::string, const JobFigures*>;

std::string rank_of(const stream::NamedMember& member) {
  return member.rank ? std::to_string(*member.rank) : std::string{};
}

void add_alerts(Families& families, const Shown& jobs, std::size_t most) {
  families.gauge("tocsin_job_alerts_firing", "Alerts of a job that fire, by severity.");
  for (const auto& [name, job] : jobs)
    for (const auto& [severity, count] : job->firing)
      families.value({{"job_id", name}, {"severity", std::string{stream::name(severity)}}}, count);
  std::size_t all = 0;
  families.gauge("tocsin_alert_firing", "1 for an alert that fires, with its rule and whom it is about.");
  for (const auto& [name, job] : jobs)
    for (const JobFigures::Alert& a : job->alerts)
      if (all++ < most)
        families.value({{"job_id", name},
                        {"rule", a.rule},
                        {"family", a.family},
                        {"severity", std::string{stream::name(a.severity)}},
                        {"rank", rank_of(a.member)},
                        {"node", a.member.node},
                        {"gpu", a.member.gpu},
                        {"rack", a.member.rack}},
                       1.0);
  families
      .gauge("tocsin_alerts_omitted",
             "Alerts of shown jobs that fire without a series of their own, because there are too many.")
      .value({}, static_cast<std::uint64_t>(all > most ? all - most : 0));
}

void add_ranks(Families& families, const Shown& jobs, std::size_t most) {
  Shown detailed;
  std::uint64_t shown = 0, omitted = 0;
  for (const auto& [name, job] : jobs) {
    const std::uint64_t ranks = std::max<std::uint64_t>(job->ranks.value_or(0), job->by_rank.size());
    if (job->by_rank.empty() || shown + ranks > most) {
      omitted += ranks;
      continue;
    }
    shown += ranks;
    detailed.emplace(name, job);
  }
  const auto gauge = [&](const char* metric, const char* help, double stream::SubjectFigures::Rank::*value) {
    families.gauge(metric, help);
    for (const auto& [name, job] : detailed)
      for (const auto& rank : job->by_rank)
        if (!stream::is_absent(rank.*value))
          families.value({{"job_id", name}, {"rank", std::to_string(rank.rank)}, {"node", rank.node}}, rank.*value);
  };
  gauge("tocsin_rank_step", "The step that a rank has come to.", &stream::SubjectFigures::Rank::step);
  gauge("tocsin_rank_step_time_seconds", "How long a rank's last steps took, on average.",
        &stream::SubjectFigures::Rank::step_time);
  gauge("tocsin_rank_compute_time_seconds", "The part of its last steps in which a rank computed itself, on average.",
        &stream::SubjectFigures::Rank::compute_time);
  families.gauge("tocsin_ranks_omitted", "Ranks of shown jobs without series of their own, because there are too many.")
      .value({}, omitted);
}

}  // namespace

void add_jobs(Families& families, const std::map<std::uint32_t, PublishedJobs>& jobs, const MetricsOptions& options) {
  std::vector<const JobFigures*> shown;
  Shown once;
  for (const auto& [partition, published] : jobs)
    for (const JobFigures& job : *published) {
      if (job.job != stream::cluster_subject) shown.push_back(&job);
      else once.emplace(job.job, &job);  // its alerts alone, and it takes no room from the jobs
    }
  const std::size_t most = options.most_jobs + once.size();
  std::sort(shown.begin(), shown.end(), [](const JobFigures* a, const JobFigures* b) {
    return weight(*a) != weight(*b) ? weight(*a) > weight(*b) : a->job < b->job;
  });
  const std::size_t all = shown.size();
  for (const JobFigures* job : shown)
    if (once.size() < most) once.emplace(stream::as_utf8(job->job), job);

  families.gauge("tocsin_jobs", "Jobs that are judged.").value({}, static_cast<std::uint64_t>(all));
  families
      .gauge("tocsin_jobs_omitted", "Jobs without series of their own, because there are too many (limits.job_series).")
      .value({}, static_cast<std::uint64_t>(all > options.most_jobs ? all - options.most_jobs : 0));
  families.gauge("tocsin_job_state", "1 for the state that a job is in.");
  for (const auto& [name, job] : once)
    if (!job->state.empty()) families.value({{"job_id", name}, {"state", job->state}}, 1.0);

  const auto gauge = [&](const char* metric, const char* help, auto JobFigures::*value) {
    families.gauge(metric, help);
    for (const auto& [name, job] : once)
      if (job->*value) families.value({{"job_id", name}}, static_cast<double>(*(job->*value)));
  };
  gauge("tocsin_job_ranks", "Ranks of a job that are expected.", &JobFigures::ranks);
  gauge("tocsin_job_step", "The step that a job has come to.", &JobFigures::step);
  gauge("tocsin_job_steps_per_second", "How fast a job steps, over about a minute.", &JobFigures::steps_per_second);
  gauge("tocsin_job_loss", "The last loss that a job reported.", &JobFigures::loss);
  gauge("tocsin_job_goodput_ratio",
        "The share of a job's time that its steps account for, each at the usual time of one.", &JobFigures::goodput);
  gauge("tocsin_job_lost_gpu_seconds", "GPU time since a job began that its steps do not account for; one GPU a rank.",
        &JobFigures::gpu_seconds_lost);
  const auto summary = [&](const char* metric, const char* help, stream::Spread JobFigures::*value) {
    families.summary(metric, help);
    for (const auto& [name, job] : once)
      if ((job->*value).count > 0) families.value({{"job_id", name}}, job->*value);
  };
  summary("tocsin_job_step_time_seconds", "How long the last steps took, over the ranks of a job as they are now.",
          &JobFigures::step_time);
  summary("tocsin_job_compute_time_seconds",
          "The part of the last steps in which a rank computed itself, over the ranks of a job as they are now.",
          &JobFigures::compute_time);
  add_ranks(families, once, options.most_ranks);
  add_alerts(families, once, options.most_alerts);
}

}  // namespace tocsin::adapters::prometheus
