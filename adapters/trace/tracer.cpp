#include "adapters/trace/tracer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "adapters/trace/attachments.h"
#include "adapters/trace/kernel_program.h"
#include "adapters/trace/mapped_libraries.h"
#include "adapters/trace/probes.h"
#include "adapters/trace/process_life.h"
#include "adapters/trace/traces.h"

namespace tocsin::adapters::trace {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using stream::Result;

constexpr auto new_for = 1min;      // a process loads its libraries
constexpr auto found_one = 5s;      // after the first of them
constexpr auto look_again = 10s;    // later
constexpr auto forget_after = 10s;  // what processes nobody asked for have left
constexpr auto unused_for = 1min;   // no process has the library any more
constexpr int too_often_for = 3;    // seconds over the budget

struct Watched {
  std::uint64_t start = 0;
  std::string executable;
  Clock::time_point since{}, read{};
  bool found = false;
};

// How often a process called what has a budget.
struct Rates {
  std::uint64_t at = 0;
  std::uint64_t calls[kernel::most_calls] = {};
  int over[kernel::most_calls] = {};
};

}  // namespace

struct Tracer::State {
  State(std::unique_ptr<KernelProgram> loaded, double calls_per_second)
      : program(std::move(loaded)), attachments(*program), budget(calls_per_second) {}

  [[nodiscard]] Tables read() const;
  [[nodiscard]] std::set<Life> living(const Tables& tables);
  void forget(const Tables& tables, const std::set<Life>& alive, std::uint64_t at) const;
  void spend(const Life& life, const kernel::process& process, std::uint64_t at);
  [[nodiscard]] bool sure_of(const kernel::wait_key& key, const kernel::wait& wait, std::uint64_t at);

  std::unique_ptr<KernelProgram> program;
  Attachments attachments;
  double budget;
  std::map<pid_t, Watched> watched;
  Clock::time_point cleaned{};
  std::map<Life, Rates> rates;
  // Since when a wait that returns to an address is seen to return; 0: never.
  std::map<std::pair<Life, std::uint64_t>, std::uint64_t> returns;
};

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;

Result<std::unique_ptr<Tracer>> Tracer::start(double budget, bool one_by_one) {
  auto program = KernelProgram::load(one_by_one);
  if (!program) return program.error();
  return std::unique_ptr<Tracer>{new Tracer{std::make_unique<State>(std::move(*program), budget)}};
}

void Tracer::look(std::span<const pid_t> pids) {
  const auto time = Clock::now();
  std::map<pid_t, Watched> still;
  for (const pid_t pid : pids) {
    const auto start = start_ticks(pid);
    if (!start) continue;
    Watched one;
    if (const auto known = state_->watched.find(pid); known != state_->watched.end()) one = known->second;
    std::string executable = executable_of(pid);
    if (one.start != *start || one.executable != executable) one = {*start, std::move(executable), time, {}};
    const auto wait = time - one.since >= new_for ? look_again : one.found ? found_one : 0s;
    if (time - one.read >= wait) {
      one.read = time;
      const auto maps = maps_of(pid);
      const auto libraries = maps ? mapped_libraries(*maps) : std::vector<MappedLibrary>{};
      for (const MappedLibrary& library : libraries) state_->attachments.attach(pid, library, time);
      one.found = !libraries.empty();
      if (!maps && maps.error().code == stream::Errc::refused) state_->attachments.note(maps.error().message);
    }
    still.emplace(pid, std::move(one));
  }
  state_->watched = std::move(still);
  state_->attachments.expire(time - unused_for);
}

Tables Tracer::State::read() const {
  Tables tables;
  tables.works = program->works().read();
  tables.waits = program->waits().read();
  tables.groups = program->groups().read();
  tables.processes = program->processes().read();
  return tables;
}

// The lives of which something may come still; the others' entries are removed.
std::set<Life> Tracer::State::living(const Tables& tables) {
  const bool all = Clock::now() - cleaned >= forget_after;
  if (all) cleaned = Clock::now();
  std::set<Life> alive;
  for (const auto& [key, process] : tables.processes) {
    const auto pid = static_cast<pid_t>(key.pid);
    const auto known = watched.find(pid);
    const std::uint64_t start = to_ticks(key.start);
    if (known != watched.end() ? known->second.start == start : !all || start_ticks(pid) == start)
      alive.insert(life_of(key, process));
    else program->processes().erase(key);
  }
  return alive;
}

