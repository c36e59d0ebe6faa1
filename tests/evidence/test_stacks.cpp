#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/evidence/faulthandler.h"
#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/take.h"
#include "adapters/evidence/tools.h"
#include "doctest/doctest.h"
#include "processes.h"

using namespace tocsin::adapters::evidence;
using namespace tocsin::test;
namespace fs = std::filesystem;

namespace {

// As py-spy 0.4.3 prints it.
const char* const dumped = R"([
  {"pid": 1219, "thread_id": 139689947891392, "thread_name": "wéird", "os_thread_id": 1263, "active": false,
   "owns_gil": false, "frames": [
     {"name": "Condition.wait", "filename": "/usr/lib/python3.11/threading.py", "module": null,
      "short_filename": "threading.py", "line": 327, "locals": null, "is_entry": false, "is_shim_entry": false}],
   "process_info": null},
  {"pid": 1219, "thread_id": 139689962830720, "thread_name": "MainThread", "os_thread_id": 1219, "active": true,
   "owns_gil": true, "frames": [
     {"name": "forever", "filename": "/tmp/e/prog.py", "module": null, "short_filename": "prog.py", "line": 6,
      "locals": null, "is_entry": false, "is_shim_entry": false},
     {"name": "<module>", "filename": "/tmp/e/prog.py", "module": null, "short_filename": "prog.py", "line": 10,
      "locals": null, "is_entry": true, "is_shim_entry": true}],
   "process_info": null}])";

const char* const printed_by_gdb =
    "[New LWP 1237]\n"
    "warning: File \"x-gdb.py\" auto-loading has been declined\n"
    "\n"
    "Thread 2 (Thread 0x7f0b6fe1d6c0 (LWP 1237) \"pt (main) 0\"):\n"
    "#0  0x00007f0b700a3f7b in __GI___futex_abstimed_wait_cancelable64 (futex_word=..., expected=...) at "
    "./nptl/futex-internal.c:139\n"
    "#1  0x00007fd757bf812f in gloo::transport::tcp::UnboundBuffer::waitRecv(int*, std::chrono::duration<long, "
    "std::ratio<1l, 1000l> >) () from /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13\n"
    "\n"
    "Thread 1 (Thread 0x7f0b7088eb80 (LWP 1220) \"python\"):\n"
    "#0  arena_map_is_used (p=...) at Objects/obmalloc.c:1565\n"
    "#1  0x0000563927ed1081 in _start ()\n"
    "[Inferior 1 (process 1220) detached]\n";

}  // namespace

TEST_CASE("what py-spy prints becomes threads with their frames, the main thread first") {
  const auto threads = threads_of_py_spy(dumped, 1219);
  REQUIRE(threads);
  REQUIRE(threads->size() == 2);
  const ThreadStack& main = threads->front();
  CHECK(main.main);
  CHECK(main.interprets);
  CHECK_FALSE(main.idle);
  REQUIRE(main.frames.size() == 2);
  CHECK(main.frames[0] == Frame{"forever", "/tmp/e/prog.py", 6});
  CHECK(threads->back().name == "wéird");
  CHECK(threads->back().idle);
}

TEST_CASE("the main thread of a process in a container, which knows itself by another number, is found by its name") {
  const auto threads = threads_of_py_spy(dumped, 77);
  REQUIRE(threads);
  CHECK(threads->front().main);
  CHECK(threads->front().tid == 77);
}

TEST_CASE("another form than py-spy's is refused, whatever it is") {
  for (const char* text : {"", "Error: no such process", "{}", "[1]", "[{}]", "[{\"frames\": [3]}]",
                           "[{\"frames\": {}}]", "[{\"frames\": []", "\xff\xfe"})
    CHECK_FALSE_MESSAGE(threads_of_py_spy(text, 1).has_value(), text);
  const auto odd = threads_of_py_spy(
      R"([{"active": 3, "thread_name": 4, "os_thread_id": "x", "frames": [{"name": null, "line": -1}]}])", 1);
  REQUIRE(odd);
  CHECK(odd->front().frames == std::vector<Frame>{Frame{}});
}

