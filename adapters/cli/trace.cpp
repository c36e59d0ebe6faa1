#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/job_ranks.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/evidence/proc_file.h"
#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"
#include "adapters/trace/tracer.h"
#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/process_tree.h"
#include "stream/values/units.h"

namespace tocsin::adapters::cli {
namespace {

using namespace std::chrono_literals;
using formats::printable;
using trace::GroupTrace;
using trace::ProcessTrace;

struct TraceOptions {
  std::vector<pid_t> pids;
  std::string job;
  int tables = 0;
  bool json = false;
};

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", error})
    if (const int pid = std::atoi(entry.path().filename().c_str()); pid > 0) pids.push_back(pid);
  return pids;
}

// What is meant now: the processes that were named and all below them.
std::vector<pid_t> processes_of(const TraceOptions& options) {
  std::set<pid_t> found;
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes()) {
    char text[4096];
    if (const auto stat = wrap::read_stat(pid, text)) children.emplace(stat->parent, pid);
  }
  std::vector<pid_t> open = options.pids;
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (::access(wrap::path_of(pid, "stat").c_str(), F_OK) != 0 || !found.insert(pid).second) continue;
    for (auto [child, end] = children.equal_range(pid); child != end; ++child) open.push_back(child->second);
  }
  return {found.begin(), found.end()};
}

std::string duration_text(stream::Duration duration) {
  return stream::quantity_text(stream::seconds(duration), "seconds");
}

std::string text_of(const GroupTrace& group) {
  std::vector<std::string> functions;
  for (const auto& [function, count] : group.functions) functions.push_back(fmt::format("{} {}", function, count));
  if (functions.empty()) functions.emplace_back("nothing yet");
  const std::string name = group.name.empty() ? "" : " " + printable(group.name);
  return fmt::format("    {}{}{}{}: {}{}\n", group.library == GroupTrace::Library::nccl ? "communicator" : "group",
                     name, group.size == 0 ? "" : fmt::format(", rank {} of {}", group.rank, group.size),
                     group.complete ? "" : ", older than this trace", fmt::join(functions, ", "),
                     group.last.empty() ? "" : "; last " + group.last);
}

std::string text_of(const ProcessTrace& process) {
  const auto& all = process.collectives;
  const auto identity = wrap::identity_in(evidence::environment_of(all.pid), "");
  std::string out =
      fmt::format("process {}{}: {} collectives entered", all.pid,
                  identity && identity->kind != wrap::Identity::unnamed ? fmt::format(", rank {}", identity->rank) : "",
                  all.launched);
  if (all.done) out += fmt::format(", {} completed", *all.done);
  if (all.oldest)
    out +=
        fmt::format("; in {} {} for {}", all.oldest->function, all.oldest->sequence, duration_text(all.oldest->open));
  const trace::GpuTrace& gpu = process.gpu;
  if (gpu.attached)
    out += fmt::format("; GPU: {} kernels, {} graphs, {} copies ({} to it, {} from it)", gpu.kernel_launches,
                       gpu.graph_launches, gpu.copies,
                       stream::quantity_text(static_cast<double>(gpu.bytes_to_device), "bytes"),
                       stream::quantity_text(static_cast<double>(gpu.bytes_to_host), "bytes"));
  if (gpu.waiting) out += fmt::format("; in {} for {}", gpu.waiting->function, duration_text(gpu.waiting->open));
  out += '\n';
  for (const GroupTrace& group : process.groups) out += text_of(group);
  return out;
}

