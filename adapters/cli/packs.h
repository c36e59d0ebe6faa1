#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/loader.h"
#include "stream/job/shard.h"

namespace tocsin::adapters::cli {

// A pack ready to run, or what keeps it from loading.
struct PackOutcome {
  std::optional<stream::LoadedPack> pack;
  std::vector<dsl::Problem> problems;  // of rules, patterns and parsers; warnings too
  std::vector<dsl::Case> cases;

  [[nodiscard]] std::vector<dsl::Problem> errors() const;  // the problems that are no warnings
  // What keeps the pack of this directory from loading, as said to whoever runs it.
  [[nodiscard]] stream::Error refusal(const std::filesystem::path& directory) const;
};
[[nodiscard]] PackOutcome load_pack(const dsl::PackFiles& files, const dsl::Budgets& budgets = {});
[[nodiscard]] stream::Result<stream::LoadedPack> load_pack_from(const std::filesystem::path& directory);

// Where the shipped rules are: --rules, $TOCSIN_RULES, beside the program, or where it was built.
[[nodiscard]] std::filesystem::path rules_directory(const std::filesystem::path& asked = {});

// The packs that a log carries, each compiled once. Owned by whoever reads the log.
class Packs final : public stream::PackSource {
 public:
  // `complain` hears at once, and once a pack, of what cannot be had or does not load.
  explicit Packs(std::function<void(const std::string&)> complain) : complain_(std::move(complain)) {}
  std::optional<stream::LoadedPack> pack(std::string_view hash, std::string_view text) override;
  void remember(const stream::LoadedPack& pack) { known_[pack.pack->hash] = pack; }

 private:
  std::map<std::string, stream::LoadedPack, std::less<>> known_;
  std::set<std::string, std::less<>> refused_;  // by hash
  std::function<void(const std::string&)> complain_;

  [[nodiscard]] std::optional<stream::LoadedPack> refuse(std::string_view hash, const std::string& why);
};

}  // namespace tocsin::adapters::cli
