#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/text/database_store.h"
#include "stream/values/result.h"

namespace tocsin::dsl::text {

inline constexpr const char* matches_empty_text = "it matches the empty text";  // why one is refused

// All expressions of a pack as one Vectorscan database: finds which of them occur anywhere in a text. RE2 takes the
// captures. Immutable, shared by the extractors of all shards; each shard scans with its own Scratch.
class Scanner {
 public:
  struct Refusal {
    std::size_t expression;
    std::string message;
  };

  // `expressions` in RE2's syntax, macros expanded. The scanner is null if one is refused. A database of the same
  // expressions that is in `store` (if there is one) is taken from it, and a new one kept there.
  static std::unique_ptr<Scanner> compile(std::span<const std::string> expressions, std::vector<Refusal>& refused,
                                          DatabaseStore* store = nullptr);
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  // The working memory of one scan at a time, for the scanner that made it.
  class Scratch {
   public:
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;
    ~Scratch();

   private:
    friend class Scanner;
    struct Handle;
    explicit Scratch(std::unique_ptr<Handle> handle);
    std::unique_ptr<Handle> handle_;
  };
  [[nodiscard]] Scratch make_scratch() const;

  // The indices of the expressions that occur, ascending.
  void scan(std::string_view text, Scratch& scratch, std::vector<std::uint32_t>& found) const;

 private:
  struct Database;
  explicit Scanner(std::shared_ptr<const Database> database);
  std::shared_ptr<const Database> database_;
};

// The expression in Vectorscan's form: groups lose their names; NUM and INT become what certainly occurs where they
// match.
[[nodiscard]] std::string for_scanning(std::string_view expression);
// The expression in RE2's form, for captures: NUM and INT expanded.
[[nodiscard]] std::string for_capturing(std::string_view expression);

}  // namespace tocsin::dsl::text
