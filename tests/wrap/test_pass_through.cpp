#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>

#include "doctest/doctest.h"
#include "probe_run.h"
#include "tests/seed.h"

using namespace tocsin::test;

namespace {

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random{seed(7)};
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

}  // namespace

TEST_CASE("the exit code is the command's") {
  Scratch scratch;
  CHECK(run(probe({}, {"true"}), scratch).code() == 0);
  CHECK(run(probe({}, shell("exit 7")), scratch).code() == 7);
  CHECK(run(probe({}, {"/no/such/program"}), scratch).code() == 127);
  CHECK(run(probe({}, {"/tmp"}), scratch).code() == 126);
}

TEST_CASE("modules for Python stand behind the command's own PYTHONPATH") {
  Scratch scratch;
  const auto printed = [&](const std::string& own, const std::string& modules) {
    if (own.empty()) ::unsetenv("PYTHONPATH");
    else ::setenv("PYTHONPATH", own.c_str(), 1);
    const std::string out = run(probe({"--modules", modules}, shell("printf %s \"${PYTHONPATH-none}\"")), scratch).out;
    ::unsetenv("PYTHONPATH");
    return out;
  };
  CHECK(printed("", "/our modules") == "/our modules");
  CHECK(printed("/own:/more", "/our modules") == "/own:/more:/our modules");
  CHECK(printed("/own:/our modules", "/our modules") == "/own:/our modules");  // wrap within wrap
  CHECK(printed("", "") == "none");
}

TEST_CASE("a command that a signal ended ends us by that signal") {
  Scratch scratch;
  for (const int signal : {SIGTERM, SIGINT, SIGKILL, SIGSEGV, SIGHUP, SIGPIPE, SIGUSR1})
    CHECK(run(probe({}, shell("kill -" + std::to_string(signal) + " $$")), scratch).signal() == signal);
}

TEST_CASE("signals sent to us reach the command") {
  Scratch scratch;
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP, SIGALRM}) {
    Running running{probe({}, {"python3", "-c",
                               "import signal, sys\n"
                               "def got(n, f):\n  print('got', n, flush=True); sys.exit(40)\n"
                               "for n in (1, 2, 3, 10, 12, 14, 15): signal.signal(n, got)\n"
                               "print('ready', flush=True)\nwhile True: signal.pause()"}),
                    scratch};
    REQUIRE(running.wait_for([&] { return running.out() == "ready\n"; }));
    ::kill(running.pid(), signal);
    const Ended ended = running.end();
    CHECK(ended.out == "ready\ngot " + std::to_string(signal) + "\n");
    CHECK(ended.code() == 40);
  }
}

TEST_CASE("a signal that we were started to ignore is ignored by the command too") {
  Scratch scratch;
  CHECK(
      run({"sh", "-c", "trap '' HUP; exec \"$@\"", "sh", WRAP_PROBE, "--", "sh", "-c", "kill -HUP $$; exit 5"}, scratch)
          .code() == 5);
}

TEST_CASE("ten million random bytes pass unchanged") {
  Scratch scratch;
  const std::string bytes = random_bytes(10'000'000);
  write_file(scratch / "bytes", bytes);
  const Ended ended = run(probe({}, {"cat", (scratch / "bytes").string()}), scratch);
  CHECK(ended.out == bytes);
  CHECK(ended.code() == 0);
}

TEST_CASE("stdout and stderr stay apart, each in its order") {
  Scratch scratch;
  const Ended ended = run(
      probe({"--journal", (scratch / "journal").string()}, shell("echo a; echo b >&2; echo c; echo d >&2")), scratch);
  CHECK(ended.out == "a\nc\n");
  CHECK(ended.err.starts_with("b\nd\n"));
}

TEST_CASE("a command whose reader has gone learns it as it would without us") {
  Scratch scratch;
  const Ended ended =
      run({"bash", "-c", "\"$@\" | head -1; exit ${PIPESTATUS[0]}", "bash", WRAP_PROBE, "--", "yes"}, scratch);
  CHECK(ended.out == "y\n");
  CHECK(ended.code() == 128 + SIGPIPE);
}

TEST_CASE("a reader that waits makes the command wait, and loses nothing") {
  Scratch scratch;
  const Ended ended =
      run({"bash", "-c", "\"$@\" | (sleep 1; wc -c)", "bash", WRAP_PROBE, "--", "head", "-c", "3000000", "/dev/zero"},
          scratch);
  CHECK(std::stoi(ended.out) == 3'000'000);
}

