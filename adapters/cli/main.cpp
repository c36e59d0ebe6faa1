#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include "adapters/cli/commands.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/cli/version.h"
#include "dsl/load/reference.h"
#include "stream/graph/kernels.h"

namespace {

using namespace tocsin::adapters;

int run(int argc, char** argv) {
  CLI::App app{"Watches GPU training jobs and reports, while they run, what is wrong and which rank is at fault",
               "tocsin"};
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.set_version_flag("--version", cli::version, "Print the version, the commit, and the formats that are written");
  app.footer(
      "A first look: scripts/demo. A job of your own: tocsin wrap -- python train.py. Exit status: 0 done, 1 what was "
      "checked or\n"
      "asked for does not hold, 2 it could not be done; of wrap: the command's own.");
  std::string kernels;
  cli::add_option(app, "--kernels", kernels, "NAME",
                  "Compute with avx2 or baseline instructions (default: the fastest that this machine has)");
  int status = 0;
  cli::add_replay_command(app, status);
  cli::add_check_commands(app, status);
  cli::add_lines_command(app, status);
  cli::add_backtest_command(app, status);
  cli::add_config_command(app, status);
  cli::add_reference_command(app, status);
  app.add_subcommand("stubs", "Print the same words for editors, as the Lua language server reads them")->callback([] {
    fmt::print("{}", tocsin::dsl::editor_stubs());
  });
  cli::add_explain_command(app, status);
  cli::add_status_command(app, status);
  cli::add_ingest_command(app, status);
  cli::add_wrap_command(app, status);
  cli::add_node_command(app, status);
  cli::add_notify_command(app, status);
  cli::add_evidence_commands(app, status);
  cli::add_trace_command(app, status);
  cli::add_dumps_command(app, status);
  cli::add_service_commands(app, status);
  cli::add_pack_commands(app, status);
  cli::add_recording_commands(app, status);
  cli::add_manual_commands(app, status);

  cli::trim_help(app);
  app.parse_complete_callback([&] {
    if (!kernels.empty() && !tocsin::stream::choose_kernels(kernels))
      throw CLI::ValidationError("--kernels", "'" + kernels + "' is not known or does not run here: avx2, baseline");
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return cli::answer(app, error); }
  if (app.get_subcommands().empty()) {
    cli::say("{}", app.help());
    return cli::bad_usage;
  }
  return status;
}

// One that is closed would become that of the next file or pipe: what is printed would go into a journal, and wrap
// would wait for itself.
void open_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
      // The lowest that is free, which is this one.
      if (::open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY) != descriptor) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  try {
    const int status = run(argc, argv);
    if (std::fflush(stdout); status == 0 && std::ferror(stdout)) throw std::runtime_error("cannot write to stdout");
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tocsin: %s\n", error.what());
    return 2;
  }
}