TEST_CASE("a recursion without end keeps both ends of its stack") {
  std::string frames;
  for (int i = 0; i < 5000; ++i)
    frames += (i == 0 ? "" : ",") + std::string{"{\"name\":\"f\",\"filename\":\"/t.py\",\"line\":"} +
              std::to_string(i + 1) + "}";
  const auto threads = threads_of_py_spy("[{\"thread_name\":\"MainThread\",\"frames\":[" + frames + "]}]", 1);
  REQUIRE(threads);
  CHECK(threads->front().frames.size() == 128);
  CHECK(threads->front().frames.front().line == 1);
  CHECK(threads->front().frames.back().line == 5000);
}

TEST_CASE("what gdb prints becomes threads with their frames, without values") {
  const auto threads = threads_of_gdb(printed_by_gdb, 1220);
  REQUIRE(threads.size() == 2);
  CHECK(threads[0].main);
  CHECK(threads[0].frames[0] == Frame{"arena_map_is_used", "Objects/obmalloc.c", 1565, true});
  CHECK(threads[0].frames[1] == Frame{"_start", "", 0, true});
  CHECK(threads[1].tid == 1237);
  CHECK(threads[1].name == "pt (main) 0");
  CHECK(threads[1].frames[0].function == "__GI___futex_abstimed_wait_cancelable64");
  CHECK(threads[1].frames[1].function.starts_with("gloo::transport::tcp::UnboundBuffer::waitRecv"));
  CHECK(threads[1].frames[1].file == "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13");
  CHECK(threads_of_gdb("ptrace: Operation not permitted.\n#0 lonely ()\n", 1).empty());
}

TEST_CASE("what faulthandler prints is read by frame, and the stack of another thread is not taken for the main one") {
  const auto frames = frames_of_faulthandler(
      "Stack (most recent call first):\n"
      "  File \"/tmp/a \", line 3 in b.py\", line 41 in train <step> in it\n"
      "  File \"/tmp/train.py\", line ??? in main\n"
      "  <no Python frame>\n"
      "  ...\n");
  CHECK(frames ==
        std::vector<Frame>{{"train <step> in it", "/tmp/a \", line 3 in b.py", 41}, {"main", "/tmp/train.py"}});
  CHECK(frames_of_faulthandler("Stack (most recent call first):\n"
                               "  File \"/t.py\", line 4 in run\n"
                               "  File \"/usr/lib/python3.11/threading.py\", line 995 in _bootstrap\n")
            .empty());
  for (const char* other : {"", "\n\n", "Stack (most", "  File \"", "  File \"a\", line", "  File \"a\", line 1"})
    CHECK(frames_of_faulthandler(other).empty());
}

TEST_CASE("a stack written as JSON is read back as it was, and nothing else is read") {
  ProcessStack stack;
  stack.pid = 1219;
  stack.rank = 3;
  stack.way = Way::py_spy;
  stack.threads = *threads_of_py_spy(dumped, 1219);
  stack.threads.front().state = 'R';
  stack.threads.back().call = "futex";
  stack.error = "why";
  const std::string text = tocsin::adapters::formats::dump(to_json(stack));
  CHECK(stack_from_json(text) == stack);
  for (const char* other :
       {"", "{}", "[]", "{\"pid\":1}", "{\"pid\":\"x\",\"way\":\"none\",\"threads\":[]}",
        "{\"pid\":1,\"way\":\"magic\",\"threads\":[]}", "{\"pid\":1,\"way\":\"none\",\"threads\":[3]}"})
    CHECK_FALSE_MESSAGE(stack_from_json(other).has_value(), other);
}

TEST_CASE("the kernel shows our own threads, and what it sleeps in for others") {
  const ProcessStack own = kernel_view(::getpid());
  CHECK(own.way == Way::kernel);
  REQUIRE(own.main_thread() != nullptr);
  CHECK(own.main_thread()->tid == ::getpid());
  CHECK(own.main_thread()->state == 'R');
  CHECK(start_of(::getpid()) > 0);
}

TEST_CASE("a process that has gone has no stack, and the reason stands in it") {
  const ProcessStack gone = kernel_view(1 << 22);
  CHECK(gone.way == Way::none);
  CHECK(gone.error == "the process has ended");
  CHECK(start_of(1 << 22) == 0);
}