TEST_CASE("we end when the command does, and what it left running still writes") {
  Scratch scratch;
  const std::string go_on = (scratch / "go_on").string();
  Running running{probe({}, shell("(while [ ! -e " + go_on + " ]; do sleep 0.1; done; echo late) & echo early")),
                  scratch};
  CHECK(running.end().out == "early\n");
  write_file(go_on, "");
  CHECK(running.wait_for([&] { return running.out() == "early\nlate\n"; }));
}

TEST_CASE("the command reads our input") {
  Scratch scratch;
  CHECK(run({"bash", "-c", "echo in | \"$@\"", "bash", WRAP_PROBE, "--", "cat"}, scratch).out == "in\n");
}

TEST_CASE("a recorder that is killed disturbs nothing and is started again") {
  Scratch scratch;
  const std::string go_on = (scratch / "go_on").string();
  Running running{probe({"--journal", (scratch / "journal").string()},
                        shell("seq -f 'line %g' 4; while [ ! -e " + go_on +
                              " ]; do sleep 0.1; done; seq -f 'line %g' 5 15; exit 3")),
                  scratch};
  // What it has read and not yet written would go with it.
  REQUIRE(running.wait_for([&] {
    return std::filesystem::exists(scratch / "journal") && read_journal(scratch / "journal").lines.size() == 4;
  }));
  const auto recorder = child_named(running.pid(), "tocsin-recorder");
  REQUIRE(recorder);
  ::kill(*recorder, SIGKILL);
  REQUIRE(running.wait_for([&] {
    const auto next = child_named(running.pid(), "tocsin-recorder");
    return next && next != recorder;
  }));
  write_file(go_on, "");
  const Ended ended = running.end();
  CHECK(ended.code() == 3);
  std::string lines;
  for (int i = 1; i <= 15; ++i) lines += "line " + std::to_string(i) + '\n';
  CHECK(ended.out == lines);

  const Recorded recorded = read_journal(scratch / "journal");
  CHECK(recorded.corrupt == 0);
  CHECK(recorded.rejected == 0);
  CHECK(recorded.sealed);
  CHECK(recorded.epochs.front() == 0);
  CHECK(recorded.epochs.back() == 1);
  CHECK(recorded.named("start").size() == 1);
  CHECK(recorded.named("end").size() == 1);
  CHECK(recorded.text() == lines);
}

