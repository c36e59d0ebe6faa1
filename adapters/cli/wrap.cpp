#include "adapters/wrap/wrap.h"

#include <unistd.h>

#include <filesystem>
#include <memory>

#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/forward.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/cli/wrap_notices.h"
#include "stream/values/record.h"

namespace tocsin::adapters::cli {
namespace {

struct WrapArguments {
  wrap::WrapOptions options;
  std::vector<std::string> rules;
  std::uint64_t most_mib = options.journal_bytes >> 20;
  SendTo to;
  std::uint32_t nodes = 0;
  std::vector<std::string> notify;
  bool verbose = false;
};

stream::Result<wrap::PackRecord> pack_record(const std::vector<std::string>& directories) {
  const auto rules = read_rules(directories);
  if (!rules) return rules.error();
  std::string text = dsl::pack_text(rules->files);
  return wrap::PackRecord{dsl::pack_hash(text), std::move(text)};
}

int run_wrap(const WrapArguments& arguments) {
  const auto& [given, rules, most_mib, to, nodes, notify, verbose] = arguments;
  const auto receivers = wrap_receivers(notify);
  if (!receivers) return cannot("wrap", receivers.error().message);
  wrap::WrapOptions options = given;
  options.journal_bytes = most_mib << 20;
  options.modules = python_directory();
  options.first_pack = [&rules = rules] { return pack_record(rules); };
  options.reload = [&rules = rules]() -> stream::Result<wrap::PackRecord> {
    if (auto loads = load_pack_from(rules); !loads) return loads.error();
    return pack_record(rules);
  };
  wrap::JobEnvironment environment = wrap::job_environment();
  options.labels = std::move(environment.labels);
  if (!to.address.empty()) {
    if (!notify.empty())
      return cannot("wrap",
                    "--notify is for runs that are judged here; with --to write `notify:` into the configuration of "
                    "`tocsin run`");
    if (options.job.empty()) options.job = environment.job;
    const bool named = !options.job.empty();
    if (nodes > 1) environment.part = wrap::JobPart{wrap::this_node(), {}, nodes};
    if (environment.part && !named) {
      return cannot("wrap", nodes > 1 ? "--nodes needs the job's name, the same on each node: --job NAME"
                                      : "the ranks of one job need one name to be judged together: --job NAME");
    }
    // A pid alone is that of many processes: in each container it is 1.
    if (!named)
      options.job = std::filesystem::path{options.command.front()}.filename().string() + '-' + wrap::host() + '-' +
                    std::to_string(::getpid());
    options.part = std::move(environment.part);
    options.attempts = attempts_of_this_run();
    return wrap::wrap(options, forwarding_engine(to));
  }
  if (!receivers->empty()) options.engine_wait += std::chrono::seconds{10};
  return wrap::wrap(options, [&receivers = *receivers, verbose = verbose](const std::filesystem::path& journal,
                                                                          const wrap::EngineOptions& engine) {
    RunOptions run;
    run.journal = journal;
    run.follow = run.resume = run.wrapped = true;
    run.verbose = verbose;
    run.stop_when_readable = engine.parent;
    if (receivers.empty()) return run_engine(run).exit;
    WrapNotices notices{receivers, journal};
    const int exit = run_engine(run, notices.observers()).exit;
    notices.finish();
    return exit;
  });
}

}  // namespace

void add_wrap_command(CLI::App& app, int& status) {
  const CLI::Validator no_dash{
      [](const std::string& value) { return value.starts_with("-") ? "a value is missing before " + value : ""; }, ""};
  const CLI::Validator no_cluster{[](const std::string& name) {
                                    return name == stream::cluster_subject
                                               ? "a job cannot be called cluster: that name is reserved for all nodes"
                                               : "";
                                  },
                                  ""};
  auto arguments = std::make_shared<WrapArguments>();
  auto* command = app.add_subcommand(
      "wrap", "Run a command, record it, and print alerts while it runs: tocsin wrap -- torchrun train.py");
  add_option(*command, "--job", arguments->options.job, "NAME",
             "The job's name in alerts (default: the command's name and a process id)")
      ->check(no_dash)
      ->check(no_cluster);
  add_option(*command, "--journal", arguments->options.journal, "DIR",
             "Where the recording goes: a new or empty directory (default: one in $XDG_STATE_HOME/tocsin, else "
             "~/.local/state/tocsin)")
      ->check(no_dash);
  add_option(
      *command, "--cap", arguments->most_mib, "MIB",
      "The most disk that the recording may take, in MiB, 4 to 1048576: the oldest part goes first (default: 256)")
      ->check(CLI::Range(4, 1 << 20));
  add_send_to(*command, arguments->to, false);
  add_option(*command, "--nodes", arguments->nodes, "N",
             "With --to: the job runs on N nodes, with a wrap on each (srun and mpirun say so themselves)")
      ->check(CLI::Range(1, 100'000))
      ->needs(command->get_option("--to"));
  command
      ->add_option("--notify", arguments->notify,
                   "Tell this receiver of alerts and of the end: mailto:NAME@HOST (by the server in $TOCSIN_SMTP), "
                   "smtps://USER@HOST/?to=NAME@HOST&password_file=FILE, slack:?url_file=FILE, teams:, discord:, "
                   "pagerduty:?key_file=FILE, webhook:https://…, command:PROGRAM; repeat it for each (docs/notify.md)")
      ->option_text("ADDRESS ...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(no_dash);
  command->add_flag("--verbose", arguments->verbose, "Print every cause, doubt and value of an alert");
  add_rules_option(*command, arguments->rules, rules_text);
  add_option(*command, "COMMAND", arguments->options.command, "",
             "The command and its arguments; options of wrap go before --")
      ->required();
  command->positionals_at_end();
  command->callback([arguments, &status] { status = run_wrap(*arguments); });
}

}  // namespace tocsin::adapters::cli
