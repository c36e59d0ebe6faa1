#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <string>

#include "doctest/doctest.h"
#include "probe_run.h"

using namespace tocsin::test;

namespace {

// A terminal as a person's would be, with a program in its foreground.
class Session {
 public:
  Session(std::vector<std::string> command, const Scratch& scratch) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    const std::string name = ::ptsname(master_);
    resize(30, 100);
    const std::string state = (scratch / "state").string();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      const int slave = ::open(name.c_str(), O_RDWR);
      for (const int standard : {0, 1, 2}) ::dup2(slave, standard);
      ::setenv("XDG_STATE_HOME", state.c_str(), 1);
      std::vector<char*> arguments;
      for (std::string& argument : command) arguments.push_back(argument.data());
      arguments.push_back(nullptr);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  ~Session() {
    hang_up();
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  void resize(unsigned short rows, unsigned short columns) {
    const winsize size{rows, columns, 0, 0};
    ::ioctl(master_, TIOCSWINSZ, &size);
  }
  void type(const std::string& keys) {
    CHECK(::write(master_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  void hang_up() {
    if (master_ >= 0) ::close(master_);
    master_ = -1;
  }
  // Reads until the screen shows this, or nothing comes for so long.
  bool shows(const std::string& text, int milliseconds = 8000) {
    while (screen_.find(text) == std::string::npos) {
      pollfd at{master_, POLLIN, 0};
      if (::poll(&at, 1, milliseconds) <= 0) return false;
      char buffer[65536];
      const ssize_t size = ::read(master_, buffer, sizeof buffer);
      if (size <= 0) return screen_.find(text) != std::string::npos;
      screen_.append(buffer, static_cast<std::size_t>(size));
    }
    return true;
  }
  int wait() {
    while (shows("\x01never")) {}
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  [[nodiscard]] const std::string& screen() const { return screen_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  int master_ = -1;
  pid_t pid_ = -1;
  std::string screen_;
};

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

}  // namespace

TEST_CASE("what is a terminal for us is one for the command, of the same size") {
  Scratch scratch;
  Session session{probe({}, shell("test -t 0 && test -t 1 && test -t 2 && echo all; stty size; exit 3")), scratch};
  const int status = session.wait();
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(session.screen().starts_with("all\r\n30 100\r\n"));
}

TEST_CASE("a change of the window's size reaches the command") {
  Scratch scratch;
  Session session{probe({}, {"bash", "-c", "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.1; done"}),
                  scratch};
  REQUIRE(session.shows("ready"));
  session.resize(44, 155);
  CHECK(session.shows("44 155"));
  CHECK(WEXITSTATUS(session.wait()) == 0);
}

TEST_CASE("keys go through: a line, an end of input, an interrupt") {
  Scratch scratch;
  SUBCASE("a line and the end of input") {
    Session session{probe({}, {"cat"}), scratch};
    session.type("hello\n");
    CHECK(session.shows("hello\r\nhello\r\n"));
    session.type("\x04");
    CHECK(WEXITSTATUS(session.wait()) == 0);
  }
  SUBCASE("Ctrl-C ends it as without us") {
    Session session{probe({"--journal", (scratch / "j").string()}, shell("echo ready; sleep 20")), scratch};
    REQUIRE(session.shows("ready"));
    session.type("\x03");
    CHECK(WTERMSIG(session.wait()) == SIGINT);
    CHECK(read_journal(scratch / "j").named("end")[0].fields.at("reason") == "cancelled");
  }
  SUBCASE("Ctrl-C ends a launcher that exits with a status of its own: the end says that it was asked to") {
    Session session{probe({"--journal", (scratch / "j").string()}, shell("trap 'exit 1' INT; echo ready; sleep 20")),
                    scratch};
    REQUIRE(session.shows("ready"));
    session.type("\x03");
    CHECK(WEXITSTATUS(session.wait()) == 1);
    CHECK(read_journal(scratch / "j").named("end")[0].fields.at("asked") == "1");
  }
}

TEST_CASE("Ctrl-Z stops the command and us, and a continue goes on with both") {
  Scratch scratch;
  Session session{{"bash", "-i"}, scratch};
  session.type("PS1='> '; set -m\n");
  // No shell: one that is stopped within its vfork() hangs, without us too.
  session.type(std::string{WRAP_PROBE} +
               " -- python3 -c 'import time; print(\"rea\" \"dy\", flush=True); time.sleep(1); print(\"do\" \"ne\"); "
               "exit(9)'\n");
  REQUIRE_MESSAGE(session.shows("ready\r\n"), session.screen());
  session.type("\x1a");
  REQUIRE_MESSAGE(session.shows("Stopped"), session.screen());
  session.type("fg; echo code $((0+$?))\n");
  CHECK(session.shows("done\r\n"));
  CHECK(session.shows("code 9\r\n"));
  session.type("exit\n");
  session.wait();
}

TEST_CASE("two million bytes pass a terminal unchanged") {
  Scratch scratch;
  Session session{probe({}, shell("stty -opost; seq 300000; exit 0")), scratch};
  std::string all;
  for (int i = 1; i <= 300000; ++i) all += std::to_string(i) + '\n';
  CHECK(WEXITSTATUS(session.wait()) == 0);
  CHECK(session.screen().starts_with(all));
}

TEST_CASE("when the terminal hangs up the command covers of it") {
  Scratch scratch;
  Session session{probe({"--journal", (scratch / "j").string(), "--reload", "good"},
                        shell("trap 'echo hung > " + (scratch / "hung_up").string() +
                              "; exit 0' HUP; echo ready; while :; do sleep 0.1; done")),
                  scratch};
  REQUIRE(session.shows("ready"));
  session.hang_up();
  bool hung_up = false;
  for (int i = 0; i < 500 && !hung_up; ++i, ::poll(nullptr, 0, 10))
    hung_up = std::filesystem::exists(scratch / "hung_up");
  CHECK(hung_up);
}

TEST_CASE("notes of ours stand on lines of their own while the terminal is raw") {
  Scratch scratch;
  Session session{probe({"--engine", "dies"}, shell("printf 'half a line'; sleep 0.5; echo; exit 0")), scratch};
  CHECK(WEXITSTATUS(session.wait()) == 0);
  CHECK(session.screen().find("half a line\r\ntocsin: the engine was ended by signal 6; it is started again\r\n") !=
        std::string::npos);
}
