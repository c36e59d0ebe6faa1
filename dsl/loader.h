#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/cases.h"
#include "stream/rules/pack.h"
#include "stream/values/result.h"

namespace tocsin::dsl {

// The files of a pack by their path within it: rules and cases, signals.lua, verdict.lua, patterns/, progress/.
using PackFiles = std::map<std::string, std::string>;
stream::Result<PackFiles> read_pack(const std::filesystem::path& directory);
// Where they stand: all *.lua below the directory, those of directories that links lead to as well, and nothing whose
// name begins with a dot, as an editor's files, or those that Kubernetes swaps.
stream::Result<std::vector<std::filesystem::path>> pack_paths(const std::filesystem::path& directory);
[[nodiscard]] std::string pack_text(const PackFiles& files);  // in the form of a pack record
[[nodiscard]] std::string pack_hash(std::string_view text);   // of that text
stream::Result<PackFiles> pack_files(std::string_view text);
// The same text, cut between its files; what is no text of a pack is one part.
[[nodiscard]] std::vector<std::string_view> pack_parts(std::string_view text);

// A problem of a pack: what, where, and what to write instead.
struct Problem {
  std::string file;
  int line = 0;
  std::string text;      // the offending line of the source
  std::string rule;      // that it is about, or "case 'name'"; empty: none
  std::string message;   // with the remedy
  bool warning = false;  // does not keep the pack from loading
  // A rule whose alert would not say what it must. Who judges with a pack refuses it (packs::compile).
  bool incomplete = false;
};
[[nodiscard]] std::string describe(const Problem& problem);  // "ranks.lua:14: …" and the line below it

// All of them for a person: a problem of many places once, in full at the first, with the next few by file and line; at
// most 20 messages, and a last line that counts the rest. Each line ends with '\n'.
[[nodiscard]] std::string list(const std::vector<Problem>& problems);

struct Budgets {
  std::uint64_t load_instructions = 50'000'000;
  std::uint64_t instructions = 1'000'000;  // a scripted evaluation
  std::uint64_t elements = 50'000'000;
  std::uint64_t bytes = 64u << 20;  // of Lua memory
  std::uint64_t nodes = 100'000;    // of the graph
  bool all_scripted = false;        // compiled rules also run as scripts: the same outcomes, for tests and benchmarks
};

struct Loaded {
  stream::PackPtr pack;  // null if a problem is not a warning
  std::vector<Problem> problems;
  std::vector<Case> cases;
};
// Compiles, traces and checks. All or nothing.
[[nodiscard]] Loaded load(const PackFiles& files, const Budgets& budgets = {});

}  // namespace tocsin::dsl
