#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/evidence/groups.h"
#include "adapters/evidence/stack_taker.h"
#include "adapters/formats/printable.h"

namespace tocsin::adapters::cli {
namespace {

using evidence::ProcessStack;

struct StacksOptions {
  std::vector<pid_t> pids;
  bool json = false, without_gdb = false;
};

int show_stacks(const StacksOptions& options) {
  std::vector<evidence::StackTarget> targets;
  for (const pid_t pid : options.pids) targets.push_back({pid});
  evidence::StackTaker taker;
  evidence::StackSettings settings;
  settings.gdb = !options.without_gdb;
  taker.start(targets, settings);
  std::optional<std::vector<ProcessStack>> stacks;
  while (!stacks) {
    pollfd at{taker.descriptor(), POLLIN, 0};
    ::poll(&at, 1, 1000);
    stacks = taker.poll();
  }
  const auto groups = evidence::groups_of(*stacks);
  if (options.json) {
    formats::Json out{{"groups", evidence::text_of(groups)}, {"processes", formats::Json::array()}};
    for (const ProcessStack& stack : *stacks) {
      formats::Json one = evidence::to_json(stack);
      const evidence::Place place = evidence::place_of(stack);
      formats::put(one, "doing", place.doing);
      formats::put(one, "place", place.text);
      out["processes"].push_back(std::move(one));
    }
    fmt::print("{}\n", formats::dump(out));
  } else {
    fmt::print("{}\n", formats::printable(evidence::text_of(groups)));
    for (const ProcessStack& stack : *stacks) fmt::print("\n{}", formats::printable_lines(evidence::text_of(stack)));
  }
  return 0;
}

}  // namespace

void add_evidence_commands(CLI::App& app, int& status) {
  auto options = std::make_shared<StacksOptions>();
  auto* command = app.add_subcommand("stacks", "Take the stacks of running processes now, and group equal ones");
  add_needed(*command, "--pid", options->pids, "PID…", "The processes")->check(CLI::Range(1, 1 << 22));
  command->add_flag("--no-gdb", options->without_gdb,
                    "Do not use gdb where py-spy does not work: it stops the process for seconds");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &status] { status = show_stacks(*options); });
}

}  // namespace tocsin::adapters::cli
