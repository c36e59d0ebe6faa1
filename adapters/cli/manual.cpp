#include "adapters/cli/commands.h"

#include <fmt/format.h>

#include <vector>

#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/cli/version.h"

namespace tocsin::adapters::cli {
namespace {

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options())
    if (!one->get_group().empty())
      for (const std::string& name : one->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<const CLI::App*> commands(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!one->get_group().empty()) all.push_back(one);
  return all;
}

std::string names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : commands(app)) names.push_back(one->get_name());
  return joined(names);
}

std::string bash(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* one : commands(app))
    cases += fmt::format("    {}) words=\"{}\" ;;\n", one->get_name(), joined(options_of(*one)));
  return fmt::format(
      "# bash: eval \"$(tocsin completions bash)\"\n"
      "_tocsin() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}"
      "    *) words=\"{} {}\" ;;\n"
      "  esac\n"
      "  [ \"$COMP_CWORD\" -eq 1 ] && words=\"{} {}\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _tocsin tocsin\n",
      cases, names_of(app), joined(options_of(app)), names_of(app), joined(options_of(app)));
}

std::string zsh(const CLI::App& app) {
  return "# zsh: eval \"$(tocsin completions zsh)\"\nautoload -U +X bashcompinit && bashcompinit\n" + bash(app);
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\'");
  return "'" + text + "'";
}

std::string fish(const CLI::App& app) {
  std::string out = "# fish: tocsin completions fish | source\n";
  for (const CLI::App* one : commands(app)) {
    out += fmt::format("complete -c tocsin -n __fish_use_subcommand -a {} -d {}\n", one->get_name(),
                       quoted(one->get_description()));
    for (const CLI::Option* option : one->get_options())
      for (const std::string& name : option->get_lnames())
        out += fmt::format("complete -c tocsin -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", one->get_name(),
                           name, quoted(option->get_description()));
  }
  return out;
}

// For roff: no line begins with a dot, and no backslash or hyphen is one of its own.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\n') out += ' ';
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += std::string{"\\&"} + c;
    else out += c;
  }
  return out;
}

std::string described(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    out +=
        ".TP\n.B " + roff(option->get_name(option->get_positional())) + "\n" + roff(option->get_description()) + "\n";
  }
  return out;
}

std::string manual(const CLI::App& app) {
  std::string out = fmt::format(".TH TOCSIN 1 \"\" \"tocsin {}\"\n.SH NAME\ntocsin \\- {}\n", version_number(),
                                roff(app.get_description()));
  out += ".SH SYNOPSIS\n.B tocsin\n.I COMMAND\n[options]\n.SH OPTIONS\n" + described(app) + ".SH COMMANDS\n";
  for (const CLI::App* one : commands(app))
    out += ".SS tocsin " + roff(one->get_name()) + "\n" + roff(one->get_description()) + "\n" + described(*one);
  return out +
         ".SH EXIT STATUS\n0 done, 1 what was checked or asked for does not hold, 2 it could not be done; of wrap: the "
         "command's own.\n";
}

}  // namespace

void add_manual_commands(CLI::App& app, int& status) {
  auto* help = app.add_subcommand("help", "Print the help of a command, or of the whole");
  auto command = std::make_shared<std::string>();
  add_option(*help, "COMMAND", *command, "", "The name of a command");
  help->callback([&app, &status, command] {
    if (command->empty()) return fmt::print("{}", app.help());
    for (const CLI::App* one : commands(app))
      if (one->get_name() == *command) return fmt::print("{}", one->help(app.get_name()));
    say("tocsin help: there is no command '{}'\nRun `tocsin --help` to see them\n", *command);
    status = bad_usage;
  });
  auto* completions = app.add_subcommand("completions", "Print the completions of a shell: bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  add_needed(*completions, "SHELL", *shell, "", "bash, zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completions->callback([&app, shell] {
    fmt::print("{}", *shell == "bash" ? bash(app) : *shell == "zsh" ? zsh(app) : fish(app));
  });
  app.add_subcommand("man", "Print the manual page: tocsin man | man -l -")->callback([&app] {
    fmt::print("{}", manual(app));
  });
}

}  // namespace tocsin::adapters::cli
