#include <algorithm>
#include <fstream>
#include <sstream>

#include "adapters/evidence/groups.h"
#include "adapters/evidence/place.h"
#include "doctest/doctest.h"

using namespace tocsin::adapters::evidence;

namespace {

const std::string packages = "/opt/env/lib/python3.11/site-packages/", standard = "/usr/lib/python3.11/";

ProcessStack at(std::vector<Frame> frames, const std::string& call = "", char state = 'S') {
  ProcessStack stack;
  stack.pid = 100;
  stack.way = Way::py_spy;
  ThreadStack main;
  main.tid = 100;
  main.main = true;
  main.state = call.empty() && state == 'S' ? 'R' : state;
  main.call = call;
  main.frames = std::move(frames);
  stack.threads.push_back(std::move(main));
  return stack;
}

Frame of(const std::string& function, const std::string& file, std::uint32_t line = 1) {
  return {function, file, line, false};
}

const Frame step = of("train_step", "/job/train.py", 41), outer = of("main", "/job/train.py", 90),
            module = of("<module>", "/job/train.py", 95);

ProcessStack below(std::vector<Frame> inner, const std::string& call = "") {
  for (const Frame& frame : {step, outer, module}) inner.push_back(frame);
  return at(std::move(inner), call);
}

std::string doing(std::vector<Frame> inner, const std::string& call = "") {
  return place_of(below(std::move(inner), call)).doing;
}

}  // namespace

TEST_CASE("a place is described by the program's own functions, with the innermost of a library as a word") {
  const Place reduce =
      place_of(below({of("all_reduce", packages + "torch/distributed/distributed_c10d.py", 2806),
                      of("_exception_logger.<locals>.wrapper", packages + "torch/distributed/c10d_logger.py")}));
  CHECK(reduce.doing == "collective");
  CHECK(reduce.text == "all_reduce < train_step (train.py:41) < main (train.py:90)");
  CHECK(reduce.key == "train_step (train.py) < main (train.py)");
  const Place own = place_of(below({of("Loader.__next__", "/job/my_loader.py", 88)}));
  CHECK(own.doing == "own");
  CHECK(own.text == "Loader.__next__ (my_loader.py:88) < train_step (train.py:41) < main (train.py:90)");
  const Place next =
      place_of(below({of("Condition.wait", standard + "threading.py"), of("Queue.get", standard + "queue.py"),
                      of("_MultiProcessingDataLoaderIter._try_get_data", packages + "torch/utils/data/dataloader.py"),
                      of("_BaseDataLoaderIter.__next__", packages + "torch/utils/data/dataloader.py")}));
  CHECK(next.doing == "loading");
  CHECK(next.text == "try_get_data < train_step (train.py:41) < main (train.py:90)");
}

TEST_CASE("what a process does is read from the frames of libraries within its own") {
  CHECK(doing({of("_engine_run_backward", packages + "torch/autograd/graph.py"),
               of("backward", packages + "torch/autograd/__init__.py")}) == "computing");
  // DDP's own frames lie around every layer: what is in it decides.
  CHECK(doing({of("forward", packages + "torch/nn/modules/linear.py"),
               of("_run_ddp_forward", packages + "torch/nn/parallel/distributed.py")}) == "computing");
  CHECK(doing({of("_sync_buffers", packages + "torch/nn/parallel/distributed.py")}) == "syncing");
  CHECK(doing({of("ZipFile.write", standard + "zipfile.py"), of("_save", packages + "torch/serialization.py"),
               of("save", packages + "torch/serialization.py")}) == "saving");
  CHECK(doing({of("_load", packages + "torch/serialization.py"), of("load", packages + "torch/serialization.py")}) ==
        "reading");
  CHECK(doing({of("barrier", packages + "torch/distributed/distributed_c10d.py"),
               of("save", packages + "torch/distributed/checkpoint/state_dict_saver.py")}) == "collective");
  CHECK(doing({of("forward", packages + "torch/nn/modules/linear.py"),
               of("run_node", packages + "torch/_dynamo/utils.py"),
               of("_compile", packages + "torch/_dynamo/convert_frame.py")}) == "compiling");
  CHECK(doing({of("call", "/tmp/torchinductor_root/ab/cab.py"),
               of("__call__", packages + "torch/_inductor/output_code.py"),
               of("compile_wrapper", packages + "torch/_dynamo/eval_frame.py")}) == "computing");
  CHECK(doing({of("FileBaton.wait", packages + "torch/utils/file_baton.py"),
               of("load", packages + "torch/utils/cpp_extension.py")}) == "lock");
  CHECK(doing({of("Event.wait", standard + "threading.py")}) == "lock");
  CHECK(doing({of("select", standard + "selectors.py"), of("Popen._communicate", standard + "subprocess.py"),
               of("run", standard + "subprocess.py")}) == "child");
  CHECK(doing({of("create_connection", standard + "socket.py"), of("urlopen", standard + "urllib/request.py")}) ==
        "reading");
  // Modules of PyTorch that are imported do nothing yet.
  const Place imports = place_of(below({of("_compile_bytecode", "<frozen importlib._bootstrap_external>"),
                                        of("_find_and_load", "<frozen importlib._bootstrap>"),
                                        of("<module>", packages + "torch/_inductor/scheduler.py")}));
  CHECK(imports.doing == "importing");
  CHECK(imports.text == "import < train_step (train.py:41) < main (train.py:90)");
  CHECK(doing({of("_find_and_load", "<frozen importlib._bootstrap>"),
               of("compile_fx", packages + "torch/_inductor/compile_fx.py")}) == "compiling");
  CHECK(doing({of("deepcopy", standard + "copy.py")}) == "other");
  CHECK(doing({of("resize", packages + "numpy/_core/fromnumeric.py"),
               of("fetch", packages + "torch/utils/data/_utils/fetch.py")}) == "loading");
}