TEST_CASE("output that comes faster than it is recorded waits for the recorder, and all of it is recorded") {
  Scratch scratch;
  const Ended ended = run(probe({"--journal", (scratch / "journal").string()},
                                shell("seq -f 'line %.0f, " + std::string(80, 'x') + "' 600000; exit 3")),
                          scratch);
  CHECK(ended.code() == 3);
  CHECK(ended.err.find("faster than") == std::string::npos);
  const Recorded recorded = read_journal(scratch / "journal");
  CHECK(recorded.named("output_dropped").empty());
  CHECK(recorded.lines.size() == 600'000);
  CHECK(recorded.text() == ended.out);
}

TEST_CASE("a recorder that takes nothing is waited for for two seconds, and what it misses is counted") {
  Scratch scratch;
  const std::string go_on = (scratch / "go_on").string();
  Running running{probe({"--journal", (scratch / "journal").string()},
                        shell("echo ready; while [ ! -e " + go_on +
                              " ]; do sleep 0.1; done; head -c 30000000 /dev/zero | tr '\\0' x; exit 3")),
                  scratch};
  REQUIRE(running.wait_for([&] { return running.out() == "ready\n"; }));
  const auto recorder = child_named(running.pid(), "tocsin-recorder");
  REQUIRE(recorder);
  ::kill(*recorder, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  write_file(go_on, "");
  REQUIRE(running.wait_for([&] { return running.out().size() == 30'000'006; }));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds{2});
  ::kill(*recorder, SIGCONT);
  const Ended ended = running.end();
  CHECK(ended.code() == 3);
  CHECK(ended.err.find("bytes of output came faster than they could be recorded") != std::string::npos);
}

TEST_CASE("an engine that is killed, or cannot live, disturbs nothing") {
  Scratch scratch;
  SUBCASE("killed: started again, and reads to the end") {
    const std::string go_on = (scratch / "go_on").string();
    Running running{probe({}, shell("seq 3; while [ ! -e " + go_on + " ]; do sleep 0.1; done; seq 7; exit 4")),
                    scratch};
    std::optional<pid_t> engine;
    REQUIRE(running.wait_for(
        [&] { return (engine = child_named(running.pid(), "tocsin-engine")) && running.out() == "1\n2\n3\n"; }));
    ::kill(*engine, SIGKILL);
    REQUIRE(
        running.wait_for([&] { return running.err().find("the engine was ended by signal 9") != std::string::npos; }));
    write_file(go_on, "");
    const Ended ended = running.end();
    CHECK(ended.code() == 4);
    CHECK(ended.err.find("engine: 10 lines, 1 restarts") != std::string::npos);
  }
  SUBCASE("crashing each time") {
    const Ended ended = run(probe({"--engine", "dies"}, shell("echo fine; sleep 1; exit 5")), scratch);
    CHECK(ended.out == "fine\n");
    CHECK(ended.code() == 5);
    CHECK(ended.err.find("the engine was ended by signal 6") != std::string::npos);
  }
  SUBCASE("refusing: not started again") {
    const Ended ended = run(probe({"--engine", "refuses"}, shell("sleep 0.5; exit 6")), scratch);
    CHECK(ended.code() == 6);
    CHECK(ended.err.find("engine") == std::string::npos);
  }
}

TEST_CASE("a journal that cannot be written does not disturb the command") {
  Scratch scratch;
  const auto script = shell("for i in 1 2 3 4 5; do seq 20000; sleep 0.1; done; exit 9");
  std::string all;
  for (int i = 1; i <= 20000; ++i) all += std::to_string(i) + '\n';
  std::string five;
  for (int i = 0; i < 5; ++i) five += all;

  SUBCASE("no such place") {
    const Ended ended = run(probe({"--journal", "/proc/nowhere/journal"}, script), scratch);
    CHECK(ended.out == five);
    CHECK(ended.code() == 9);
    CHECK(ended.err.find("not recorded") != std::string::npos);
    CHECK(ended.err.find("the recorder ended") == std::string::npos);
    CHECK(ended.err.find("the journal is in /") == std::string::npos);
  }
  SUBCASE("a file over the limit") {
    const Ended ended =
        run({"bash", "-c", "(ulimit -f 20; exec \"$@\") | cat; exit ${PIPESTATUS[0]}", "bash", WRAP_PROBE, "--journal",
             (scratch / "journal").string(), "--", script[0], script[1], script[2]},
            scratch);
    CHECK(ended.out == five);
    CHECK(ended.code() == 9);
    CHECK(ended.err.find("not recorded") != std::string::npos);
  }
  SUBCASE("a full disk") {
    std::filesystem::create_directory(scratch / "tiny");
    if (::mount("tmpfs", (scratch / "tiny").c_str(), "tmpfs", 0, "size=64k") != 0) {
      MESSAGE("not allowed to mount: the limit on file sizes stands for it");
      return;
    }
    const Ended ended = run(probe({"--journal", (scratch / "tiny/journal").string()}, script), scratch);
    CHECK(ended.out == five);
    CHECK(ended.code() == 9);
    CHECK(ended.err.find("not recorded") != std::string::npos);
    CHECK(ended.err.find(" entries are ") != std::string::npos);  // how many are lost
    ::umount((scratch / "tiny").c_str());
  }
}

TEST_CASE("a journal that can be made only after a while begins with the pack and the start, and is judged") {
  Scratch scratch;
  const auto journal = scratch / "later/journal";
  write_file(scratch / "later", "");  // no directory can be made in it; on a full disk neither
  const std::string go_on = (scratch / "go_on").string();
  Running running{probe({"--journal", journal.string()},
                        shell("seq 3; while [ ! -e " + go_on + " ]; do sleep 0.1; done; seq 7; exit 4")),
                  scratch};
  REQUIRE(running.wait_for(
      [&] { return running.err().find("not recorded") != std::string::npos && running.out() == "1\n2\n3\n"; }));
  std::filesystem::remove(scratch / "later");
  REQUIRE(running.wait_for([&] { return running.err().find("recording goes on") != std::string::npos; }));
  write_file(go_on, "");
  const Ended ended = running.end();
  CHECK(ended.code() == 4);
  CHECK(ended.err.find("engine: 7 lines, 0 restarts") != std::string::npos);
  const Recorded recorded = read_journal(journal);
  CHECK(recorded.packs.size() == 1);
  CHECK(recorded.named("start").size() == 1);
  CHECK(recorded.named("end").size() == 1);
  CHECK(recorded.sealed);
}

TEST_CASE("a directory that is not empty is refused before the command runs") {
  Scratch scratch;
  std::filesystem::create_directory(scratch / "journal");
  write_file(scratch / "journal/other", "x");
  const Ended ended = run(probe({"--journal", (scratch / "journal").string()}, shell("echo ran")), scratch);
  CHECK(ended.code() == 2);
  CHECK(ended.out.empty());
  CHECK(ended.err.find("not empty") != std::string::npos);
}
