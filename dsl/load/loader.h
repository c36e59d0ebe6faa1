#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/load/cases.h"
#include "dsl/lua/budgets.h"
#include "dsl/lua/problems.h"
#include "stream/rules/pack.h"
#include "stream/values/result.h"

namespace tocsin::dsl {

stream::Result<PackFiles> read_pack(const std::filesystem::path& directory);
// Where they stand: all *.lua below the directory, those of directories that links lead to as well, and nothing whose
// name begins with a dot, as an editor's files, or those that Kubernetes swaps.
stream::Result<std::vector<std::filesystem::path>> pack_paths(const std::filesystem::path& directory);
[[nodiscard]] std::string pack_text(const PackFiles& files);  // in the form of a pack record
[[nodiscard]] std::string pack_hash(std::string_view text);   // of that text
stream::Result<PackFiles> pack_files(std::string_view text);
// The same text, cut between its files; what is no text of a pack is one part.
[[nodiscard]] std::vector<std::string_view> pack_parts(std::string_view text);

// The directories that a pack was made of, in the order in which they were given: `directories_file` lists them.
class PackDirectories {
 public:
  explicit PackDirectories(const PackFiles& files);
  [[nodiscard]] std::size_t size() const noexcept { return directories_.size(); }
  // Which of them holds the file; 0 in a pack of one directory.
  [[nodiscard]] std::size_t of(std::string_view path) const noexcept;
  // The file's path within it.
  [[nodiscard]] std::string_view within(std::string_view path) const noexcept;

 private:
  std::vector<std::string> directories_;
};

struct Loaded {
  stream::PackPtr pack;  // null if a problem is not a warning
  std::vector<Problem> problems;
  std::vector<Case> cases;
};
// Compiles, traces and checks. All or nothing.
[[nodiscard]] Loaded load(const PackFiles& files, const Budgets& budgets = {});

}  // namespace tocsin::dsl