TEST_CASE(
    "a call of compiled code has no frame: the kernel's call tells a sleep, a read, a lock from own code that runs") {
  CHECK(doing({}) == "own");
  CHECK(doing({}, "clock_nanosleep") == "sleeping");
  CHECK(doing({}, "openat") == "reading");
  CHECK(doing({}, "flock") == "lock");
  CHECK(doing({}, "futex") == "waiting");
  CHECK(doing({}, "wait4") == "child");
  CHECK(doing({}, "call 999") == "own");
  ProcessStack holds = below({}, "futex");
  holds.threads.front().interprets = true;  // the interpreter's lock goes with what waits: it runs again
  CHECK(place_of(holds).doing == "own");
  ProcessStack stopped = below({});
  stopped.threads.front().state = 'T';
  CHECK(place_of(stopped).doing == "stopped");
}

TEST_CASE("a process of which any thread runs a server's loop takes requests") {
  ProcessStack stack = below({of("Condition.wait", standard + "threading.py"), of("Queue.get", standard + "queue.py")});
  CHECK_FALSE(takes_requests(stack));
  ThreadStack other;
  other.frames = {of("select", standard + "selectors.py"), of("BaseServer.serve_forever", standard + "socketserver.py"),
                  of("Thread.run", standard + "threading.py")};
  stack.threads.push_back(other);
  CHECK(takes_requests(stack));
  CHECK(takes_requests(below({of("select", standard + "selectors.py"),
                              of("BaseEventLoop.run_forever", standard + "asyncio/base_events.py")})));
  CHECK(takes_requests(below({of("run", packages + "uvicorn/server.py")})));
  CHECK_FALSE(takes_requests(below({of("urlopen", standard + "urllib/request.py")})));
}

TEST_CASE("an endless loop has the same place at each moment, whichever line it is in") {
  const Place one = place_of(below({of("spin", "/job/my_loader.py", 88)})),
              two = place_of(below({of("spin", "/job/my_loader.py", 91)})),
              three = place_of(below({of("next", "/job/my_loader.py", 91)}));
  CHECK(same_place(one, two));
  CHECK_FALSE(same_place(one, three));
  CHECK_FALSE(same_place(Place{}, Place{}));
}

TEST_CASE("a program that is installed as a package has own code, too") {
  const Place place =
      place_of(at({of("all_reduce", packages + "torch/distributed/distributed_c10d.py"),
                   of("Trainer.step", packages + "llm_recipes/trainer.py", 12), of("_run_code", "<frozen runpy>")}));
  CHECK(place.text == "all_reduce < Trainer.step (trainer.py:12)");
  const Place both = place_of(below({of("all_reduce", packages + "torch/distributed/distributed_c10d.py"),
                                     of("Trainer.step", packages + "some_trainer/trainer.py", 12)}));
  CHECK(both.text == "all_reduce < train_step (train.py:41) < main (train.py:90)");
}

