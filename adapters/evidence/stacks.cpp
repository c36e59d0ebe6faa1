#include "adapters/evidence/stacks.h"

#include <algorithm>
#include <array>

#include "adapters/formats/printable.h"

namespace tocsin::adapters::evidence {

using formats::Json;

namespace {

constexpr std::array<std::string_view, 5> ways{"none", "kernel", "gdb", "faulthandler", "py-spy"};

Json to_json(const ThreadStack& thread) {
  Json out = Json::object();
  if (thread.tid != 0) out["tid"] = thread.tid;
  formats::put(out, "name", thread.name);
  if (thread.main) out["main"] = true;
  if (thread.idle) out["idle"] = true;
  if (thread.interprets) out["interprets"] = true;
  if (thread.state != 0) out["state"] = std::string(1, thread.state);
  formats::put(out, "call", thread.call);
  formats::put(out, "waits", thread.waits);
  Json& frames = out["frames"] = Json::array();
  for (const Frame& frame : thread.frames) {
    Json one{{"function", frame.function}};
    formats::put(one, "file", frame.file);
    if (frame.line != 0) one["line"] = frame.line;
    if (frame.native) one["native"] = true;
    frames.push_back(std::move(one));
  }
  return out;
}

ThreadStack thread_from(const Json& in) {
  ThreadStack thread;
  thread.tid = in.value("tid", 0);
  thread.name = in.value("name", "");
  thread.main = in.value("main", false);
  thread.idle = in.value("idle", false);
  thread.interprets = in.value("interprets", false);
  const std::string state = in.value("state", "");
  thread.state = state.empty() ? '\0' : state.front();
  thread.call = in.value("call", "");
  thread.waits = in.value("waits", "");
  for (const Json& frame : in.at("frames"))
    thread.frames.push_back(
        {frame.value("function", ""), frame.value("file", ""), frame.value("line", 0u), frame.value("native", false)});
  return thread;
}

std::string where(const Frame& frame) {
  const std::string function = formats::printable(frame.function);
  if (frame.file.empty()) return function;
  return function + " (" + formats::printable(frame.file) + (frame.line == 0 ? "" : ":" + std::to_string(frame.line)) +
         ")";
}

}  // namespace

std::string_view name_of(Way way) noexcept { return ways[static_cast<std::size_t>(way)]; }

const ThreadStack* ProcessStack::main_thread() const noexcept {
  const auto at = std::find_if(threads.begin(), threads.end(), [](const ThreadStack& thread) { return thread.main; });
  return at == threads.end() ? nullptr : &*at;
}

Json to_json(const ProcessStack& stack) {
  Json out{{"pid", stack.pid}};
  if (stack.rank) out["rank"] = *stack.rank;
  out["way"] = name_of(stack.way);
  formats::put(out, "error", stack.error);
  Json& threads = out["threads"] = Json::array();
  for (const ThreadStack& thread : stack.threads) threads.push_back(to_json(thread));
  return out;
}

std::optional<ProcessStack> stack_from_json(std::string_view text) {
  const Json in = Json::parse(text, nullptr, false);
  if (!in.is_object()) return std::nullopt;
  try {
    ProcessStack stack;
    stack.pid = in.at("pid");
    if (in.contains("rank")) stack.rank = in.at("rank").get<std::uint32_t>();
    const auto way = std::find(ways.begin(), ways.end(), in.at("way").get<std::string>());
    if (way == ways.end()) return std::nullopt;
    stack.way = static_cast<Way>(way - ways.begin());
    stack.error = in.value("error", "");
    for (const Json& thread : in.at("threads")) stack.threads.push_back(thread_from(thread));
    return stack;
  } catch (const Json::exception&) { return std::nullopt; }
}

std::string text_of(const ProcessStack& stack) {
  std::string out = stack.rank ? "rank " + std::to_string(*stack.rank) + ", " : "";
  out += "process " + std::to_string(stack.pid);
  if (stack.way != Way::none) out += ", by " + std::string{name_of(stack.way)};
  out += '\n';
  if (!stack.error.empty()) out += "  " + formats::printable(stack.error) + '\n';
  for (const ThreadStack& thread : stack.threads) {
    out += "  thread";
    if (thread.tid != 0) out += " " + std::to_string(thread.tid);
    if (!thread.name.empty()) out += " " + formats::printable(thread.name);
    if (thread.main) out += ", main";
    if (thread.idle) out += ", idle";
    if (thread.interprets) out += ", holds the interpreter";
    if (thread.state != 0) out += std::string{", state "} + thread.state;
    if (!thread.call.empty()) out += ", in " + thread.call;
    if (!thread.waits.empty()) out += ", waits in " + thread.waits;
    out += '\n';
    for (const Frame& frame : thread.frames) out += "    " + where(frame) + '\n';
  }
  return out;
}

}  // namespace tocsin::adapters::evidence
