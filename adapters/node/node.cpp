#include "adapters/node/node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "adapters/formats/printable.h"
#include "adapters/journal/directory.h"
#include "adapters/node/recorded_job.h"
#include "adapters/wrap/printed_once.h"
#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::node {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using wrap::RunClock;

namespace {

constexpr std::size_t waiting_jobs = 4;  // times as many as run: with those that have ended and are not sent
constexpr auto last_wait = 40s;          // for the senders, once we are to end

class Agent {
 public:
  Agent(const NodeOptions& options, const wrap::EngineEntry& send)
      : options_(options), send_(send), jobs_(options.node) {}

  int run() {
    resume();
    for (;;) {
      look();
      pollfd at{signals_.descriptor(), POLLIN, 0};
      const stream::Time next = clock_.now() + 1s;
      for (stream::Time now = clock_.now(); now < next; now = clock_.now()) {
        ::poll(&at, 1, wrap::milliseconds_until(next, now));
        if (asked_to_end()) return end();
        reap();
      }
    }
  }

 private:
  void add(const fs::path& run, JobDescription job) {
    recorded_.push_back(
        std::make_unique<RecordedJob>(run, std::move(job), options_.journal_bytes, clock_, stop_.read.get(), send_));
    recorded_.back()->start(signals_, clock_.now());
  }

  // What an earlier agent recorded goes on, and what it could not send is sent.
  void resume() {
    std::vector<fs::path> runs;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator{options_.state, error})
      if (wrap::names_a_run(entry.path().filename().string())) runs.push_back(entry.path());
    std::ranges::sort(runs);
    for (const fs::path& run : runs) {
      auto job = RecordedJob::unfinished_in(run);
      if (!job) ::fprintf(stderr, "tocsin: %s\n", job.error().message.c_str());
      else if (*job) add(run, std::move(**job));
    }
  }

  void look() {
    for (NodeJob& job : jobs_.look()) {
      const auto known = [&](const auto& one) { return one->recording() && one->place() == job.place; };
      if (job.wrapped || !options_.recorded(job) || std::ranges::any_of(recorded_, known)) continue;
      const auto recording = std::ranges::count_if(recorded_, [](const auto& one) { return one->recording(); });
      const bool too_many = static_cast<std::size_t>(recording) >= options_.most_jobs;
      if (too_many || recorded_.size() >= waiting_jobs * options_.most_jobs) {
        printed_.print(too_many
                           ? "more than " + std::to_string(options_.most_jobs) + " jobs are here: not all are recorded"
                           : "too many jobs wait to be sent: new ones are not recorded");
        continue;
      }
      const fs::path run = new_directory(job);
      JobDescription description = describe(job, options_.node, options_.attempts());
      tell_apart(description);
      if (auto prepared = RecordedJob::prepare(run, description); !prepared) {
        printed_.print("not recorded: " + text_of(job) + ": " + prepared.error().message);
        continue;
      }
      ::fprintf(stderr, "tocsin: records %s%s\n", text_of(job).c_str(), as_named(description).c_str());
      add(run, std::move(description));
      wrap::remove_oldest_runs(options_.state, options_.state_bytes);
    }
    for (const RankConflict& conflict : jobs_.conflicts())
      if (!conflict.job.wrapped && options_.recorded(conflict.job)) printed_.print(text_of(conflict));
  }

  // Records of two users that chose one name would be taken for those of one job.
  void tell_apart(JobDescription& job) const {
    const auto same = [&](const auto& one) { return one->recording() && one->name() == job.reported.job; };
    if (job.place.by == JobPlace::By::chosen && std::ranges::any_of(recorded_, same))
      job.reported.job += '@' + user_name(job.place.user);
  }

  static std::string as_named(const JobDescription& job) {
    if (job.reported.job == job.place.job) return "";
    return "; as job " + formats::printable(job.reported.job) +
           ", since another job here has its name: set TOCSIN_JOB to tell them apart";
  }

  // Its name ends with the pid of a rank: what is recorded of a job that runs is not removed.
  fs::path new_directory(const NodeJob& job) const {
    stream::Time start = RunClock{}.start();
    for (;; start += 1s) {
      fs::path run = wrap::run_directory(options_.state, start, job.ranks.front().pid);
      if (std::error_code error; !fs::exists(run, error)) return run;
    }
  }

  void reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG))
      for (const auto& one : recorded_)
        if (one->ended(pid, status, clock_.now())) break;
    for (const auto& one : recorded_) {
      one->poll(signals_, clock_.now());
      if (one->done()) one->finished();
    }
    std::erase_if(recorded_, [](const auto& one) { return one->done(); });
  }

  bool asked_to_end() {
    wrap::Signals::Signal signal;
    bool asked = false;
    while (signals_.next(signal)) asked |= signal.number == SIGTERM || signal.number == SIGINT;
    return asked;
  }

  int end() {
    stop_.write.close();
    const stream::Time until = clock_.now() + last_wait;
    const auto running = [](const auto& one) { return one->running(); };
    while (std::ranges::any_of(recorded_, running) && clock_.now() < until && !asked_to_end()) {
      pollfd at{signals_.descriptor(), POLLIN, 0};
      ::poll(&at, 1, 200);
      int status = 0;
      for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG))
        for (const auto& one : recorded_)
          if (one->ended(pid, status, clock_.now())) break;
    }
    for (const auto& one : recorded_)
      if (one->done()) one->finished();
    return 0;
  }

  const NodeOptions& options_;
  const wrap::EngineEntry& send_;
  RunClock clock_;
  wrap::Signals signals_;
  wrap::Pipe stop_ = wrap::make_pipe();
  NodeJobs jobs_;
  std::vector<std::unique_ptr<RecordedJob>> recorded_;
  wrap::PrintedOnce printed_{256};
};

// Makes the directory, which one agent uses at a time. The lock goes with this process: its children do not have it.
stream::Result<wrap::Descriptor> lock_state(const fs::path& state) {
  if (auto made = journal::make_private(state); !made) return made.error();
  const auto directory = journal::OpenDirectory::open(state);
  if (!directory) return directory.error();
  auto file = directory->open("agent", O_RDWR | O_CREAT);
  struct flock whole {};
  whole.l_type = F_WRLCK, whole.l_whence = SEEK_SET;
  if (!file || ::fcntl(file->get(), F_SETLK, &whole) == 0) return file;
  return stream::Error{stream::Errc::refused, "another agent uses " + state.string() + ": stop it"};
}

}  // namespace

int run_node(const NodeOptions& options, const wrap::EngineEntry& send) {
  const auto lock = lock_state(options.state);
  if (lock) return Agent{options, send}.run();
  ::fprintf(stderr, "tocsin: %s; or name another directory with --state\n", lock.error().message.c_str());
  return 2;
}

}  // namespace tocsin::adapters::node
