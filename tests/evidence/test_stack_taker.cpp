#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>

#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/stack_taker.h"
#include "doctest/doctest.h"
#include "processes.h"

using namespace tocsin::adapters::evidence;
using namespace tocsin::test;
using namespace std::chrono_literals;

namespace {

std::vector<ProcessStack> take(const std::vector<StackTarget>& targets, const StackSettings& settings = {}) {
  StackTaker taker;
  taker.start(targets, settings);
  for (;;) {
    pollfd at{taker.descriptor(), POLLIN, 0};
    ::poll(&at, 1, 1000);
    if (auto stacks = taker.poll()) return *stacks;
  }
}

// Prints as py-spy does: one frame, with the process' number as its line.
const std::string one_frame =
    R"(printf '[{"thread_name":"MainThread","os_thread_id":%s,"frames":[{"name":"f","filename":"/t.py","line":%s}]}]' $3 $3)";

}  // namespace

TEST_CASE("each target gets its stack, in the order of the targets") {
  const OnlyTools tools;
  tools.program("py-spy", one_frame);
  const Sleeper a, b, c, d, e;
  std::vector<StackTarget> targets;
  std::uint32_t rank = 0;
  for (const Sleeper* one : {&a, &b, &c, &d, &e}) targets.push_back({one->pid(), rank++, start_of(one->pid())});
  const auto stacks = take(targets);
  REQUIRE(stacks.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(stacks[i].pid == targets[i].pid);
    CHECK(stacks[i].rank == i);
    CHECK(stacks[i].way == Way::py_spy);
    REQUIRE(stacks[i].main_thread() != nullptr);
    CHECK(stacks[i].main_thread()->frames.front().line == static_cast<std::uint32_t>(targets[i].pid));
    CHECK(std::string_view{"SR"}.find(stacks[i].main_thread()->state) != std::string_view::npos);  // R: it was looked at
  }
}

TEST_CASE("a tool that hangs costs its target the time limit, and the others nothing; the kernel's view stays") {
  const OnlyTools tools;
  const Sleeper good, bad;
  tools.program("py-spy", "if [ $3 = " + std::to_string(bad.pid()) + " ]; then /bin/sleep 1000; fi\n" + one_frame);
  StackSettings settings;
  settings.limit = 1s;
  const auto stacks = take({{bad.pid(), 0}, {good.pid(), 1}}, settings);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].way == Way::kernel);
  CHECK(stacks[0].error == "looking into the process took too long");
  CHECK(stacks[0].main_thread() != nullptr);
  CHECK(stacks[1].way == Way::py_spy);
}

TEST_CASE("without py-spy the kernel's view is what there is, and the error tells what to install") {
  const OnlyTools tools;
  const Sleeper one;
  const auto stacks = take({{one.pid(), 7}});
  REQUIRE(stacks.size() == 1);
  CHECK(stacks[0].way == Way::kernel);
  CHECK(stacks[0].error.find("pip install py-spy") != std::string::npos);
}

TEST_CASE("a py-spy that fails, or prints nonsense, leaves the kernel's view and its reason") {
  const OnlyTools tools;
  const Sleeper one;
  for (const auto& [text, reason] :
       {std::pair{"echo 'Error: odd thing' >&2; exit 1", "odd thing"},
        std::pair{"echo 'Error: Permission denied (os error 13)' >&2; exit 1", "CAP_SYS_PTRACE"},
        std::pair{"echo nonsense", "printed no stack"}, std::pair{"kill -9 $$", "failed"}}) {
    tools.program("py-spy", text);
    const auto stacks = take({{one.pid(), 7}});
    REQUIRE(stacks.size() == 1);
    CHECK(stacks[0].way == Way::kernel);
    CHECK_MESSAGE(stacks[0].error.find(reason) != std::string::npos, stacks[0].error);
  }
}

TEST_CASE("another process under the pid is not taken for the rank's, and a process that has gone is an error") {
  const OnlyTools tools;
  tools.program("py-spy", one_frame);
  const Sleeper one;
  const auto stacks = take({{one.pid(), 0, start_of(one.pid()) + 1}, {1 << 22, 1}, {one.pid(), 2}});
  REQUIRE(stacks.size() == 3);
  CHECK(stacks[0].error == "the process has ended");
  CHECK(stacks[0].way == Way::none);
  CHECK(stacks[1].error == "the process has ended");
  CHECK(stacks[2].way == Way::py_spy);
}

TEST_CASE("a stopped process is seen as such, and goes on as it was") {
  const OnlyTools tools;
  const Sleeper one;
  ::kill(one.pid(), SIGSTOP);
  while (kernel_view(one.pid()).main_thread()->state != 'T') ::usleep(1000);
  const auto stacks = take({{one.pid(), 0}});
  CHECK(stacks[0].main_thread()->state == 'T');
  CHECK(kernel_view(one.pid()).main_thread()->state == 'T');
}

TEST_CASE("no target is no work, and a taker can be used again or be dropped in between") {
  const OnlyTools tools;
  tools.program("py-spy", "/bin/sleep 1000");
  CHECK(take({}).empty());
  const Sleeper one;
  const std::vector<StackTarget> targets{{one.pid(), 0}};
  {
    StackTaker taker;
    CHECK(taker.descriptor() == -1);
    CHECK_FALSE(taker.running());
    taker.start(targets);
    CHECK(taker.running());
    tools.program("py-spy", one_frame);
    taker.start(targets);
    CHECK(taker.running());
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == 0);  // the sleeper alone is left, and no process of the taker's waits for us
  CHECK(take(targets).front().way == Way::py_spy);
}
