#include "tests/dsl/sample_pack.h"

#include <doctest/doctest.h>

namespace tocsin::dsl::test {

std::string sample_signals() {
  return R"lua(
signals {
  duty       = { kind = "gauge", unit = "ratio", owner = "gpu", aliases = { "gpu_busy", gpu_busy_percent = 0.01 } },
  clock      = { kind = "gauge", unit = "MHz", owner = "gpu" },
  sent       = { kind = "counter", unit = "bytes", owner = "gpu" },
  memory     = { kind = "gauge", unit = "bytes", owner = "node" },
  memory_cap = { kind = "gauge", unit = "bytes", owner = "node", lateness = "20s" },
  step       = { kind = "step", unit = "count", owner = "rank", source = "log" },
  step_time  = { kind = "gauge", unit = "seconds", owner = "rank", source = "log", points = true },
  load_time  = { kind = "gauge", unit = "seconds", owner = "rank", source = "log", points = true },
  loss       = { kind = "gauge", unit = "none", owner = "job", source = "log", points = true },
  phase      = { kind = "state", unit = "text", owner = "job", source = "log", values = { "train", "eval", "save" } },
  ended      = { kind = "state", unit = "text", owner = "job", source = "scheduler", values = { "completed", "timeout" } },
  fault      = { kind = "event", owner = "gpu", source = "kernel", fields = { code = "none", place = "text" } },
  reasons    = { kind = "state", unit = "bits", owner = "gpu" },
  any        = { kind = "liveness", owner = "rank" },
}
coordinates { stage = "rank", model = "gpu" }
)lua";
}

PackFiles pack_of(const std::string& rules, const std::string& file) {
  return {{"signals.lua", sample_signals()}, {file, rules}};
}

std::string rule_text(const std::string& body, const std::string& head, const std::string& per) {
  return "rule \"r\" { family = \"D3\", per = \"" + per + "\", every = \"10s\",\n" + head +
         "\n  needs = { duty = signal \"duty\" { over = \"30s\" }, clock = signal \"clock\" { over = \"30s\" },\n"
         "            fault = signal \"fault\" { over = \"1h\" }, mem = signal \"memory\" { over = \"1m\" } },\n"
         "  params = { share = 0.2, wait = \"30s\" },\n"
         "  evaluate = function(job, p)\n"
         "    local keep = job.clock:mean():above(900) & job.mem:last():above(1e9) & job.fault:count():is(0)\n" +
         body + "\n  end,\n}\n";
}

Loaded load_rules(const std::string& rules) { return load(pack_of(rules)); }

std::string problems_of(const Loaded& loaded, bool warnings) {
  std::string text;
  for (const Problem& problem : loaded.problems)
    if (warnings || !problem.warning) text += describe(problem) + "\n";
  return text;
}

const stream::Rule& rule(const Loaded& loaded, const std::string& name) {
  REQUIRE(loaded.pack);
  for (const stream::Rule& one : loaded.pack->rules)
    if (one.name == name) return one;
  FAIL("no rule " << name);
  std::abort();
}

}  // namespace tocsin::dsl::test