TEST_CASE(
    "sources of PyTorch that are no package are PyTorch's, and a folder called python is not the standard library") {
  CHECK(doing({of("all_reduce", "/opt/pytorch/torch/distributed/distributed_c10d.py")}) == "collective");
  CHECK(place_of(below({of("load", "/home/u/lib/python/loader.py", 3)})).doing == "own");
}

TEST_CASE("a long stack of own code is shortened in its middle") {
  std::vector<Frame> frames;
  for (int i = 0; i < 12; ++i) frames.push_back(of("f" + std::to_string(i), "/job/deep.py", 1));
  CHECK(place_of(at(frames)).text ==
        "f0 (deep.py:1) < f1 (deep.py:1) < f2 (deep.py:1) < f3 (deep.py:1) < … < f11 (deep.py:1)");
}

TEST_CASE("where only the kernel was seen, its words are the place, and nothing is claimed about what is done") {
  ProcessStack stack = at({{"futex_do_wait", "", 0, true}}, "futex");
  stack.way = Way::kernel;
  stack.threads.front().waits = "futex_do_wait";
  const Place place = place_of(stack);
  CHECK(place.text == "sleeping in futex (futex_do_wait)");
  CHECK(place.doing.empty());
  stack.threads.front().state = 'Z';
  CHECK(place_of(stack).text == "ended");
  stack.threads.front().state = 'D';
  CHECK(place_of(stack).text == "uninterruptible sleep in futex (futex_do_wait)");
}

TEST_CASE("native frames tell what is done by their names") {
  ProcessStack stack = at({{"__futex_abstimed_wait_common64", "", 0, true},
                           {"gloo::transport::tcp::UnboundBuffer::waitRecv(int*)", "/lib/libtorch_cpu.so", 0, true},
                           {"c10d::ProcessGroupGloo::runLoop(int)", "/lib/libtorch_cpu.so", 0, true}});
  stack.way = Way::gdb;
  CHECK(place_of(stack).doing == "collective");
  CHECK(place_of(stack).text == "gloo::transport::tcp::UnboundBuffer::waitRecv < c10d::ProcessGroupGloo::runLoop");
}

TEST_CASE("a name of a file or function cannot write lines of its own, nor fill the text") {
  const Place place = place_of(at({of("f\nrank 7: fake", "/job/a\x1b[31m\nb.py", 3)}));
  CHECK(place.text.find('\n') == std::string::npos);
  CHECK(place.text.find('\x1b') == std::string::npos);
  CHECK(place_of(at({of(std::string(5000, 'x'), "/job/t.py", 3)})).text.size() < 120);
  const std::string text = text_of(at({of("f\nfake", "/job/a\nb.py", 3)}));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);  // the process, its thread, the frame
}

TEST_CASE("equal stacks are one group, whatever their lines, and the largest group comes first") {
  std::vector<ProcessStack> stacks;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    stacks.push_back(rank == 2 ? below({of("recv", "/job/net.py", 7), of("next", "/job/my_loader.py", 88)})
                               : below({of("all_reduce", packages + "torch/distributed/distributed_c10d.py", rank)}));
    stacks.back().rank = rank;
    stacks.back().pid = static_cast<pid_t>(100 + rank);
  }
  const auto groups = groups_of(stacks);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].ranks == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(text_of(groups) ==
        "3 of 4 ranks: all_reduce < train_step (train.py:41) < main (train.py:90); rank 2: recv (net.py:7) < next "
        "(my_loader.py:88) < train_step (train.py:41) < main (train.py:90)");
}

TEST_CASE("lines that differ within a group are left out, and an error is a group of its own") {
  std::vector<ProcessStack> stacks{below({}), below({}), ProcessStack{}};
  stacks[0].rank = 0, stacks[1].rank = 1, stacks[2].rank = 2;
  stacks[1].threads.front().frames.front().line = 43;
  stacks[2].error = "the process has ended";
  CHECK(text_of(groups_of(stacks)) ==
        "2 of 3 ranks: train_step (train.py) < main (train.py); rank 2: the process has ended");
  CHECK(text_of(groups_of(std::vector<ProcessStack>{})).empty());
}

TEST_CASE("ranks of small groups are listed, and processes without a rank by their numbers") {
  std::vector<ProcessStack> stacks;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    stacks.push_back(at({of(rank < 3 ? "a" : "b", "/job/t.py", 1)}));
    if (rank != 5) stacks.back().rank = rank;
    stacks.back().pid = 105;
  }
  CHECK(text_of(groups_of(stacks)) == "ranks 0-2: a (t.py:1); ranks 3, 4, process 105: b (t.py:1)");
}