TEST_CASE("the kernel's view joins what a tool found, by the number of the thread") {
  ProcessStack stack;
  stack.pid = 10;
  stack.way = Way::py_spy;
  stack.threads = {{11, "worker"}, {10, "MainThread", true}};
  ProcessStack kernel;
  kernel.threads = {{10, "python", true, true, false, 'S', "futex", "futex_do_wait"},
                    {12, "pt_autograd_0", false, false, false, 'R'},
                    {13, "idle", false, true, false, 'S'}};
  add_kernel_view(stack, kernel);
  REQUIRE(stack.threads.size() == 3);
  CHECK(stack.threads[0].call == "futex");
  CHECK(stack.threads[0].name == "MainThread");
  CHECK(stack.threads[2].name == "pt_autograd_0");
}

TEST_CASE("a program is run only from where nobody else can put one") {
  const Scratch scratch;
  scratch.program("good/py-spy", "");
  const ProcessOwner us{::geteuid(), ::getegid()};
  CHECK(trusted(scratch.path() / "good", "py-spy", us));
  CHECK_FALSE(trusted(scratch.path() / "good", "gdb", us));

  scratch.program("file/py-spy", "");
  fs::permissions(scratch.path() / "file/py-spy", fs::perms::all);
  CHECK_FALSE(trusted(scratch.path() / "file", "py-spy", us));

  scratch.program("folder/py-spy", "");
  fs::permissions(scratch.path() / "folder", fs::perms::all);
  CHECK_FALSE(trusted(scratch.path() / "folder", "py-spy", us));

  scratch.program("plain/py-spy", "");
  fs::permissions(scratch.path() / "plain/py-spy", fs::perms::owner_read);
  CHECK_FALSE(trusted(scratch.path() / "plain", "py-spy", us));
}

TEST_CASE("a link is as good as what it leads to, and that has the same name") {
  const Scratch scratch;
  scratch.program("real/py-spy", "");
  fs::create_directories(scratch.path() / "links");
  fs::create_symlink(scratch.path() / "real/py-spy", scratch.path() / "links/py-spy");
  const auto tool = trusted(scratch.path() / "links", "py-spy", {::geteuid(), ::getegid()});
  REQUIRE(tool);
  CHECK(tool->path == scratch.path() / "real/py-spy");
  fs::remove(scratch.path() / "links/py-spy");
  fs::create_symlink("/bin/sh", scratch.path() / "links/py-spy");
  CHECK_FALSE(trusted(scratch.path() / "links", "py-spy", {::geteuid(), ::getegid()}));
}

TEST_CASE("where we are root, a program of the process' owner runs as that user, and one of a third user not at all") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  const Scratch scratch;
  scratch.program("bin/py-spy", "id -u\nid -g\n");
  fs::permissions(scratch.path(), fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  for (const char* name : {"bin", "bin/py-spy"}) CHECK(::chown((scratch.path() / name).c_str(), 1234, 1234) == 0);
  CHECK_FALSE(trusted(scratch.path() / "bin", "py-spy", {4321, 4321}));
  const auto tool = trusted(scratch.path() / "bin", "py-spy", {1234, 1234});
  REQUIRE(tool);
  CHECK(tool->user == uid_t{1234});
  const Answer answer = run_tool(*tool, {}, std::chrono::seconds{60});
  CHECK(answer.status == 0);
  CHECK(answer.out == "1234\n1234\n");
}

TEST_CASE("a tool that does not end is ended, and what it printed is kept") {
  const Scratch scratch;
  scratch.program("py-spy", "echo begun\nexec sleep 1000\n");
  const auto tool = trusted(scratch.path(), "py-spy", {::geteuid(), ::getegid()});
  REQUIRE(tool);
  const Answer answer = run_tool(*tool, {}, std::chrono::seconds{1});
  CHECK(answer.late);
  CHECK(answer.out == "begun\n");
}

TEST_CASE(
    "of a tool that prints without end as much is kept as is allowed, and nothing of our environment reaches it") {
  const Scratch scratch;
  scratch.program("py-spy", "env >&2\nhead -c 100000 /dev/zero\n");
  const auto tool = trusted(scratch.path(), "py-spy", {::geteuid(), ::getegid()});
  REQUIRE(tool);
  ::setenv("TOCSIN_TEST_SECRET", "hidden", 1);
  const Answer answer = run_tool(*tool, {}, std::chrono::seconds{60}, 1000);
  CHECK(answer.status == 0);
  CHECK(answer.out.size() == 1000);
  CHECK(answer.err.find("hidden") == std::string::npos);
}
