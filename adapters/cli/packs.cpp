#include "adapters/cli/packs.h"

#include <cstdlib>

namespace tocsin::adapters::cli {

stream::Result<stream::LoadedPack> load_pack_from(const std::filesystem::path& directory) {
  auto files = dsl::read_pack(directory);
  if (!files) return files.error();
  packs::PackOutcome outcome = packs::compile(*files);
  if (outcome.pack) return std::move(*outcome.pack);
  return refusal(outcome, directory);
}

stream::Result<stream::LoadedPack> load_pack_from(const std::vector<std::string>& directories) {
  if (directories.size() == 1)
    return load_pack_from(directories[0] == "shipped" ? rules_directory() : std::filesystem::path{directories[0]});
  dsl::PackFiles all;
  for (const std::string& directory : directories) {
    const bool shipped = directory == "shipped";
    auto files = dsl::read_pack(shipped ? rules_directory() : std::filesystem::path{directory});
    if (!files) return files.error();
    for (auto& [name, text] : *files) all[shipped ? name : (std::filesystem::path{directory} / name).string()] = std::move(text);
  }
  packs::PackOutcome outcome = packs::compile(all);
  if (outcome.pack) return std::move(*outcome.pack);
  return refusal(outcome, directories.back());
}

stream::Error refusal(const packs::PackOutcome& outcome, const std::filesystem::path& directory) {
  std::string text = dsl::list(outcome.errors());
  text.pop_back();
  return {stream::Errc::refused, "the rules in " + directory.string() + " do not load:\n" + text};
}

std::string journal_pack_refused(std::string_view hash, const stream::Error& why) {
  const bool lines = why.message.find('\n') != std::string::npos;
  std::string text = "the rules that this journal was recorded with (pack " + std::string{hash.substr(0, 8)} +
                     ") do not load; those before them, at first the shipped ones, judge on. Under wrap: mend them and send it SIGHUP:" +
                     (lines ? "\n" : " ") + why.message;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::filesystem::path rules_directory(const std::filesystem::path& asked) {
  if (!asked.empty()) return asked;
  if (const char* set = std::getenv("TOCSIN_RULES"); set && *set) return set;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error)
    for (const char* beside : {"rules", "../share/tocsin/rules"})
      if (auto path = program.parent_path() / beside; std::filesystem::exists(path, error)) return path;
  return TOCSIN_RULES_DIR;
}

}  // namespace tocsin::adapters::cli
