#include <algorithm>
#include <optional>
#include <tuple>

#include "adapters/prometheus/engine_metrics.h"

namespace tocsin::adapters::prometheus {
namespace {

// Jobs with the most severe alerts first, then those with the most, then by name: which are shown depends on nothing else.
std::tuple<int, std::uint64_t> weight(const JobFigures& job) {
  int severest = 0;
  std::uint64_t alerts = 0;
  for (const auto& [severity, count] : job.firing)
    if (count > 0) severest = std::max(severest, static_cast<int>(severity) + 1), alerts += count;
  return {severest, alerts};
}

}  // namespace

void add_jobs(Families& families, const std::map<std::uint32_t, std::vector<JobFigures>>& jobs, std::size_t most_jobs) {
  std::vector<const JobFigures*> shown;
  for (const auto& [partition, figures] : jobs)
    for (const JobFigures& job : figures) shown.push_back(&job);
  std::sort(shown.begin(), shown.end(),
            [](const JobFigures* a, const JobFigures* b) { return weight(*a) != weight(*b) ? weight(*a) > weight(*b) : a->job < b->job; });
  const std::size_t all = shown.size();
  // A job that moves to another partition may be in two for a moment: two series with the same labels are no valid answer.
  std::map<std::string, const JobFigures*> once;
  for (const JobFigures* job : shown)
    if (once.size() < most_jobs) once.emplace(job->job, job);

  families.gauge("tocsin_jobs", "Jobs that are judged.").value({}, static_cast<std::uint64_t>(all));
  families.gauge("tocsin_jobs_omitted", "Jobs without series of their own, because there are too many (limits.job_series).")
      .value({}, static_cast<std::uint64_t>(all > most_jobs ? all - most_jobs : 0));
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
  gauge("tocsin_job_steps_per_second", "How fast a job steps.", &JobFigures::steps_per_second);
  gauge("tocsin_job_loss", "The last loss that a job reported.", &JobFigures::loss);
  gauge("tocsin_job_goodput_ratio", "The share of a job's time in which it made progress.", &JobFigures::goodput);
  gauge("tocsin_job_lost_gpu_seconds", "GPU time in which a job made no progress, since it began.", &JobFigures::gpu_seconds_lost);
  families.gauge("tocsin_job_alerts_firing", "Alerts of a job that fire, by severity.");
  for (const auto& [name, job] : once)
    for (const auto& [severity, count] : job->firing)
      families.value({{"job_id", name}, {"severity", std::string{stream::name(severity)}}}, count);
}

}  // namespace tocsin::adapters::prometheus
