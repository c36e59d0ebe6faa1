#include "adapters/cli/job_ranks.h"

#include <algorithm>
#include <filesystem>

#include "adapters/cli/recordings.h"
#include "adapters/evidence/run_ranks.h"
#include "adapters/node/node_jobs.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::cli {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

std::string full_name(const node::NodeJob& job) {
  if (job.place.by == node::JobPlace::By::chosen) return job.place.job + '@' + node::user_name(job.place.user);
  return job.place.job + '.' + job.place.step;
}

}  // namespace

Result<std::vector<evidence::StackTarget>> ranks_of_job(const std::string& name) {
  const auto run = recording_named(name);
  if (std::error_code error; run && std::filesystem::is_directory(*run, error)) {
    if (auto running = still_running(*run); !running) return running.error();
    return evidence::ranks_of(*run);
  }
  std::vector<node::NodeJob> jobs = node::NodeJobs{wrap::host()}.look();
  std::erase_if(jobs, [&](const node::NodeJob& job) { return name != job.place.job && name != full_name(job); });
  if (jobs.size() == 1) return std::move(jobs.front().ranks);
  if (jobs.empty())
    return Error{Errc::not_found, "no job " + name +
                                      " has ranks here, and no recording has that name: `tocsin node "
                                      "--list` and `tocsin runs` show what there is"};
  std::string steps;
  for (const node::NodeJob& job : jobs) steps += (steps.empty() ? "" : ", ") + full_name(job);
  return Error{Errc::refused, "several steps or users of job " + name + " have ranks here, name one: " + steps};
}

}  // namespace tocsin::adapters::cli
