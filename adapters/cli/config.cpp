#include "adapters/cli/commands.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "adapters/cli/say.h"
#include "adapters/config/config.h"

namespace tocsin::adapters::cli {
namespace {

int report(const stream::Error& error) {
  say("{}\n", error.message);
  return error.code == stream::Errc::io ? 2 : 1;  // it could not be read · what was checked does not hold
}

int check(const std::string& file) {
  const auto config = config::read_config(file);
  if (!config) return report(config.error());
  for (const auto& warning : config::warnings(*config)) say("warning: {}\n", warning);
  fmt::print("{}: the configuration is in order\n", file);
  return 0;
}

int show(const std::string& file, bool defaults) {
  if (defaults == !file.empty()) {
    say("tocsin: config show takes either a file or --defaults\n");
    return 2;
  }
  if (defaults) {
    fmt::print("{}", config::show_config({}));
    return 0;
  }
  const auto config = config::read_config(file);
  if (!config) return report(config.error());
  fmt::print("{}", config::show_config(*config));
  return 0;
}

}  // namespace

void add_config_command(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("config", "Check or show the configuration of the service");
  command->require_subcommand(1);
  const auto file = std::make_shared<std::string>();
  const auto defaults = std::make_shared<bool>(false);
  const std::string file_text = "A configuration file, such as deploy/tocsin.yml";

  auto* check_command =
      command->add_subcommand("check", "Report every mistake with its place and the likely correction");
  add_needed(*check_command, "FILE", *file, "", file_text);
  check_command->callback([file, &status] { status = check(*file); });

  auto* show_command = command->add_subcommand("show", "Print every option with its meaning and its value");
  add_option(*show_command, "FILE", *file, "", file_text);
  show_command->add_flag("--defaults", *defaults, "The defaults, without a file");
  show_command->callback([file, defaults, &status] { status = show(*file, *defaults); });

  command->add_subcommand("reference", "Print every option with its meaning and its default, as Markdown")
      ->callback([] { fmt::print("{}", config::options_as_markdown()); });
}

}  // namespace tocsin::adapters::cli
