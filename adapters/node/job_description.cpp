#include "adapters/node/job_description.h"

#include <charconv>

#include "adapters/evidence/proc_file.h"
#include "adapters/formats/json.h"
#include "adapters/wrap/proc_stat.h"

namespace tocsin::adapters::node {

using formats::Json;

namespace {

std::uint32_t number_in(std::string_view environment, std::string_view name) {
  const std::string_view text = evidence::variable_in(environment, name).value_or("");
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

// On how many nodes ranks of the job run, each of them with an agent.
std::uint32_t nodes_in(std::string_view environment) {
  for (const char* name : {"GROUP_WORLD_SIZE", "SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES"})
    if (const std::uint32_t nodes = number_in(environment, name); nodes > 0) return nodes;
  for (const auto& [all, local] :
       {std::pair{"WORLD_SIZE", "LOCAL_WORLD_SIZE"}, std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}})
    if (const std::uint32_t each = number_in(environment, local); each > 0) return number_in(environment, all) / each;
  return 1;
}

}  // namespace

JobDescription describe(const NodeJob& job, const std::string& node, const std::string& attempts) {
  const std::string environment = evidence::environment_of(job.ranks.front().pid);
  const auto variable = [&](const char* name) -> std::optional<std::string> {
    const auto value = evidence::variable_in(environment, name);
    return value ? std::optional<std::string>{*value} : std::nullopt;
  };
  // Steps of one job that are found at once are attempts of their own.
  const std::string prefix = attempts + (job.place.step.empty() ? "" : job.place.step + '-');
  JobDescription out{job.place, {job.place.job, node, prefix, wrap::job_environment(variable).labels, {}}};
  std::string step = job.place.step;
  for (const char* name : {"SLURM_RESTART_COUNT", "TORCHELASTIC_RUN_ID"}) step += '/' + variable(name).value_or("");
  if (const std::uint32_t nodes = nodes_in(environment); nodes > 1)
    out.reported.part = wrap::JobPart{node, std::move(step), nodes};
  return out;
}

std::string to_text(const JobDescription& job) {
  Json out{{"by", static_cast<int>(job.place.by)},
           {"job", job.place.job},
           {"step", job.place.step},
           {"user", job.place.user}};
  out["name"] = job.reported.job, out["node"] = job.reported.node, out["attempts"] = job.reported.attempts;
  out["labels"] = job.reported.labels;
  if (const auto& part = job.reported.part)
    out["part"] = {{"part", part->part}, {"step", part->step}, {"parts", part->parts}};
  return formats::dump(out) + '\n';
}

std::optional<JobDescription> description_from(const std::string& text) {
  const Json in = Json::parse(text, nullptr, false);
  if (!in.is_object()) return std::nullopt;
  try {
    JobDescription job;
    const int by = in.at("by");
    if (by < 0 || by > static_cast<int>(JobPlace::By::chosen)) return std::nullopt;
    job.place = {static_cast<JobPlace::By>(by), in.at("job"), in.at("step")};
    job.place.user = in.at("user");
    job.reported = {in.at("name"), in.at("node"), in.at("attempts"), in.at("labels"), {}};
    if (const auto part = in.find("part"); part != in.end())
      job.reported.part = wrap::JobPart{part->at("part"), part->at("step"), part->at("parts")};
    return job;
  } catch (const Json::exception&) { return std::nullopt; }
}

}  // namespace tocsin::adapters::node
