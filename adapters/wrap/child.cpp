#include "adapters/wrap/child.h"

#include <errno.h>
#include <sys/wait.h>

#include <cstdlib>

#include "adapters/wrap/supervisor.h"

namespace tocsin::adapters::wrap {

namespace {

struct Streams {
  int in, out, err;  // in: -1, ours stays
  int gate;          // a byte: continue; its end: wrap has ended, and no process waits for us
  int report;        // closed by the exec, or receives the error
};

// Behind what is there: a module of the user's own with the same name goes first.
void offer(const std::string& modules) {
  if (modules.empty()) return;
  const char* set = std::getenv("PYTHONPATH");
  const std::string before = set != nullptr ? set : "";
  if ((':' + before + ':').find(':' + modules + ':') != std::string::npos) return;
  ::setenv("PYTHONPATH", before.empty() ? modules.c_str() : (before + ':' + modules).c_str(), 1);
}

// Into a pipe Python writes once 8 KiB have come together: minutes of steps, which would be judged, and seen, that
// late.
void write_at_once(int out) {
  if (::isatty(out) == 0) ::setenv("PYTHONUNBUFFERED", "1", 0);
}

[[noreturn]] void become(const std::vector<std::string>& command, const Environment& added, const Signals& signals,
                         const Streams& streams) {
  char byte;
  ssize_t go;
  while ((go = ::read(streams.gate, &byte, 1)) < 0 && errno == EINTR) {}
  if (go != 1) ::_exit(127);
  if (streams.in >= 0) ::dup2(streams.in, 0);
  ::dup2(streams.out, 1);
  ::dup2(streams.err, 2);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  offer(added.modules);
  for (const auto& [name, value] : added.variables) ::setenv(name.c_str(), value.c_str(), 1);
  write_at_once(1);
  signals.restore();
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(streams.report, &error, sizeof error);
  ::_exit(error == ENOENT ? 127 : 126);
}

// Leads the session, reports the command's pid and then each of its wait statuses.
[[noreturn]] void hold(const std::vector<std::string>& command, const Environment& added, const Terminal& terminal,
                       const Signals& signals, const Streams& streams, int news, int held) {
  terminal.become_controlling();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::tcsetpgrp(streams.in, ::getpid());
    become(command, added, signals, streams);
  }
  [[maybe_unused]] ssize_t written = ::write(news, &pid, sizeof pid);
  signals.restore_for_helper();
  close_all_but({news, held});
  for (const int standard : {0, 1, 2}) ::close(standard);
  int status = 0;
  while (pid > 0 && ::waitpid(pid, &status, WUNTRACED) == pid) {
    written = ::write(news, &status, sizeof status);
    if (!WIFSTOPPED(status)) break;
  }
  char byte;
  while (::read(held, &byte, 1) < 0 && errno == EINTR) {}
  ::_exit(0);
}

bool read_int(int descriptor, int& value) {
  ssize_t size;
  do size = ::read(descriptor, &value, sizeof value);
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof value);
}

}  // namespace

Child prepare_child(const std::vector<std::string>& command, const Environment& added, Terminal& terminal,
                    const Signals& signals) {
  Child child;
  Pipe out, err, news, held, gate = make_pipe(), report = make_pipe();
  if (!terminal.output()) out = make_pipe();
  if (!terminal.errors()) err = make_pipe();
  const Streams streams{terminal.interactive() ? terminal.slave() : -1,
                        terminal.output() ? terminal.slave() : out.write.get(),
                        terminal.errors() ? terminal.slave() : err.write.get(), gate.read.get(), report.write.get()};
  if (terminal.interactive()) {
    news = make_pipe();
    held = make_pipe();
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    held.write.close();  // or it would wait for itself, here and at the gate
    gate.write.close();
    if (terminal.interactive()) hold(command, added, terminal, signals, streams, news.write.get(), held.read.get());
    become(command, added, signals, streams);
  }
  if (pid < 0) {
    child.exec_error = errno;
    return child;
  }
  terminal.close_slave();
  report.write.close();
  news.write.close();
  if (terminal.interactive()) {
    if (!read_int(news.read.get(), child.pid) || child.pid < 0) child.exec_error = EAGAIN;
  } else {
    child.pid = pid;
  }
  for (const Descriptor* end : {&out.read, &err.read, &news.read})
    if (*end) make_nonblocking(end->get());
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  child.news = std::move(news.read);
  child.hold = std::move(held.write);
  child.gate = std::move(gate.write);
  child.report = std::move(report.read);
  return child;
}

void release(Child& child) {
  if (!child.started()) return;
  [[maybe_unused]] const ssize_t written = ::write(child.gate.get(), "", 1);
  child.gate.close();
  // Closed by the exec, so this waits for it and no longer.
  if (!read_int(child.report.get(), child.exec_error)) child.exec_error = 0;
  child.report.close();
}

}  // namespace tocsin::adapters::wrap
