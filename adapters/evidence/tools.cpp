#include "adapters/evidence/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "adapters/evidence/proc_file.h"

namespace tocsin::adapters::evidence {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t at = text.find(by);
    if (!text.substr(0, at).empty()) out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + '=')) return entry.substr(name.size() + 1);
  return {};
}

std::string link_of(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// Where the Python of a process has its programs: beside the name that it was started by (of a virtual environment),
// then beside the file that runs.
std::vector<fs::path> program_directories(pid_t pid) {
  std::vector<fs::path> out;
  const std::string command = read_proc(proc_path(pid, "cmdline"), 4096);
  const std::string first = command.substr(0, command.find('\0'));
  if (first.starts_with('/')) out.push_back(fs::path{first}.parent_path());
  else if (first.find('/') != std::string::npos)
    out.push_back((fs::path{link_of(proc_path(pid, "cwd"))} / first).parent_path());
  const auto environment = split(environment_of(pid), '\0');
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string at = variable(environment, name); at.starts_with('/')) out.push_back(fs::path{at} / "bin");
  if (const std::string file = link_of(proc_path(pid, "exe")); file.starts_with('/'))
    out.push_back(fs::path{file}.parent_path());
  return out;
}

[[noreturn]] void become(const Tool& tool, const std::vector<std::string>& arguments, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int in = ::open("/dev/null", O_RDONLY);
  if (in < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
  ::close_range(3, ~0u, 0);
  if (::chdir("/") != 0) ::_exit(127);  // what a tool would read from where it runs
  if (tool.user) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(tool.group, tool.group, tool.group) != 0 ||
        ::setresuid(*tool.user, *tool.user, *tool.user) != 0)
      ::_exit(127);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // another user's: it was cleared
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> words{const_cast<char*>(tool.path.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8";
  char* environment[] = {path, locale, nullptr};
  ::execve(words[0], words.data(), environment);
  ::_exit(127);
}

bool append(int descriptor, std::string& to, std::size_t most) {
  char buffer[16384];
  const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  to.append(buffer, std::min(static_cast<std::size_t>(size), most - std::min(most, to.size())));
  return size > 0;
}

}  // namespace

std::optional<Tool> trusted(const fs::path& directory, const std::string& name, ProcessOwner owner) {
  std::error_code error;
  const fs::path path = fs::canonical(directory / name, error);
  if (error || path.filename() != name || !fs::is_regular_file(path, error) || ::access(path.c_str(), X_OK) != 0)
    return std::nullopt;
  const uid_t us = ::geteuid();
  std::optional<uid_t> user;
  for (fs::path at = path;; at = at.parent_path()) {
    struct stat found {};
    if (::lstat(at.c_str(), &found) != 0) return std::nullopt;
    const bool keeps_names =
        at != path && (found.st_mode & S_ISVTX) != 0;  // as /tmp: others cannot rename what is ours
    if ((found.st_mode & S_IWOTH) != 0 && !keeps_names) return std::nullopt;
    // A group of the owner's own is as good as the owner.
    if ((found.st_mode & S_IWGRP) != 0 && !keeps_names && found.st_gid != found.st_uid) return std::nullopt;
    if (found.st_uid != 0 && found.st_uid != us) {
      if (us != 0 || found.st_uid != owner.user) return std::nullopt;
      user = owner.user;
    }
    if (at == at.root_path()) break;
  }
  return Tool{path, user, owner.group};
}

std::optional<Tool> find_tool(const std::string& name, pid_t pid) {
  struct stat process {};
  if (::stat(proc_path(pid, "").c_str(), &process) != 0) return std::nullopt;
  std::vector<fs::path> places;
  const char* path = std::getenv("PATH");
  for (const std::string& one : split(path == nullptr ? "/usr/bin:/bin" : path, ':'))
    if (one.starts_with('/')) places.emplace_back(one);
  for (fs::path& one : program_directories(pid)) places.push_back(std::move(one));
  for (const fs::path& place : places)
    if (auto tool = trusted(place, name, {process.st_uid, process.st_gid})) return tool;
  return std::nullopt;
}

Answer run_tool(const Tool& tool, const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                std::size_t most) {
  Answer answer;
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return answer;
  const journal::File out_read{out[0]};
  journal::File out_write{out[1]};
  if (::pipe2(err, O_CLOEXEC) != 0) return answer;
  const journal::File err_read{err[0]};
  journal::File err_write{err[1]};
  const pid_t pid = ::fork();
  if (pid == 0) become(tool, arguments, out_write.get(), err_write.get());
  if (pid < 0) return answer;
  out_write.close();
  err_write.close();
  const auto until = Clock::now() + limit;
  bool out_open = true, err_open = true;
  while (out_open || err_open) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd at[] = {{out_open ? out_read.get() : -1, POLLIN, 0}, {err_open ? err_read.get() : -1, POLLIN, 0}};
    if (left <= 0 || (::poll(at, 2, static_cast<int>(left)) == 0)) {
      answer.late = true;
      break;
    }
    if (at[0].revents != 0) out_open = append(out_read.get(), answer.out, most);
    if (at[1].revents != 0) err_open = append(err_read.get(), answer.err, 65536);
  }
  if (answer.late) ::kill(pid, SIGKILL);
  while (::waitpid(pid, &answer.status, 0) < 0 && errno == EINTR) {}
  return answer;
}

}  // namespace tocsin::adapters::evidence
