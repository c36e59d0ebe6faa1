#include "adapters/service/job_watch.h"

#include <algorithm>
#include <memory>

#include "adapters/formats/alert_form.h"

namespace tocsin::adapters::service {

using namespace std::chrono_literals;
using prometheus::JobFigures;
using stream::SubjectFigures;

namespace {

std::optional<double> known(double x) { return stream::is_absent(x) ? std::nullopt : std::optional{x}; }

bool fires(const JobFigures& job, auto&& which) { return std::any_of(job.alerts.begin(), job.alerts.end(), which); }

std::string state_of(const SubjectFigures& figures, const JobFigures& job) {
  if (figures.ended) return "ended";
  if (fires(job, [](const auto& alert) { return alert.family.starts_with("C"); })) return "hung";
  if (fires(job, [](const auto& alert) { return alert.rule == "unobserved"; })) return "unobserved";
  return stream::is_absent(figures.step) ? "starting" : "running";
}

}  // namespace

std::optional<double> StepRate::look(double step, stream::Time changed, stream::Time clock) {
  if (!changes_.empty() && step < changes_.back().second) changes_.clear();  // it went back to a checkpoint
  if (changes_.empty() || step != changes_.back().second) changes_.emplace_back(changed, step);
  const auto last = changes_.back().first;
  while (changes_.size() > 2 && changes_[1].first <= last - window) changes_.pop_front();
  if (changes_.size() < 2) return std::nullopt;
  const auto first = changes_.front().first;
  const stream::Duration usual = (last - first) / static_cast<std::int64_t>(changes_.size() - 1),
                         standing = clock - last;
  if (standing > std::max<stream::Duration>(window, 5 * usual)) return 0.0;
  const double over = stream::seconds(standing > 2 * usual ? clock - first : last - first);
  return over > 0 ? std::optional{(changes_.back().second - changes_.front().second) / over} : std::nullopt;
}

JobFigures JobWatch::shown(SubjectFigures&& figures) {
  JobFigures job;
  job.firing = {{stream::Severity::critical, 0}, {stream::Severity::warning, 0}, {stream::Severity::info, 0}};
  for (stream::AlertTransition& alert : figures.firing) {
    if (alert.mode != stream::Mode::live || alert.severity == stream::Severity::none) continue;
    ++job.firing[alert.severity];
    std::string who = formats::members_text(alert);
    job.alerts.push_back(
        {std::move(alert.rule), std::move(alert.family), alert.severity, std::move(alert.member), std::move(who)});
  }
  if (figures.subject != stream::cluster_subject) job.state = state_of(figures, job);
  if (figures.ranks > 0) job.ranks = figures.ranks;
  job.loss = known(figures.loss);
  if (job.step = known(figures.step); job.step && !figures.ended) {
    Rate& rate = rates_[figures.subject];
    if (rate.attempt != figures.attempt) rate = {figures.attempt, {}, true};
    rate.seen = true;
    job.steps_per_second = rate.rate.look(figures.step, figures.step_changed, figures.clock);
  }
  const double age = stream::seconds(figures.clock - figures.start);
  if (!stream::is_absent(figures.productive) && age > 0) {
    const double productive = std::clamp(figures.productive, 0.0, age);
    job.goodput = productive / age;
    if (job.ranks) job.gpu_seconds_lost = (age - productive) * static_cast<double>(*job.ranks);
  }
  job.step_time = figures.step_time, job.compute_time = figures.compute_time;
  job.by_rank = std::move(figures.by_rank);
  job.undecided = std::move(figures.undecided);
  job.job = std::move(figures.subject), job.attempt = std::move(figures.attempt), job.user = std::move(figures.user);
  return job;
}

prometheus::PublishedJobs JobWatch::finish(Clock::time_point now) {
  next_ = std::max(begun_ + 1s, now + 50 * cost_);
  after_.clear();
  cost_ = {};
  std::erase_if(rates_, [](const auto& one) { return !one.second.seen; });
  for (auto& [job, rate] : rates_) rate.seen = false;
  return std::make_shared<const std::vector<JobFigures>>(std::exchange(seen_, {}));
}

prometheus::PublishedJobs JobWatch::look(const stream::Shard& shard, Clock::time_point now) {
  if (now < next_) return nullptr;
  if (after_.empty()) begun_ = now;
  const auto began = Clock::now();
  auto slice = shard.figures(after_, jobs_a_look);
  const bool all = slice.size() < jobs_a_look;
  if (!slice.empty()) after_ = slice.back().subject;
  for (SubjectFigures& figures : slice) seen_.push_back(shown(std::move(figures)));
  cost_ += Clock::now() - began;
  return all ? finish(now) : nullptr;
}

}  // namespace tocsin::adapters::service
