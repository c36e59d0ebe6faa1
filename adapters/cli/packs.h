#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "adapters/packs/compile.h"
#include "stream/values/result.h"

namespace tocsin::adapters::cli {

// Where the shipped rules are: $TOCSIN_RULES, beside the program, or where it was built.
[[nodiscard]] std::filesystem::path rules_directory();

// Where tocsin.py is: beside the program as it is installed, or where it was built; empty: nowhere.
[[nodiscard]] std::filesystem::path python_directory();

// The files of several directories as one pack: "shipped", and those of a site, whose files add to it. None: the
// shipped ones.
struct RuleFiles {
  dsl::PackFiles files;
  std::set<std::string> shipped;  // of these, where there are others
  std::string places;             // for messages: the directories
};
[[nodiscard]] stream::Result<RuleFiles> read_rules(const std::vector<std::string>& directories);

// Of several directories one pack.
[[nodiscard]] stream::Result<stream::LoadedPack> load_pack_from(const std::vector<std::string>& directories,
                                                                const dsl::Budgets& budgets = {});
// The same for a reload: its cases must pass, too, as under `tocsin test`. Those of the shipped rules are tried where
// there are no others: a site's rules may fire in them. `stop` ends it between two cases.
[[nodiscard]] stream::Result<stream::LoadedPack> load_tested_pack_from(const std::vector<std::string>& directories,
                                                                       const std::function<bool()>& stop);
// What keeps the pack of these directories from loading, for whoever runs it.
[[nodiscard]] stream::Error refusal(const packs::PackOutcome& outcome, const std::string& directories);
// The same of a pack that a journal names.
[[nodiscard]] std::string journal_pack_refused(std::string_view hash, const stream::Error& why);

}  // namespace tocsin::adapters::cli
