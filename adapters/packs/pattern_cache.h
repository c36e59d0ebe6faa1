#pragma once

#include <filesystem>

#include "dsl/text/database_store.h"

namespace tocsin::adapters::packs {

// The directory of compiled patterns: $TOCSIN_CACHE, else $XDG_CACHE_HOME/tocsin, else ~/.cache/tocsin. Empty: none, as
// where $TOCSIN_CACHE is empty or there is no home.
[[nodiscard]] std::filesystem::path cache_directory();

// Compiled patterns as files of a directory that only this user can write. What cannot be read or written is compiled
// anew, without a word: nothing depends on it but the time that a start takes. May be used by any thread and by several
// processes at once.
class PatternCache final : public dsl::text::DatabaseStore {
 public:
  static constexpr std::size_t most_files = 8;  // the oldest go first

  explicit PatternCache(std::filesystem::path directory = cache_directory()) : directory_(std::move(directory)) {}
  [[nodiscard]] std::optional<std::string> find(std::string_view name) override;
  void keep(std::string_view name, std::string_view bytes) override;

 private:
  void forget_oldest() const;
  std::filesystem::path directory_;
};

}  // namespace tocsin::adapters::packs
