#include "adapters/evidence/take.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "adapters/evidence/faulthandler.h"
#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/tools.h"

namespace tocsin::adapters::evidence {

using namespace std::chrono_literals;
using formats::Json;

namespace {

constexpr std::size_t most_threads = 256, most_frames = 128, most_text = 512;
constexpr auto py_spy_limit = 3s, gdb_limit = 15s;

std::string text_in(const Json& in, const char* key) {
  const auto at = in.find(key);
  return at != in.end() && at->is_string() ? at->get<std::string>().substr(0, most_text) : std::string{};
}

// Of a recursion without end both ends are kept.
void shorten(std::vector<Frame>& frames) {
  if (frames.size() > most_frames) frames.erase(frames.begin() + most_frames / 2, frames.end() - most_frames / 2);
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

constexpr const char* not_allowed =
    "no permission to look into the process: run as root, or give CAP_SYS_PTRACE, or, for processes of one user, set "
    "kernel.yama.ptrace_scope to 0";

std::string why(const Answer& answer, const char* tool) {
  if (answer.late) return std::string{tool} + " did not finish in time";
  for (const char* sign : {"Permission denied", "Permission Denied", "Operation not permitted", "os error 1)"})
    if (answer.err.find(sign) != std::string::npos) return not_allowed;
  const std::string_view reason = first_line(answer.err);
  return std::string{tool} + " failed" + (reason.empty() ? "" : ": " + std::string{reason.substr(0, most_text)});
}

bool succeeded(const Answer& answer) {
  return !answer.late && WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 0;
}

// The error is added to the stack; true: it has frames.
bool by_py_spy(ProcessStack& stack) {
  const auto tool = find_tool("py-spy", stack.pid);
  if (!tool) {
    stack.error =
        "py-spy is not installed where it may be run: pip install py-spy in the environment of the job, "
        "or call tocsin.watch in its ranks";
    return false;
  }
  for (int tries = 0; tries < 3; ++tries) {  // the process goes on meanwhile, and changes what is read
    const Answer answer =
        run_tool(*tool, {"dump", "--pid", std::to_string(stack.pid), "--json", "--nonblocking"}, py_spy_limit);
    auto threads = succeeded(answer) ? threads_of_py_spy(answer.out, stack.pid) : std::nullopt;
    const bool complete = threads && !threads->empty() && !threads->front().frames.empty();
    if (complete || (threads && !threads->empty() && tries == 2)) {
      stack.threads = std::move(*threads);
      stack.way = Way::py_spy;
      stack.error.clear();
      return true;
    }
    stack.error = succeeded(answer) ? "py-spy printed no stack" : why(answer, "py-spy");
    if (answer.late) break;
  }
  return false;
}

bool stopped(pid_t pid) {
  const ProcessStack view = kernel_view(pid);
  return std::any_of(view.threads.begin(), view.threads.end(), [](const ThreadStack& one) { return one.state == 'T'; });
}

void by_gdb(ProcessStack& stack) {
  const auto tool = find_tool("gdb", stack.pid);
  if (!tool) return;
  const bool was_stopped = stopped(stack.pid);
  const Answer answer =
      run_tool(*tool,
               {"-nx", "-nh", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-iex",
                "set print frame-arguments none", "-p", std::to_string(stack.pid), "-ex", "thread apply all bt 64"},
               gdb_limit);
  // One that is ended while it attaches leaves its SIGSTOP behind.
  if (!was_stopped && answer.status != 0 && stopped(stack.pid)) ::kill(stack.pid, SIGCONT);
  auto threads = threads_of_gdb(answer.out, stack.pid);
  if (threads.empty()) {
    stack.error += "; " + why(answer, "gdb");
    return;
  }
  stack.threads = std::move(threads);
  stack.way = Way::gdb;
}

// "#1  0x00007f in function () from library" or "… at file:line".
std::optional<Frame> frame_of(std::string_view line) {
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(std::min(line.find(' '), line.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.starts_with("0x")) {
    const std::size_t in = line.find(" in ");
    if (in == std::string_view::npos) return std::nullopt;
    line.remove_prefix(in + 4);
  }
  Frame frame;
  frame.native = true;
  // Arguments are the last parentheses; those of a C++ type belong to the name.
  const std::size_t from = line.rfind(" from "), at = line.rfind(" at ");
  std::string_view function = line, place;
  if (from != std::string_view::npos && (at == std::string_view::npos || from > at))
    function = line.substr(0, from), place = line.substr(from + 6);
  else if (at != std::string_view::npos) function = line.substr(0, at), place = line.substr(at + 4);
  if (function.starts_with("??")) return std::nullopt;
  const std::size_t arguments = function.rfind(" (");
  frame.function = std::string{function.substr(0, arguments).substr(0, most_text)};
  const std::size_t colon = place.rfind(':');
  if (colon != std::string_view::npos)
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), frame.line);
  frame.file = std::string{place.substr(0, frame.line != 0 ? colon : place.size()).substr(0, most_text)};
  return frame;
}

}  // namespace

std::optional<std::vector<ThreadStack>> threads_of_py_spy(std::string_view json, pid_t pid) {
  const Json in = Json::parse(json, nullptr, false);
  if (!in.is_array()) return std::nullopt;
  std::vector<ThreadStack> threads;
  for (const Json& one : in) {
    if (!one.is_object() || threads.size() >= most_threads) return std::nullopt;
    ThreadStack thread;
    thread.name = text_in(one, "thread_name");
    if (const auto at = one.find("os_thread_id"); at != one.end() && at->is_number_integer())
      thread.tid = at->get<pid_t>();
    thread.main = thread.tid == pid || thread.name == "MainThread";
    if (thread.main) thread.tid = pid;  // which a process in a container knows by another number
    thread.idle = one.contains("active") && one["active"] == false;
    thread.interprets = one.contains("owns_gil") && one["owns_gil"] == true;
    const auto frames = one.find("frames");
    if (frames == one.end() || !frames->is_array()) return std::nullopt;
    for (const Json& frame : *frames) {
      if (!frame.is_object()) return std::nullopt;
      const auto line = frame.find("line");
      thread.frames.push_back({text_in(frame, "name"), text_in(frame, "filename"),
                               line != frame.end() && line->is_number_unsigned() ? line->get<std::uint32_t>() : 0});
    }
    shorten(thread.frames);
    threads.push_back(std::move(thread));
  }
  std::stable_partition(threads.begin(), threads.end(), [](const ThreadStack& thread) { return thread.main; });
  return threads;
}

std::vector<ThreadStack> threads_of_gdb(std::string_view text, pid_t pid) {
  std::vector<ThreadStack> threads;
  while (!text.empty() && threads.size() < most_threads) {
    const std::string_view line = first_line(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("Thread ")) {
      ThreadStack& thread = threads.emplace_back();
      const std::size_t number = line.find("(LWP "), name = line.find('"');
      if (number != std::string_view::npos)
        std::from_chars(line.data() + number + 5, line.data() + line.size(), thread.tid);
      else thread.tid = pid;  // a process of one thread, without libthread_db
      if (name != std::string_view::npos)
        thread.name = std::string{line.substr(name + 1, line.rfind('"') - name - 1).substr(0, most_text)};
      thread.main = thread.tid == pid;
    } else if (auto frame = frame_of(line); frame && !threads.empty()) {
      threads.back().frames.push_back(std::move(*frame));
    }
  }
  std::erase_if(threads, [](const ThreadStack& thread) { return thread.frames.empty(); });
  std::stable_partition(threads.begin(), threads.end(), [](const ThreadStack& thread) { return thread.main; });
  return threads;
}

ProcessStack take_stack(pid_t pid, bool also_gdb) {
  ProcessStack kernel = kernel_view(pid);
  if (kernel.way == Way::none || !kernel.error.empty()) return kernel;
  ProcessStack stack;
  stack.pid = pid;
  if (!by_py_spy(stack) && !take_by_faulthandler(stack) && also_gdb) by_gdb(stack);
  if (stack.way == Way::none) {
    kernel.error = std::move(stack.error);
    return kernel;
  }
  add_kernel_view(stack, kernel);
  if (stack.way == Way::gdb)
    for (ThreadStack& thread : stack.threads) thread.idle = thread.state != 'R';
  return stack;
}

}  // namespace tocsin::adapters::evidence
