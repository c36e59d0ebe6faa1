#include "adapters/wrap/wrap.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "adapters/nccl/environment.h"
#include "adapters/wrap/pass_through.h"
#include "adapters/wrap/recorder.h"
#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::wrap {

namespace {

constexpr int start_patience = 500;  // ms that the command waits for the journal's first frame; then it goes first

std::string job_of(const WrapOptions& options) {
  if (!options.job.empty()) return options.job;
  return std::filesystem::path{options.command.front()}.filename().string() + '-' + std::to_string(::getpid());
}

int refuse(const std::string& why) {
  ::fprintf(stderr, "tocsin wrap: %s\n", why.c_str());
  return 2;
}

// Memory that outlives a recorder: shared by the parent with all of them.
Legacy* share_legacy() {
  void* memory = ::mmap(nullptr, sizeof(Legacy), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? new Legacy : new (memory) Legacy;  // MAP_FAILED: a next recorder begins anew
}

// On a full disk there is none yet; an engine that looked would take it for a mistake in the name. False: there is none
// at our end.
bool wait_for_journal(const std::filesystem::path& directory, int parent) {
  std::error_code error;
  for (pollfd gone{parent, POLLIN, 0}; !std::filesystem::exists(directory, error);)
    if (::poll(&gone, 1, 500) > 0) return std::filesystem::exists(directory, error);
  return true;
}

// In memory, since a file on a slow disk would slow the job down. Empty: there can be none.
std::filesystem::path make_ring_directory() {
  char name[] = "/dev/shm/tocsin-XXXXXX";
  return ::mkdtemp(name) != nullptr ? name : "";
}

int end_as(int status) {
  if (WIFSIGNALED(status)) die_by_signal(WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace

std::string host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

int wrap(const WrapOptions& options, const EngineEntry& engine) {
  if (options.command.empty()) return refuse("no command: write it behind `--`");
  ::fflush(nullptr);
  RecorderSetup setup;
  std::error_code error;
  if (options.journal.empty()) {
    setup.state = state_directory();
    setup.directory = run_directory(setup.state, setup.clock.start(), ::getpid());
  } else {
    setup.directory = std::filesystem::absolute(options.journal, error);
    if (std::filesystem::exists(setup.directory, error) && !std::filesystem::is_empty(setup.directory, error))
      return refuse(setup.directory.string() + " is not empty; name a new directory with --journal");
  }
  setup.job = job_of(options);
  setup.node = host();
  setup.options = &options;
  setup.parent = ::getpid();
  setup.legacy = share_legacy();

  setup.rings = make_ring_directory();
  nccl::NcclEnvironment nccl;
  if (!setup.rings.empty()) nccl = nccl::nccl_environment(setup.rings);
  setup.nccl_note = nccl.note;

  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // a rank whose launcher went stays our descendant
  Signals signals;
  Notes notes;
  Feed out, err;
  Pipe ready = make_pipe(), alive = make_pipe();
  int sockets[2] = {-1, -1};
  ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
  const Descriptor control{sockets[0]}, recorder_control{sockets[1]};
  setup.out = out.reader();
  setup.err = err.reader();
  setup.control = recorder_control.get();
  RunState state;

  Supervisor recorder{"tocsin-recorder",
                      {setup.out, setup.err, setup.control, ready.write.get()},
                      notes.writer(),
                      [&](unsigned restarts) {
                        setup.ready = restarts == 0 ? ready.write.get() : -1;
                        setup.restarts = restarts;
                        setup.known = state;
                        return Recorder{setup}.run();
                      }};
  Supervisor judge{"tocsin-engine", {alive.read.get()}, notes.writer(), [&](unsigned restarts) {
                     if (!wait_for_journal(setup.directory, alive.read.get())) return engine_refused;
                     return engine(setup.directory, EngineOptions{setup.job, alive.read.get(), restarts});
                   }};

  // The recorder is on its way to the first frame while the rest is prepared.
  recorder.start(signals, setup.clock.now());
  ready.write.close();
  Terminal terminal;
  Child child =
      prepare_child(options.command, {options.modules.string(), std::move(nccl.variables)}, terminal, signals);
  pollfd first_frame{ready.read.get(), POLLIN, 0};
  ::poll(&first_frame, 1, start_patience);

  terminal.make_raw();
  release(child);
  recorder.set_keep({setup.out, setup.err, setup.control});
  PassThrough pass{{setup.clock, signals, terminal, notes, out, err, recorder, judge, state, control.get(),
                    static_cast<bool>(options.reload)}};
  if (child.exec_error != 0) pass.say("cannot run " + options.command.front() + ": " + ::strerror(child.exec_error));
  judge.start(signals, setup.clock.now());
  pass.run(child);
  terminal.restore();
  pass.settle(options.recorder_wait, options.engine_wait, [&] { alive.write.close(); });
  if (!options.quiet && std::filesystem::exists(setup.directory, error))
    ::dprintf(STDERR_FILENO, "tocsin: the journal is in %s\n", setup.directory.c_str());
  std::filesystem::remove_all(setup.rings, error);
  return end_as(state.status);
}

}  // namespace tocsin::adapters::wrap
