#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "adapters/node/node_jobs.h"
#include "adapters/wrap/job_report.h"

namespace tocsin::adapters::node {

// A job as it is recorded: kept beside its journal, so that an agent that is started again goes on with the same
// attempt.
struct JobDescription {
  JobPlace place;
  wrap::ReportedJob reported;
};

// `attempts`: what the names of its attempts begin with. Labels, and how many nodes report the job, come from the
// environment of its first rank here.
[[nodiscard]] JobDescription describe(const NodeJob& job, const std::string& node, const std::string& attempts);

[[nodiscard]] std::string to_text(const JobDescription& job);
[[nodiscard]] std::optional<JobDescription> description_from(const std::string& text);

}  // namespace tocsin::adapters::node
