#include "adapters/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "adapters/cli/say.h"
#include "adapters/formats/printable.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::cli {
namespace {

// The command that was named, or the whole.
const CLI::App& asked(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : *named.front();
}

std::string full_name(const CLI::App& app, const CLI::App& command) {
  return &command == &app ? app.get_name() : app.get_name() + " " + command.get_name();
}

bool is_directory(const std::string& name) { return CLI::ExistingDirectory(name).empty(); }

// The first word that belongs to nothing: as a command, an option, or one argument too many.
std::string stranger(const CLI::App& app, const CLI::App& command) {
  auto words = app.remaining(true);
  words.erase(std::remove(words.begin(), words.end(), "--"), words.end());
  if (words.empty()) return "";
  // What stands before the first option is parsed last, and listed last.
  const auto option =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-"); });
  std::vector<std::string> known;
  if (option != words.end()) {
    for (const CLI::Option* one : command.get_options())
      for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
    return fmt::format("there is no option {}{}", *option,
                       stream::nearest(option->substr(0, option->find('=')), known));
  }
  if (&command != &app) {
    const auto* rules = command.get_option_no_throw("--rules");
    const bool more_rules = rules != nullptr && rules->count() > 0 && is_directory(words.front());
    return fmt::format("'{}' is one argument too many{}", words.front(),
                       more_rules ? ": write --rules before each directory, --rules " + words.front() : "");
  }
  for (const CLI::App* one : app.get_subcommands({})) known.push_back(one->get_name());
  return fmt::format("there is no command '{}'{}", words.front(), stream::nearest(words.front(), known));
}

}  // namespace

CLI::Option* add_rules_option(CLI::App& command, std::vector<std::string>& place, const std::string& meaning,
                              const std::string& name) {
  const CLI::Validator exists{
      [](std::string& directory) { return directory == "shipped" ? "" : CLI::ExistingDirectory(directory); }, ""};
  return add_option(command, name, place, "DIR", meaning)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(exists);
}

void trim_help(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->set_help_all_flag();
    command->footer("");
  }
}

int answer(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = asked(app);
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    if (std::string found = stranger(app, command); !found.empty()) what = std::move(found);
  const std::string name = full_name(app, command);
  what = formats::printable(what);
  say("{}: {}\nRun `{} --help` to see what it takes\n", name, what, name);
  return bad_usage;
}

}  // namespace tocsin::adapters::cli
