#include "adapters/trace/tracer.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "adapters/journal/directory.h"
#include "adapters/trace/elf_functions.h"
#include "adapters/trace/kernel_program.h"
#include "adapters/trace/mapped_libraries.h"
#include "adapters/trace/probes.h"
#include "adapters/trace/process_life.h"

namespace tocsin::adapters::trace {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using stream::Result;

constexpr auto new_for = 1min;      // a process loads its libraries
constexpr auto look_again = 10s;    // afterwards
constexpr auto forget_after = 10s;  // what processes nobody asked for have left

struct Watched {
  std::uint64_t start = 0;
  std::string executable;
  Clock::time_point since{}, read{};
};

// Which entries of the tables belong to which process.
using Entry = std::pair<std::uint32_t, std::uint64_t>;  // pid, when it was made

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string text_of(const char (&name)[kernel::most_name]) { return {name, ::strnlen(name, sizeof name)}; }

}  // namespace

struct Tracer::State {
  explicit State(std::unique_ptr<KernelProgram> loaded) : program(std::move(loaded)) {}

  void attach(pid_t pid, const MappedLibrary& library);
  void note(std::string text) {
    if (noted.insert(text).second) notes.push_back(std::move(text));
  }

  std::unique_ptr<KernelProgram> program;
  std::vector<Link> links;
  std::set<std::pair<std::string, std::uint64_t>> attached;  // files
  std::map<pid_t, Watched> watched;
  Clock::time_point cleaned{};
  std::vector<std::string> notes;
  std::set<std::string> noted;
};

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;

Result<std::unique_ptr<Tracer>> Tracer::start() {
  auto program = KernelProgram::load();
  if (!program) return program.error();
  return std::unique_ptr<Tracer>{new Tracer{std::make_unique<State>(std::move(*program))}};
}

void Tracer::State::attach(pid_t pid, const MappedLibrary& library) {
  const auto probes = probes_of(library.kind);
  if (probes.empty() || attached.contains({library.device, library.inode})) return;
  const std::string path = reachable_path(pid, library);
  const journal::File file{path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) return note(library.path + " cannot be opened, so its calls are not counted");
  attached.emplace(library.device, library.inode);
  std::vector<std::string_view> prefixes;
  for (const Probe& probe : probes) prefixes.push_back(probe.prefix);
  auto functions = elf_functions(file.get(), prefixes);
  if (!functions) return note(library.path + ": " + functions.error().message);
  std::set<std::tuple<std::string_view, std::uint64_t>> done;  // C1 and C2 are one place
  for (const ElfFunction& function : *functions) {
    const Probe& probe = probes[function.wanted];
    if (!done.emplace(probe.program, function.offset).second) continue;
    auto link = program->attach(probe.program, path, function.offset, probe.cookie);
    if (link) links.push_back(std::move(*link));
    else note(library.path + ": " + function.name + ": " + link.error().message);
  }
}

void Tracer::look(std::span<const pid_t> pids) {
  const auto time = Clock::now();
  std::map<pid_t, Watched> still;
  for (const pid_t pid : pids) {
    const auto start = start_ticks(pid);
    if (!start) continue;
    Watched one;
    if (const auto known = state_->watched.find(pid); known != state_->watched.end() && known->second.start == *start)
      one = known->second;
    std::string executable = executable_of(pid);
    if (one.start != *start || one.executable != executable) one = {*start, std::move(executable), time, {}};
    if (time - one.since < new_for || time - one.read >= look_again) {
      one.read = time;
      if (const auto maps = maps_of(pid))
        for (const MappedLibrary& library : mapped_libraries(*maps)) state_->attach(pid, library);
      else if (maps.error().code == stream::Errc::refused) state_->note(maps.error().message);
    }
    still.emplace(pid, std::move(one));
  }
  state_->watched = std::move(still);
}