formats::Json to_json(const ProcessTrace& process) {
  const auto& all = process.collectives;
  formats::Json groups = formats::Json::array();
  for (const GroupTrace& group : process.groups) {
    formats::Json functions = formats::Json::object();
    for (const auto& [function, count] : group.functions) functions[function] = count;
    formats::Json one{{"library", group.library == GroupTrace::Library::nccl ? "nccl" : "c10d"},
                      {"name", group.name},
                      {"rank", group.rank},
                      {"size", group.size},
                      {"complete", group.complete},
                      {"launched", group.launched},
                      {"functions", std::move(functions)}};
    if (group.done) one["done"] = *group.done;
    if (!group.last.empty()) one["last"] = group.last;
    groups.push_back(std::move(one));
  }
  const trace::GpuTrace& gpu = process.gpu;
  formats::Json out{{"pid", all.pid},
                    {"launched", all.launched},
                    {"complete", process.complete},
                    {"groups", std::move(groups)},
                    {"gpu",
                     {{"attached", gpu.attached},
                      {"kernel_launches", gpu.kernel_launches},
                      {"graph_launches", gpu.graph_launches},
                      {"copies", gpu.copies},
                      {"allocations", gpu.allocations},
                      {"bytes_to_device", gpu.bytes_to_device},
                      {"bytes_to_host", gpu.bytes_to_host},
                      {"waits", gpu.waits},
                      {"waited", stream::seconds(gpu.waited)}}}};
  if (all.done) out["done"] = *all.done;
  if (all.oldest)
    out["open"] = {{"function", all.oldest->function},
                   {"sequence", all.oldest->sequence},
                   {"group", all.oldest->group},
                   {"seconds", stream::seconds(all.oldest->open)}};
  if (gpu.waiting)
    out["waiting"] = {{"function", gpu.waiting->function}, {"seconds", stream::seconds(gpu.waiting->open)}};
  if (!process.stopped.empty()) out["stopped"] = process.stopped;
  return out;
}

void print(const std::vector<ProcessTrace>& processes, std::size_t looked_at, bool json) {
  if (json) {
    formats::Json all = formats::Json::array();
    for (const ProcessTrace& process : processes) all.push_back(to_json(process));
    fmt::print("{}\n", formats::dump(all));
  } else {
    for (const ProcessTrace& process : processes) fmt::print("{}", text_of(process));
    if (processes.empty())
      fmt::print(
          "{} process{}: no call of c10d, NCCL or CUDA since this trace began; where processes that "
          "call nothing stand is shown by `tocsin stacks`\n",
          looked_at, looked_at == 1 ? "" : "es");
    fmt::print("\n");
  }
  std::fflush(stdout);
}

int run_trace(TraceOptions options) {
  if (!options.job.empty()) {
    const auto ranks = ranks_of_job(options.job);
    if (!ranks) return cannot("trace", ranks.error().message);
    for (const auto& rank : *ranks) options.pids.push_back(rank.pid);
  }
  if (options.pids.empty()) {
    say("tocsin trace: --pid PID or --job NAME is required\nRun `tocsin trace --help` to see what it takes\n");
    return bad_usage;
  }
  auto pids = processes_of(options);
  if (pids.empty()) return cannot("trace", "none of these processes is here");
  auto tracer = trace::Tracer::start();
  if (!tracer) return cannot("trace", tracer.error().message);
  for (int table = 0; !pids.empty() && (options.tables == 0 || table < options.tables); ++table) {
    (*tracer)->look(pids);
    std::this_thread::sleep_for(1s);
    const auto traces = (*tracer)->read();
    for (const std::string& note : (*tracer)->take_notes()) say("tocsin trace: {}\n", printable(note));
    print(traces, pids.size(), options.json);
    pids = processes_of(options);
  }
  return 0;
}

}  // namespace

void add_trace_command(CLI::App& app, int& status) {
  auto options = std::make_shared<TraceOptions>();
  auto* command = app.add_subcommand(
      "trace", "Show each second what running processes call in c10d, NCCL and CUDA, counted from now on; needs root");
  add_option(*command, "--pid", options->pids, "PID", "A process, and all that it has started; once for each")
      ->check(CLI::Range(1, 1 << 22))
      ->allow_extra_args(false);
  add_option(*command, "--job", options->job, "NAME", job_ranks_text);
  add_option(*command, "--tables", options->tables, "N", "End after N seconds (default: when the processes have ended)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_flag("--json", options->json, "Print a JSON array each second, an object a process");
  command->callback([options, &status] { status = run_trace(*options); });
}

}  // namespace tocsin::adapters::cli
