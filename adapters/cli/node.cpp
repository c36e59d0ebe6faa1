#include "adapters/node/node.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "adapters/cli/commands.h"
#include "adapters/cli/forward.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::cli {
namespace {

struct NodeArguments {
  node::NodeOptions options;
  SendTo to;
  std::vector<std::string> jobs, users;
  std::uint64_t most_mib = options.state_bytes >> 20;
  bool list = false;
};

bool is_named(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

std::filesystem::path default_state() {
  // What systemd makes for a unit with StateDirectory=.
  if (const char* given = std::getenv("STATE_DIRECTORY"); given != nullptr && *given == '/') return given;
  return wrap::state_directory() / "node";
}

int run_node(NodeArguments arguments) {
  node::NodeOptions& options = arguments.options;
  if (options.node.empty()) options.node = wrap::host();
  options.recorded = [jobs = arguments.jobs, users = arguments.users](const node::NodeJob& job) {
    return is_named(jobs, job.place.job) && is_named(users, node::user_name(job.user));
  };
  const std::string hidden = node::why_hidden();
  if (arguments.list) {
    std::size_t shown = 0;
    node::NodeJobs jobs{options.node};
    const std::vector<node::NodeJob> found = jobs.look();
    for (const node::RankConflict& conflict : jobs.conflicts())
      if (options.recorded(conflict.job)) say("tocsin: {}\n", node::text_of(conflict));
    for (const node::NodeJob& job : found)
      if (options.recorded(job)) fmt::print("{}\n", node::text_of(job)), ++shown;
    if (shown == 0 && !hidden.empty()) return cannot("node", "cannot look for jobs: " + hidden);
    if (shown == 0)
      fmt::print("no job with ranks is found here{}\n", ::getuid() == 0 ? "" : "; root sees those of all users");
    return shown > 0 ? 0 : 1;
  }
  if (arguments.to.address.empty()) {
    say("tocsin node: --to ADDRESS or --list is required\nRun `tocsin node --help` to see what it takes\n");
    return bad_usage;
  }
  if (options.state.empty()) options.state = default_state();
  options.state_bytes = arguments.most_mib << 20;
  options.attempts = attempts_of_this_run;
  if (!hidden.empty()) say("tocsin: jobs may not be found: {}\n", hidden);
  else if (::getuid() != 0) say("tocsin: not root, so jobs of other users may not be found\n");
  return node::run_node(options,
                        [to = arguments.to](const std::filesystem::path& journal, const wrap::EngineOptions& engine) {
                          std::error_code error;
                          if (!std::filesystem::exists(journal, error))
                            return 0;  // it was among the oldest, and has made room
                          const auto sent = send(journal, to, true, engine.parent);
                          if (!sent) say("tocsin: {}\n", sent.error().message);
                          return sent && sent->left == 0 ? 0 : 1;  // again, later
                        });
}

}  // namespace

void add_node_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<NodeArguments>();
  auto* command = app.add_subcommand(
      "node",
      "Record the jobs of this machine that nobody wrapped, for a service: their processes, collectives, stacks, GPUs");
  add_send_to(*command, arguments->to, false);
  command->add_flag("--list", arguments->list, "Print the jobs that have ranks here, and end");
  const auto add_names = [&](const char* option, std::vector<std::string>& names, const char* text) {
    command->add_option(option, names, text)
        ->option_text("GLOB ...")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_names("--job", arguments->jobs, "Only jobs with such a name (default: all); repeat it for each");
  add_names("--user", arguments->users, "Only jobs of such a user (default: all); repeat it for each");
  add_option(*command, "--node", arguments->options.node, "NAME",
             "This machine's name in records (default: its host name)");
  add_option(*command, "--state", arguments->options.state, "DIR",
             "Where records wait, and bundles are kept (default: $STATE_DIRECTORY, else ~/.local/state/tocsin/node)");
  add_option(*command, "--cap", arguments->most_mib, "MIB",
             "The most disk that ended jobs may take there, in MiB: the oldest go first (default: 1024)")
      ->check(CLI::Range(64, 1 << 20));
  command->callback([arguments, &status] { status = run_node(*arguments); });
}

}  // namespace tocsin::adapters::cli