std::vector<ProcessTrace> Tracer::read() {
  const auto& program = *state_->program;
  // Works first: one that is completed meanwhile is then missing nowhere.
  const auto works = program.works().read();
  const auto groups = program.groups().read();
  const auto processes = program.processes().read();
  const std::uint64_t at = now();
  const bool cleaning = Clock::now() - state_->cleaned >= forget_after;
  if (cleaning) state_->cleaned = Clock::now();

  std::map<Entry, ProcessTrace> traces;
  std::map<pid_t, const std::pair<kernel::process_key, kernel::process>*> newest;
  std::set<Entry> alive;
  for (const auto& entry : processes) {
    const auto pid = static_cast<pid_t>(entry.first.pid);
    const auto watched = state_->watched.find(pid);
    const bool asked = watched != state_->watched.end();
    const std::uint64_t ticks = to_ticks(entry.first.start);
    if (asked && watched->second.start == ticks) {
      auto& best = newest[pid];
      if (best == nullptr || best->second.born < entry.second.born) best = &entry;
    }
    if (asked ? watched->second.start == ticks : !cleaning || start_ticks(pid) == ticks)
      alive.emplace(entry.first.pid, entry.second.born);
    else program.processes().erase(entry.first);
  }
  for (const auto& [pid, entry] : newest) {
    const auto& counts = entry->second;
    ProcessTrace trace;
    trace.collectives = {pid, counts.launched, counts.done, {}};
    trace.peer_launched = counts.peer_launched;
    trace.peer_done = counts.peer_done;
    traces.emplace(Entry{entry->first.pid, counts.born}, std::move(trace));
  }

  std::map<std::pair<Entry, std::uint64_t>, const kernel::group*> by_object;
  std::map<std::pair<Entry, std::uint32_t>, std::vector<const kernel::group*>> of_size;
  for (const auto& [key, group] : groups) {
    const Entry entry{key.pid, key.born};
    if (!alive.contains(entry)) {
      program.groups().erase(key);
      continue;
    }
    by_object[{entry, key.object}] = &group;
    if (group.order != 0) of_size[{entry, group.size}].push_back(&group);
  }
  // A group whose name is not known goes by its place among those of its size, which is equal in its members.
  const auto name_of = [&](const Entry& entry, const kernel::group& group) {
    if (group.name[0] != '\0' || group.order == 0) return text_of(group.name);
    const auto& same = of_size[{entry, group.size}];
    const auto before = std::count_if(same.begin(), same.end(), [&](auto* one) { return one->order < group.order; });
    return std::to_string(group.size) + " ranks, no. " + std::to_string(before + 1);
  };
  for (const auto& [key, group] : by_object) {
    const auto trace = traces.find(key.first);
    if (trace == traces.end()) continue;
    GroupTrace one{GroupTrace::Library::c10d,
                   name_of(key.first, *group),
                   group->rank,
                   group->size,
                   group->order != 0,
                   group->launched,
                   group->done,
                   group->peer_launched};
    for (std::uint64_t i = 0; i < kernel::most_functions; ++i)
      if (group->functions[i] != 0) one.functions.emplace_back(function_name(i), group->functions[i]);
    if (!one.complete) trace->second.complete = false;
    trace->second.groups.push_back(std::move(one));
  }

  std::map<Entry, const kernel::work*> oldest;
  for (const auto& [key, work] : works) {
    const Entry entry{key.pid, key.born};
    const auto group = by_object.find({entry, work.group});
    if (group == by_object.end()) {
      // Its process has ended, or its group was destroyed; a group that is newer than our look is among the next ones.
      if (!alive.contains(entry) || work.start + 1'000'000'000 < at) program.works().erase(key);
      continue;
    }
    if (work.peer != 0 && work.waiting == 0) continue;
    auto& first = oldest[entry];
    if (first == nullptr || work.start < first->start) first = &work;
  }
  std::vector<ProcessTrace> all;
  for (auto& [entry, trace] : traces) {
    if (const auto open = oldest.find(entry); open != oldest.end()) {
      const kernel::work& work = *open->second;
      const kernel::group& group = *by_object[{entry, work.group}];
      const std::uint64_t since = work.peer != 0 ? work.waiting : work.start;
      trace.collectives.oldest = OpenCollective{
          std::string{function_name(work.function)},    work.sequence, name_of(entry, group), group.size, {},
          stream::Duration{at > since ? at - since : 0}};
    }
    all.push_back(std::move(trace));
  }
  if (const auto lost = program.lost(); lost != 0)
    state_->note("the kernel's tables are full: not all calls are counted");
  return all;
}

std::vector<std::string> Tracer::take_notes() { return std::exchange(state_->notes, {}); }

}  // namespace tocsin::adapters::trace
