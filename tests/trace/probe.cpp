// trace_probe [BUDGET [alone]]: reads lines of stdin, and answers each with one of JSON. "look PID…" looks at these
// processes, "read" prints what they called, "off" ends the tracer until "on" starts another.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "adapters/trace/tracer.h"

using namespace tocsin::adapters::trace;

namespace {

nlohmann::json json_of(const ProcessTrace& trace) {
  nlohmann::json groups = nlohmann::json::array();
  for (const GroupTrace& group : trace.groups) {
    nlohmann::json one{{"nccl", group.library == GroupTrace::Library::nccl},
                       {"name", group.name},
                       {"rank", group.rank},
                       {"size", group.size},
                       {"complete", group.complete},
                       {"launched", group.launched},
                       {"peer_launched", group.peer_launched},
                       {"last", group.last},
                       {"functions", nlohmann::json::object()}};
    if (group.done) one["done"] = *group.done;
    for (const auto& [function, count] : group.functions) one["functions"][function] = count;
    groups.push_back(std::move(one));
  }
  const ProcessCollectives& all = trace.collectives;
  nlohmann::json one{{"pid", all.pid},
                     {"launched", all.launched},
                     {"complete", trace.complete},
                     {"peer_launched", trace.peer_launched},
                     {"peer_done", trace.peer_done},
                     {"groups", std::move(groups)},
                     {"attached", trace.gpu.attached},
                     {"kernel_launches", trace.gpu.kernel_launches},
                     {"graph_launches", trace.gpu.graph_launches},
                     {"copies", trace.gpu.copies},
                     {"allocations", trace.gpu.allocations},
                     {"bytes", {trace.gpu.bytes_to_device, trace.gpu.bytes_to_host, trace.gpu.bytes_other}},
                     {"waits", trace.gpu.waits},
                     {"waited", tocsin::stream::seconds(trace.gpu.waited)},
                     {"stopped", trace.stopped}};
  if (trace.gpu.waiting)
    one["waiting"] = {{"function", trace.gpu.waiting->function},
                      {"open", tocsin::stream::seconds(trace.gpu.waiting->open)}};
  if (all.done) one["done"] = *all.done;
  if (all.oldest)
    one["oldest"] = {{"function", all.oldest->function},   {"sequence", all.oldest->sequence},
                     {"group", all.oldest->group},         {"size", all.oldest->group_size},
                     {"arguments", all.oldest->arguments}, {"open", tocsin::stream::seconds(all.oldest->open)}};
  return one;
}

}  // namespace

int main(int argc, char** argv) {
  const auto start = [&] { return argc > 1 ? Tracer::start(std::stod(argv[1]), argc > 2) : Tracer::start(); };
  auto tracer = start();
  if (!tracer) {
    std::cout << nlohmann::json{{"error", tracer.error().message}} << std::endl;
    return 1;
  }
  std::cout << nlohmann::json{{"started", true}} << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words{line};
    std::string command;
    words >> command;
    if (command == "look") {
      std::vector<pid_t> pids;
      for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
      (*tracer)->look(pids);
      std::cout << nlohmann::json{{"looked", pids.size()}} << std::endl;
    } else if (command == "off" || command == "on") {
      tracer->reset();
      if (command == "on") tracer = start();
      if (!tracer) break;
      std::cout << nlohmann::json{{"probes", command}} << std::endl;
    } else {
      nlohmann::json answer{{"processes", nlohmann::json::array()}};
      for (const ProcessTrace& trace : (*tracer)->read()) answer["processes"].push_back(json_of(trace));
      answer["notes"] = (*tracer)->take_notes();
      std::cout << answer << std::endl;
    }
  }
}