void Tracer::State::forget(const Tables& tables, const std::set<Life>& alive, std::uint64_t at) const {
  std::set<std::pair<Life, std::uint64_t>> objects;
  for (const auto& [key, group] : tables.groups) {
    if (alive.contains(life_of(key))) objects.emplace(life_of(key), key.object);
    else program->groups().erase(key);
  }
  // A work whose group is newer than our look at the works is among those of the next look.
  for (const auto& [key, work] : tables.works)
    if (!alive.contains(life_of(key)) ||
        (work.start + 1'000'000'000 < at && !objects.contains({life_of(key), work.group})))
      program->works().erase(key);
  for (const auto& [key, wait] : tables.waits)
    if (!alive.contains(life_of(key))) program->waits().erase(key);
}

void Tracer::State::spend(const Life& life, const kernel::process& process, std::uint64_t at) {
  Rates& last = rates[life];
  if (last.at != 0 && at - last.at < 1'000'000'000) return;
  for (std::uint32_t call = 0; call < kernel::most_calls; ++call) {
    const double rate =
        static_cast<double>(process.calls[call] - last.calls[call]) * 1e9 / static_cast<double>(at - last.at);
    last.over[call] = last.at != 0 && rate > budget ? last.over[call] + 1 : 0;
    last.calls[call] = process.calls[call];
    if (last.over[call] < too_often_for || attachments.stopped(call)) continue;
    attachments.stop(call);
    attachments.note("process " + std::to_string(life.first) + " calls " + std::string{call_name(call)} + " " +
                     std::to_string(static_cast<std::uint64_t>(rate)) +
                     " times a second: these calls are not counted any more");
  }
  last.at = at;
}

// Whether a wait that is in the table has not returned: one that returns to where there is no probe yet may have. It
// gets one, for the next time.
bool Tracer::State::sure_of(const kernel::wait_key& key, const kernel::wait& wait, std::uint64_t at) {
  const auto [known, added] = returns.try_emplace({life_of(key), wait.back}, 0);
  if (added) {
    const auto pid = static_cast<pid_t>(key.pid);
    const auto maps = maps_of(pid);
    const auto place = maps ? code_at(*maps, wait.back) : std::nullopt;
    if (place && attachments.attach_return(pid, place->first, place->second)) known->second = at;
  }
  return known->second != 0 && wait.since >= known->second;
}

std::vector<ProcessTrace> Tracer::read() {
  State& state = *state_;
  Tables tables = state.read();
  const std::uint64_t at = kernel_time();
  const auto alive = state.living(tables);
  state.forget(tables, alive, at);

  // After an exec a process has several lives: the newest counts.
  std::map<pid_t, Life> newest;
  for (const auto& [key, process] : tables.processes) {
    const Life life = life_of(key, process);
    if (!alive.contains(life) || !state.watched.contains(static_cast<pid_t>(key.pid))) continue;
    state.spend(life, process, at);
    auto& best = newest[static_cast<pid_t>(key.pid)];
    best = std::max(best, life);
  }
  std::vector<Life> lives;
  for (const auto& [pid, life] : newest) lives.push_back(life);
  std::erase_if(state.rates, [&](const auto& one) { return !alive.contains(one.first); });
  std::erase_if(state.returns, [&](const auto& one) { return !alive.contains(one.first.first); });
  std::erase_if(tables.waits, [&](const auto& one) {
    return std::find(lives.begin(), lives.end(), life_of(one.first)) == lives.end() ||
           !state.sure_of(one.first, one.second, at);
  });

  std::vector<std::string> stopped;
  for (std::uint32_t call = 0; call < kernel::most_calls; ++call)
    if (state.attachments.stopped(call)) stopped.emplace_back(call_name(call));
  std::vector<ProcessTrace> all;
  for (auto& one : traces_of(tables, lives, at)) {
    ProcessTrace& trace = one.second;
    trace.stopped = stopped;
    const auto gone = [&](GroupTrace::Library library, std::uint32_t call) {
      if (!state.attachments.stopped(call)) return;
      std::erase_if(trace.groups, [&](const GroupTrace& group) { return group.library == library; });
      trace.complete = false;
      if (library == GroupTrace::Library::c10d) trace.collectives.oldest.reset();
    };
    gone(GroupTrace::Library::c10d, kernel::call_c10d);
    gone(GroupTrace::Library::nccl, kernel::call_nccl);
    all.push_back(std::move(trace));
  }
  if (state.program->lost() != 0) state.attachments.note("the kernel's tables are full: not all calls are counted");
  return all;
}

std::vector<std::string> Tracer::take_notes() { return state_->attachments.take_notes(); }

}  // namespace tocsin::adapters::trace
