#include "adapters/node/job_place.h"

#include <algorithm>
#include <cctype>

#include "adapters/evidence/proc_file.h"
#include "adapters/wrap/job_environment.h"
#include "stream/values/record.h"
#include "stream/values/utf8.h"

namespace tocsin::adapters::node {

using evidence::variable_in;

namespace {

constexpr std::size_t most_name = 128;

// Calls `use` with the path of each line of /proc/PID/cgroup ("9:memory:/slurm/…", "0::/system.slice/…") until it
// returns true.
template <class Use>
void each_path(std::string_view cgroup, Use use) {
  while (!cgroup.empty()) {
    std::string_view line = cgroup.substr(0, cgroup.find('\n'));
    cgroup.remove_prefix(std::min(line.size() + 1, cgroup.size()));
    for (int colon = 0; colon < 2; ++colon) line.remove_prefix(std::min(line.find(':'), line.size() - 1) + 1);
    // Below user@1000.service a user makes groups of any name.
    if (line.find("/user@") == line.npos && use(line)) return;
  }
}

std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

// What stands behind the prefix, if that is a word of letters and digits.
std::string_view word_behind(std::string_view segment, std::string_view prefix) {
  if (!segment.starts_with(prefix)) return {};
  segment.remove_prefix(prefix.size());
  const bool word = std::ranges::all_of(segment, [](unsigned char c) { return std::isalnum(c) || c == '+'; });
  return word ? segment : std::string_view{};
}

std::string value(std::string_view environment, std::string_view name) {
  std::string text{variable_in(environment, name).value_or("")};
  if (text.size() > most_name) text.resize(most_name);
  // It becomes a word of records, lines and names of files.
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; }, '_');
  if (text == stream::cluster_subject) text += '_';
  return stream::as_utf8(text);
}

// "llama-worker-3" of Kubeflow, "llama-3" of an indexed job, "llama-x7k2p" of another: "llama".
std::string name_of_pods(std::string name, std::string_view index) {
  const auto cut_digits = [](std::string& text) {
    const std::size_t end = text.find_last_not_of("0123456789");
    if (end == std::string::npos || end + 1 == text.size() || text[end] != '-') return false;
    text.erase(end);
    return true;
  };
  std::string cut = name;
  if (cut_digits(cut))
    for (const std::string_view role : {"-master", "-worker", "-launcher", "-chief"})
      if (cut.ends_with(role)) return cut.substr(0, cut.size() - role.size());
  if (!index.empty() && name.ends_with('-' + std::string{index})) return name.substr(0, name.size() - index.size() - 1);
  constexpr std::string_view random = "bcdfghjklmnpqrstvwxz2456789";  // of names that Kubernetes makes
  const std::size_t dash = name.rfind('-');
  if (dash != std::string::npos && name.size() - dash == 6 &&
      name.find_first_not_of(random, dash + 1) == std::string::npos)
    name.erase(dash);
  return name;
}

std::string job_of_pod(std::string_view environment, const std::string& uid, const std::string& host) {
  if (std::string given = value(environment, "TOCSIN_JOB"); !given.empty()) return given;
  const std::string name = value(environment, "HOSTNAME");
  // On the network of the machine a pod has the machine's name.
  if (name.empty() || name == host) return uid;
  return name_of_pods(name, value(environment, "JOB_COMPLETION_INDEX"));
}

// Without a scheduler: torchrun's id, or where its ranks meet.
std::string job_by_meeting_point(std::string_view environment, const std::string& host) {
  std::string id = value(environment, "TORCHELASTIC_RUN_ID");
  if (!id.empty() && id != "none") return id;
  std::string address = value(environment, "MASTER_ADDR");
  const std::string port = value(environment, "MASTER_PORT");
  if (address.empty() || port.empty()) return {};
  if (address == "localhost" || address == "::1" || address.starts_with("127.")) address = host;
  return address + '-' + port;
}

}  // namespace

std::optional<SlurmStep> slurm_step(std::string_view cgroup) {
  std::optional<SlurmStep> found;
  each_path(cgroup, [&](std::string_view path) {
    if (path.find("slurm") == path.npos) return false;
    while (!path.empty()) {
      const std::string_view job = word_behind(next_segment(path), "job_");
      if (job.empty()) continue;
      const std::string_view step = word_behind(next_segment(path), "step_");
      if (!step.empty() && next_segment(path) != "slurm") found = SlurmStep{std::string{job}, std::string{step}};
      return true;
    }
    return false;
  });
  return found;
}

std::optional<std::string> pod_uid(std::string_view cgroup) {
  std::optional<std::string> found;
  each_path(cgroup, [&](std::string_view path) {
    if (path.find("kubepods") == path.npos) return false;
    while (!path.empty()) {
      std::string_view segment = next_segment(path);
      segment = segment.substr(0, segment.find(".slice"));
      // "pod…" of the cgroupfs driver, "kubepods-burstable-pod…" of systemd's.
      const std::size_t at = segment.starts_with("pod") ? 0 : segment.rfind("-pod") + 1;
      if (!segment.substr(at).starts_with("pod")) continue;
      std::string uid{segment.substr(at + 3)};
      std::ranges::replace(uid, '_', '-');
      const bool hex = std::ranges::all_of(uid, [](unsigned char c) { return std::isxdigit(c) || c == '-'; });
      if (!hex || (uid.size() != 36 && uid.size() != 32)) continue;  // 32: of a pod that the kubelet has from a file
      found = std::move(uid);
      return true;
    }
    return false;
  });
  return found;
}

std::optional<JobPlace> place_in(std::string_view cgroup, std::string_view environment, const std::string& host) {
  if (auto step = slurm_step(cgroup)) return JobPlace{JobPlace::By::slurm, std::move(step->job), std::move(step->step)};
  if (const auto uid = pod_uid(cgroup)) return JobPlace{JobPlace::By::pod, job_of_pod(environment, *uid, host), {}};
  JobPlace place{JobPlace::By::chosen, value(environment, "TOCSIN_JOB"), {}};
  if (!place.job.empty()) return place;
  const auto variable = [&](const char* name) -> std::optional<std::string> {
    std::string text = value(environment, name);
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
  };
  place.job = wrap::job_environment(variable).job;
  if (!place.job.empty()) place.by = JobPlace::By::environment;
  if (variable("SLURM_JOB_ID")) place.step = variable("SLURM_STEP_ID").value_or("batch");
  if (place.job.empty()) place.job = job_by_meeting_point(environment, host);
  return place.job.empty() ? std::nullopt : std::optional{std::move(place)};
}

std::string_view text_of(JobPlace::By by) noexcept {
  switch (by) {
    case JobPlace::By::slurm: return "Slurm's cgroup";
    case JobPlace::By::pod: return "the pod's cgroup";
    case JobPlace::By::environment:
    case JobPlace::By::chosen: return "the environment";
  }
  return "";
}

}  // namespace tocsin::adapters::node
