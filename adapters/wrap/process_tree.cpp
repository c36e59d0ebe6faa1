#include "adapters/wrap/process_tree.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

#include "adapters/evidence/proc_file.h"
#include "adapters/trace/mapped_libraries.h"
#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/proc_stat.h"

namespace tocsin::adapters::wrap {

namespace {

using evidence::variable_in;

struct Names {
  std::string_view rank, world_size;
};
constexpr std::array<Names, 7> launchers = {{{"RANK", "WORLD_SIZE"},
                                             {"SLURM_PROCID", "SLURM_NTASKS"},
                                             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                             {"PMI_RANK", "PMI_SIZE"},
                                             {"PMIX_RANK", "PMIX_SIZE"},
                                             {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                             {"LOCAL_RANK", "WORLD_SIZE"}}};
constexpr std::size_t local = launchers.size() - 1;  // the rank of the first node only
constexpr std::uint32_t most_ranks = 262'144;

std::optional<std::uint32_t> number(std::optional<std::string_view> text) {
  if (!text || text->empty()) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// Whether the launcher's variables are those of `before`. torchrun on a node of Kubeflow has a RANK and a WORLD_SIZE
// that count nodes; its first rank may have the same two, and then has a LOCAL_RANK besides.
bool inherited(const Names& names, std::string_view environment, std::string_view before) {
  const auto same = [&](std::string_view name) { return variable_in(environment, name) == variable_in(before, name); };
  return variable_in(before, names.rank) && same(names.rank) && same(names.world_size) && same("LOCAL_RANK");
}

}  // namespace

double seconds_since(std::uint64_t start_ticks) {
  static const long ticks = ::sysconf(_SC_CLK_TCK);
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) - static_cast<double>(start_ticks) / static_cast<double>(ticks);
}

bool is_shell(std::string_view name) {
  constexpr std::string_view shells[] = {"sh",   "bash",    "dash",    "zsh",  "ksh",
                                         "fish", "busybox", "timeout", "time", "numactl"};
  return std::find(std::begin(shells), std::end(shells), name) != std::end(shells);
}

std::optional<Identity> identity_in(std::string_view environment, std::string_view before, std::string* impossible) {
  for (std::size_t kind = 0; kind < launchers.size(); ++kind) {
    const auto text = variable_in(environment, launchers[kind].rank);
    const auto rank = number(text);
    if (!rank || *rank >= most_ranks || inherited(launchers[kind], environment, before)) continue;
    const auto size = number(variable_in(environment, launchers[kind].world_size));
    if (kind != local && size && *rank >= *size) {
      if (impossible != nullptr)
        impossible->assign(launchers[kind].rank)
            .append("=")
            .append(*text)
            .append(" and ")
            .append(launchers[kind].world_size)
            .append("=")
            .append(std::to_string(*size));
      continue;
    }
    if (kind == local &&
        (!size || *size < 2 || *rank >= *size || number(variable_in(environment, "NODE_RANK")).value_or(0) != 0))
      continue;
    if (impossible != nullptr) impossible->clear();
    return Identity{*rank, size && *size <= most_ranks ? *size : 0, static_cast<std::uint8_t>(kind),
                    number(variable_in(environment, "LOCAL_RANK"))};
  }
  return std::nullopt;
}

std::string_view rank_variable(std::uint8_t kind) noexcept {
  return kind < launchers.size() ? launchers[kind].rank : std::string_view{};
}

bool has_framework(pid_t pid) {
  constexpr std::size_t longest_maps = 8u << 20;
  return !trace::mapped_libraries(evidence::read_proc(evidence::proc_path(pid, "maps"), longest_maps)).empty();
}

bool launches_ranks(std::string_view command_line) {
  constexpr std::string_view launchers[] = {"torchrun",
                                            "torch.distributed.run",
                                            "torch.distributed.launch",
                                            "deepspeed.launcher.launch",
                                            "accelerate",
                                            "deepspeed",
                                            "horovodrun",
                                            "mpirun",
                                            "mpiexec",
                                            "srun",
                                            "orted",
                                            "prted",
                                            "hydra_pmi_proxy"};
  for (int word = 0; word < 4 && !command_line.empty(); ++word) {  // an interpreter and its options come first
    const std::size_t end = std::min(command_line.find('\0'), command_line.size());
    std::string_view name = command_line.substr(0, end);
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1: nothing
    if (std::find(std::begin(launchers), std::end(launchers), name) != std::end(launchers)) return true;
    command_line.remove_prefix(std::min(end + 1, command_line.size()));
  }
  return false;
}

std::string rank_variables(std::string_view environment) {
  std::string out;
  const auto add = [&](std::string_view name) {
    if (const auto value = variable_in(environment, name)) (out += name).append("=").append(*value).push_back('\0');
  };
  for (const Names& names : launchers) add(names.rank), add(names.world_size);
  return out;
}

std::string command_line(pid_t pid) { return evidence::read_proc(evidence::proc_path(pid, "cmdline"), 16384); }

Descendants::Descendants(pid_t root) : root_(root), environment_(evidence::environment_of(root)) {}

Kin::Answer Descendants::of(const Process& process) { return process.parent == root_ ? Answer::ours : Answer::strange; }

bool Descendants::among_ranks() const {
  const auto own = own_identity();
  return own && (own->rank > 0 || own->world_size > 1);
}

ProcessTree::ProcessTree(Kin& kin)
    : kin_(kin), proc_(::opendir("/proc")), load_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {}

bool ProcessTree::anything_new() {
  char buffer[128];
  const std::string_view text = read_again(load_, buffer);
  const std::size_t at = text.rfind(' ');
  if (at == std::string_view::npos) return true;
  if (text.substr(at) == newest_) return false;
  newest_ = text.substr(at);
  return true;
}

// A program may set RANK from SLURM_PROCID for itself, and its children inherit it. A shell sets it for the rank.
bool ProcessTree::below_same(const Process& process) const {
  for (auto at = processes_.find(process.parent); at != processes_.end(); at = processes_.find(at->second.parent)) {
    const auto& above = at->second.identity;
    if (!above || !process.identity || above->rank != process.identity->rank) continue;
    if (above->kind == process.identity->kind) return true;
    if (above->world_size == process.identity->world_size && !is_shell(at->second.name)) return true;
  }
  return false;
}

bool ProcessTree::below_a_rank(const Process& process) const {
  for (auto at = processes_.find(process.parent); at != processes_.end(); at = processes_.find(at->second.parent))
    if (at->second.identity) return true;
  return false;
}

std::string_view ProcessTree::set_before(const Process& process) const {
  for (auto at = processes_.find(process.parent); at != processes_.end(); at = processes_.find(at->second.parent))
    if (const auto launcher = launchers_.find(at->first); launcher != launchers_.end()) return launcher->second;
  return kin_.set_before(process);
}

void ProcessTree::identify(Process& process) {
  const std::string environment = evidence::environment_of(process.pid);
  if (launches_ranks(command_line(process.pid))) {
    process.identity.reset();
    process.impossible.clear();
    const std::string& before = launchers_[process.pid] = rank_variables(environment);
    // A shell that runs the launcher has the same variables, and is no rank either.
    for (auto at = processes_.find(process.parent); at != processes_.end() && at->second.identity;
         at = processes_.find(at->second.parent)) {
      if (*at->second.identity != identity_in(before, {})) break;
      at->second.identity.reset();
      at->second.rank = false;
      launchers_[at->first] = before;
    }
  } else {
    launchers_.erase(process.pid);
    process.impossible.clear();
    process.identity = identity_in(environment, set_before(process), &process.impossible);
  }
  process.rank = process.identity && !below_same(process);
}

bool ProcessTree::list() {
  if (!proc_) return false;
  struct Unknown {
    Process process;
    bool ours = false, open = false, placed = false;
  };
  std::vector<Unknown> unknown;
  std::unordered_map<pid_t, std::uint64_t> strangers;
  std::unordered_map<pid_t, Process> found;
  char buffer[1024];
  ::rewinddir(proc_.get());
  while (const dirent* entry = ::readdir(proc_.get())) {
    pid_t pid = 0;
    const std::string_view name = entry->d_name;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    const auto known = processes_.find(pid);
    const auto stranger = strangers_.find(pid);
    if (known != processes_.end() && known->second.inode == entry->d_ino) {
      found.insert(processes_.extract(known));
    } else if (stranger != strangers_.end() && stranger->second == entry->d_ino) {
      strangers.insert(*stranger);
    } else {
      const auto stat = read_stat(pid, buffer);
      if (stat && known != processes_.end() && known->second.start == stat->start_ticks) {
        known->second.inode = entry->d_ino;  // the kernel had dropped its name meanwhile
        found.insert(processes_.extract(known));
      } else if (stat) {
        unknown.push_back({Process{pid,
                                   stat->parent,
                                   stat->start_ticks,
                                   entry->d_ino,
                                   stat->environment,
                                   stat->cpu_ticks,
                                   stat->state,
                                   std::string{stat->name},
                                   {},
                                   false,
                                   {}}});
      }
    }
  }
  processes_ = std::move(found);
  strangers_ = std::move(strangers);
  std::erase_if(launchers_, [&](const auto& launcher) { return !processes_.contains(launcher.first); });
  // A process is placed behind the one that started it, which may be a launcher.
  std::sort(unknown.begin(), unknown.end(), [](const Unknown& a, const Unknown& b) {
    return std::pair{a.process.start, a.process.pid} < std::pair{b.process.start, b.process.pid};
  });
  for (Unknown& at : unknown) {
    const Kin::Answer answer = kin_.of(at.process);
    at.ours = answer == Kin::Answer::ours, at.open = answer == Kin::Answer::open;
  }
  // Pids come again, so a child may still stand before its parent: again until none finds its place.
  for (bool again = true; again;) {
    again = false;
    for (Unknown& at : unknown) {
      if (at.placed || !(at.ours || processes_.contains(at.process.parent))) continue;
      at.placed = again = true;
      identify(at.process);
      processes_.emplace(at.process.pid, std::move(at.process));
    }
  }
  std::unordered_set<pid_t> others;
  for (const Unknown& at : unknown)
    if (!at.placed) others.insert(at.process.pid);
  for (const Unknown& at : unknown) {
    if (at.placed) continue;
    // One whose parent was not listed may be ours yet (its parent came, or went, while we read): it is looked at again.
    if (at.open) newest_.clear();
    else if (at.process.parent == 0 || strangers_.contains(at.process.parent) || others.contains(at.process.parent))
      strangers_.emplace(at.process.pid, at.process.inode);
    else newest_.clear();
  }
  return std::ranges::any_of(unknown, &Unknown::placed);
}

void ProcessTree::gone(pid_t pid) {
  processes_.erase(pid);
  launchers_.erase(pid);
  newest_.clear();
}

void ProcessTree::look() {
  // A process that was between its fork and its exec had its parent's environment.
  char buffer[1024];
  bool changed = false;
  for (auto& [pid, process] : processes_) {
    if (process.identity || below_a_rank(process)) continue;
    const auto stat = read_stat(pid, buffer);
    if (stat) process.cpu_ticks = stat->cpu_ticks, process.state = stat->state;
    if (!stat || (stat->environment == process.environment && stat->name == process.name)) continue;
    process.environment = stat->environment;
    process.name = stat->name;
    identify(process);
    changed = true;
  }
  if (anything_new()) changed |= list();
  if (changed) find_launchers();
  find_local_zero();
}

// A program that starts several ranks is a launcher, though its name is not known and its own variables name a rank: of
// its node, of the scheduler's task, or from the shell in which it was started.
void ProcessTree::find_launchers() {
  std::unordered_map<pid_t, std::vector<Identity>> started;  // by each process that has an identity
  for (const auto& [pid, process] : processes_) {
    if (!process.identity) continue;
    for (auto at = processes_.find(process.parent); at != processes_.end(); at = processes_.find(at->second.parent)) {
      const auto& above = at->second.identity;
      // A rank may start a smaller group of ranks for itself: for an evaluation, or to generate samples.
      if (!above || above->kind < process.identity->kind || process.identity->world_size < above->world_size) continue;
      const bool inherited = *above == *process.identity && above->world_size == process.identity->world_size &&
                             above->local_rank == process.identity->local_rank;
      if (!inherited) started[at->first].push_back(*process.identity);
    }
  }
  bool found = false;
  for (const auto& [pid, ranks] : started) {
    const Identity& own = *processes_.at(pid).identity;
    const bool same = std::ranges::all_of(
        ranks, [&](const Identity& rank) { return rank.kind == own.kind && rank.world_size == own.world_size; });
    const bool several = std::ranges::any_of(ranks, [&](const Identity& rank) { return rank.rank != ranks[0].rank; });
    // Among ranks of its own group it must have started the one that it names itself, or it is that one.
    const bool its_own = std::ranges::any_of(ranks, [&](const Identity& rank) { return rank.rank == own.rank; });
    if (!several || (same && !its_own) || has_framework(pid)) continue;
    launchers_[pid] = rank_variables(evidence::environment_of(pid));
    processes_.at(pid).rank = false;
    found = true;
  }
  if (!found) return;
  std::vector<Process*> below;
  for (auto& [pid, process] : processes_) {
    if (launchers_.contains(pid)) process.identity.reset();
    else if (process.identity && process.identity->kind < local && !set_before(process).empty())
      below.push_back(&process);
  }
  std::ranges::sort(below, {}, [](const Process* process) { return std::pair{process->start, process->pid}; });
  for (Process* process : below) identify(*process);
}

// A program that starts the other ranks of its node itself, with LOCAL_RANK, is the first of them.
void ProcessTree::find_local_zero() {
  const Process* first = nullptr;
  for (const auto& [pid, process] : processes_) {
    if (!process.rank || process.identity->kind != local) continue;
    if (process.identity->rank == 0) local_zero_ = true;
    if (local_zero_ || (first != nullptr && first->parent != process.parent)) return;
    first = &process;
  }
  const auto parent = first == nullptr ? processes_.end() : processes_.find(first->parent);
  if (parent == processes_.end() || parent->second.identity || is_shell(parent->second.name)) return;
  parent->second.identity = Identity{0, first->identity->world_size, local};
  parent->second.rank = true;
}

void ProcessTree::name(const std::vector<pid_t>& ranks) {
  std::uint32_t rank = 0;
  for (const pid_t pid : ranks) {
    const auto at = processes_.find(pid);
    if (at != processes_.end()) {
      at->second.identity = Identity{rank, static_cast<std::uint32_t>(ranks.size()), Identity::unnamed};
      at->second.rank = true;
    }
    ++rank;
  }
}

pid_t ProcessTree::worker_of(pid_t pid) const {
  const auto rank = processes_.find(pid);
  if (rank == processes_.end() || !rank->second.identity || has_framework(pid)) return pid;
  const Process* worker = nullptr;
  for (const auto& [below, process] : processes_) {
    const auto another = [&](const Process& at) {
      return at.identity && at.identity->rank != rank->second.identity->rank;
    };
    auto at = processes_.find(below);
    while (at != processes_.end() && at->first != pid && !another(at->second)) at = processes_.find(at->second.parent);
    if (at == processes_.end() || at->first != pid || below == pid) continue;
    if ((worker == nullptr || process.start < worker->start) && has_framework(below)) worker = &process;
  }
  if (worker != nullptr) return worker->pid;
  for (int depth = 0; depth < 8; ++depth) {
    const auto at = processes_.find(pid);
    if (at == processes_.end() || !is_shell(at->second.name)) return pid;
    const Process* oldest = nullptr;
    for (const auto& [child, process] : processes_)
      if (process.parent == pid && (oldest == nullptr || process.start < oldest->start)) oldest = &process;
    if (oldest == nullptr || seconds_since(oldest->start) < 5) return pid;
    pid = oldest->pid;
  }
  return pid;
}

}  // namespace tocsin::adapters::wrap
