#include "adapters/notify/command.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "adapters/formats/printable.h"

extern char** environ;

namespace tocsin::adapters::notify {
namespace {

using stream::Errc;
using stream::Error;

struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  Actions() { ::posix_spawn_file_actions_init(&files), ::posix_spawnattr_init(&attributes); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&files), ::posix_spawnattr_destroy(&attributes); }
};

// A file in memory: a pipe could fill, and would have to be served.
journal::File memory_file(const std::string& content) {
  journal::File file{::memfd_create("tocsin-notify", MFD_CLOEXEC)};
  if (file && !content.empty() && !journal::write_all(file, "memory", content)) file.close();
  if (file) ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string last_line_of(int file) {
  std::string text(400, '\0');
  const off_t size = ::lseek(file, 0, SEEK_END);
  const ssize_t got =
      ::pread(file, text.data(), text.size(), std::max<off_t>(size - static_cast<off_t>(text.size()), 0));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return formats::printable(text.substr(text.rfind('\n') + 1));
}

}  // namespace

stream::Result<Command> Command::start(const std::vector<std::string>& command, const std::string& input) {
  Command started;
  started.name_ = command.front();
  const journal::File in = memory_file(input);
  started.output_ = memory_file("");
  if (!in || !started.output_)
    return Error{Errc::io, fmt::format("cannot hand {} its input: {}", command.front(), std::strerror(errno))};
  Actions actions;
  ::posix_spawn_file_actions_adddup2(&actions.files, in.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions.files, started.output_.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions.files, started.output_.get(), 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions.files, 3);
  sigset_t none, all;
  ::sigemptyset(&none), ::sigfillset(&all);
  ::posix_spawnattr_setflags(&actions.attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setsigdefault(&actions.attributes, &all);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int failed =
      ::posix_spawnp(&started.pid_, arguments[0], &actions.files, &actions.attributes, arguments.data(), environ);
  if (failed != 0) {
    started.pid_ = -1;
    return Error{Errc::io, fmt::format("cannot run {}: {}", command.front(), std::strerror(failed))};
  }
  started.descriptor_ = journal::File{static_cast<int>(::syscall(SYS_pidfd_open, started.pid_, 0))};
  return started;
}

Command::Command(Command&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      descriptor_(std::move(other.descriptor_)),
      output_(std::move(other.output_)) {}

Command::~Command() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

std::optional<std::string> Command::ended() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ::kill(-std::exchange(pid_, -1), SIGKILL);  // what it left running
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::string{};
  std::string why = WIFEXITED(status) ? fmt::format("{} ended with exit status {}", name_, WEXITSTATUS(status))
                                      : fmt::format("{} was ended by signal {}", name_, WTERMSIG(status));
  if (const std::string line = last_line_of(output_.get()); !line.empty()) why += ": " + line;
  return why;
}

}  // namespace tocsin::adapters::notify
