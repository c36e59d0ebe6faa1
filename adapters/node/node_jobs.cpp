#include "adapters/node/node_jobs.h"

#include <pwd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>

#include "adapters/evidence/listed.h"
#include "adapters/evidence/proc_file.h"
#include "adapters/formats/printable.h"
#include "adapters/wrap/impossible_ranks.h"
#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/rank_finder.h"

namespace tocsin::adapters::node {

using wrap::Process;

namespace {

constexpr double settles_within = 5;  // seconds from its start
constexpr int deepest = 64;           // ancestors that are looked at

bool below_wrap(pid_t pid) {
  char text[1024];
  for (int depth = 0; pid > 1 && depth < deepest; ++depth) {
    const auto stat = wrap::read_stat(pid, text);
    if (!stat) return false;
    if (stat->name == "tocsin") {
      const std::string words = wrap::command_line(pid);
      const std::size_t first = words.find('\0');
      if (first != words.npos && std::string_view{words}.substr(first + 1).starts_with(std::string_view{"wrap\0", 5}))
        return true;
    }
    pid = stat->parent;
  }
  return false;
}

// The real one; /proc/PID itself belongs to root where the process may not be dumped.
uid_t owner_of(pid_t pid) {
  const std::string status = evidence::read_proc(evidence::proc_path(pid, "status"));
  constexpr std::string_view before = "\nUid:\t";
  uid_t user = 0;
  if (const std::size_t at = status.find(before); at != status.npos)
    std::from_chars(status.data() + at + before.size(), status.data() + status.size(), user);
  return user;
}

}  // namespace

wrap::Kin::Answer JobKin::of(const Process& process) {
  places_.erase(process.pid);
  if (process.pid == 2 || process.parent == 2) return Answer::strange;  // threads of the kernel
  const std::string cgroup = evidence::read_proc(evidence::proc_path(process.pid, "cgroup"));
  const std::string environment = evidence::environment_of(process.pid);
  auto place = place_in(cgroup, environment, host_);
  if (place && place->by == JobPlace::By::chosen) place->user = owner_of(process.pid);
  if (place && (!one_ || *one_ == *place)) {
    places_.emplace(process.pid, std::move(*place));
    return Answer::ours;
  }
  return wrap::seconds_since(process.start) < settles_within ? Answer::open : Answer::strange;
}

// The script of a batch job, and the shell of an interactive one, have SLURM_PROCID and are no rank; what they start
// inherits it.
std::string_view JobKin::set_before(const Process& process) const {
  const auto known = places_.find(process.pid);
  const JobPlace* place = known != places_.end() ? &known->second : one_ ? &*one_ : nullptr;
  if (place == nullptr || place->step.empty() || std::isdigit(static_cast<unsigned char>(place->step.front())) != 0)
    return {};
  const std::string environment = evidence::environment_of(process.pid);
  before_.clear();
  for (const char* name : {"SLURM_PROCID", "SLURM_NTASKS", "LOCAL_RANK"})
    if (const auto value = evidence::variable_in(environment, name))
      before_.append(name).append("=").append(*value).push_back('\0');
  return before_;
}

const JobPlace* JobKin::place_of(const Process& process, const std::unordered_map<pid_t, Process>& processes) const {
  if (const auto own = places_.find(process.pid); own != places_.end()) return &own->second;
  for (auto at = processes.find(process.parent); at != processes.end(); at = processes.find(at->second.parent))
    if (const auto place = places_.find(at->first); place != places_.end()) return &place->second;
  return nullptr;
}

void JobKin::keep(const std::unordered_map<pid_t, Process>& processes) {
  std::erase_if(places_, [&](const auto& place) { return !processes.contains(place.first); });
}

void NodeJobs::find_impossible() {
  for (const Process* process : wrap::impossible_ranks(tree_.processes())) {
    const JobPlace* place = kin_.place_of(*process, tree_.processes());
    if (place == nullptr) continue;
    NodeJob job{*place};
    job.user = owner_of(process->pid);
    job.wrapped = below_wrap(process->pid);
    conflicts_.push_back({std::move(job), wrap::why_no_rank(*process)});
  }
}

// Processes without a common rank above them that name the same rank.
void NodeJobs::find_claimed_twice(const NodeJob& job, const std::unordered_map<pid_t, Process>& processes) {
  for (const auto& [pid, process] : processes) {
    const auto same = [&](const evidence::StackTarget& rank) { return rank.rank == process.identity->rank; };
    const auto rank = std::ranges::find_if(job.ranks, same);
    if (rank == job.ranks.end() || rank->pid == pid) continue;
    const Process& other = processes.at(rank->pid);
    if (wrap::seconds_since(std::max(process.start, other.start)) < settles_within) continue;
    const auto related = [&](const evidence::StackTarget& at) {
      return wrap::is_below(tree_.processes(), pid, at.pid) || wrap::is_below(tree_.processes(), at.pid, pid);
    };
    if (std::ranges::any_of(job.ranks, related)) continue;
    const auto& [first, second] = std::minmax(pid, other.pid);
    std::string text = wrap::name_of(processes.at(first)) + " and " + wrap::name_of(processes.at(second)) +
                       " both have " + std::string{wrap::rank_variable(process.identity->kind)} + '=' +
                       std::to_string(process.identity->rank) + ", and one of them is recorded: ";
    if (job.place.by != JobPlace::By::slurm) text += "if they are of two jobs, set TOCSIN_JOB to the name of each; ";
    text += "if one is not a rank, unset the variable for it";
    conflicts_.push_back({NodeJob{job.place, job.world_size, {}, job.user, job.wrapped}, std::move(text)});
  }
}

std::vector<NodeJob> NodeJobs::look() {
  tree_.look();
  kin_.keep(tree_.processes());
  conflicts_.clear();
  find_impossible();
  std::map<JobPlace, std::unordered_map<pid_t, Process>> by_place;
  for (const auto& [pid, process] : tree_.processes())
    if (process.rank)
      if (const JobPlace* place = kin_.place_of(process, tree_.processes())) by_place[*place].emplace(pid, process);
  std::vector<NodeJob> jobs;
  for (const auto& [place, processes] : by_place) {
    const auto known = std::make_unique<wrap::Legacy>();
    wrap::RankFinder finder{*known};
    (void)finder.look(processes);
    NodeJob job{place, known->world_size};
    for (const wrap::Legacy::Rank& rank : finder.ranks()) job.ranks.push_back({rank.pid, rank.rank, rank.start});
    std::ranges::sort(job.ranks, {}, [](const evidence::StackTarget& rank) { return rank.rank; });
    if (job.ranks.empty()) continue;
    job.user = owner_of(job.ranks.front().pid);
    // A program of another user, whatever it calls itself, does not record this job.
    job.wrapped = std::ranges::any_of(
        job.ranks, [&](const auto& rank) { return owner_of(rank.pid) == job.user && below_wrap(rank.pid); });
    if (job.ranks.size() < processes.size()) find_claimed_twice(job, processes);
    for (evidence::StackTarget& rank : job.ranks) {
      rank.pid = tree_.worker_of(rank.pid);
      rank.start = tree_.processes().at(rank.pid).start;
    }
    if (!jobs.empty() && place.by == JobPlace::By::chosen && jobs.back().place.by == place.by &&
        jobs.back().place.job == place.job)
      job.shared = jobs.back().shared = true;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string why_hidden() {
  if (evidence::read_proc("/proc/self/stat").empty())
    return "/proc does not even show this process: mount the one of its pid namespace (mount -t proc proc /proc)";
  if (evidence::read_proc(evidence::proc_path(1, "stat")).empty())
    return "/proc hides the processes of others (hidepid): run this as root with CAP_SYS_PTRACE, or show them (mount "
           "-o remount,hidepid=0 /proc)";
  return {};
}

std::string user_name(uid_t user) {
  const passwd* found = ::getpwuid(user);
  return found != nullptr ? found->pw_name : std::to_string(user);
}

std::string text_of(const RankConflict& conflict) {
  return "job " + formats::printable(conflict.job.place.job) + ": " + formats::printable(conflict.why);
}

std::string text_of(const NodeJob& job) {
  std::vector<std::uint32_t> ranks;
  std::string pids;
  for (const evidence::StackTarget& rank : job.ranks) {
    ranks.push_back(*rank.rank);
    pids += (pids.empty() ? "" : ", ") + std::to_string(rank.pid);
  }
  std::string out = "job " + formats::printable(job.place.job);
  if (!job.place.step.empty()) out += " step " + formats::printable(job.place.step);
  out += (ranks.size() == 1 ? ": rank " : ": ranks ") + evidence::listed(ranks);
  if (job.world_size > 0) out += " of " + std::to_string(job.world_size);
  out += (ranks.size() == 1 ? ", pid " : ", pids ") + pids + ", by " + std::string{text_of(job.place.by)};
  if (job.shared) out += " of user " + user_name(job.place.user);
  if (job.wrapped) out += ", recorded by tocsin wrap";
  return out;
}

}  // namespace tocsin::adapters::node
