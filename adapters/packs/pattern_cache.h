#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "dsl/text/database_store.h"

namespace tocsin::adapters::packs {

// The directory of compiled patterns: $TOCSIN_CACHE, else $XDG_CACHE_HOME/tocsin, else ~/.cache/tocsin. Empty: none, as
// where $TOCSIN_CACHE is empty or there is no home.
[[nodiscard]] std::filesystem::path cache_directory();

// What the build compiled of the rules that come with the program: beside it, or in ../share/tocsin/compiled. Empty:
// neither is there.
[[nodiscard]] std::filesystem::path shipped_directory();

// A hash of this program's content, as the linker left it; empty: it left none.
[[nodiscard]] std::string program_hash();

// Compiled patterns and traced packs as files: of a directory that comes with the program and is only read, and of one
// that only this user can write, and nobody can replace. Each file begins with a checksum of its content and the
// program that wrote it; others are not read: a database is run as it is. What cannot be read or written is compiled
// anew, without a word: nothing depends on it but the time that a start takes. May be used by any thread and by several
// processes at once.
class PatternCache final : public dsl::text::DatabaseStore {
 public:
  static constexpr std::size_t most_files = 16;  // four of each pack; the oldest go first

  explicit PatternCache(std::filesystem::path directory = cache_directory(), std::string program = program_hash(),
                        std::filesystem::path shipped = shipped_directory())
      : directory_(std::move(directory)), program_(std::move(program)), shipped_(std::move(shipped)) {}
  [[nodiscard]] std::optional<std::string> find(std::string_view name) override;
  void keep(std::string_view name, std::string_view bytes) override;

 private:
  std::optional<std::string> read(const std::filesystem::path& from, uid_t user, std::string_view name) const;
  void forget_oldest() const;
  std::filesystem::path directory_;
  std::string program_;
  std::filesystem::path shipped_;
};

}  // namespace tocsin::adapters::packs
