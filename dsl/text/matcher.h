#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/text/straight.h"

namespace tocsin::dsl::text {

// One expression, searched in a text by RE2, or, if it is straight, by a faster search with the same result. Immutable.
class Matcher {
 public:
  static constexpr std::size_t most_groups = Straight::most_groups;
  using Groups = Straight::Groups;

  // `expression` with NUM and INT. Not ok(): RE2 refuses it, and error() has the reason.
  explicit Matcher(const std::string& expression);
  [[nodiscard]] bool ok() const { return re2_->ok(); }
  [[nodiscard]] const std::string& error() const { return re2_->error(); }
  [[nodiscard]] const RE2& re2() const noexcept { return *re2_; }
  [[nodiscard]] bool straight() const noexcept { return straight_.has_value(); }
  [[nodiscard]] std::size_t group_count() const noexcept { return group_count_; }

  // The leftmost match that begins at `from` or later. False: none.
  bool search(std::string_view text, std::size_t from, Groups& groups) const;
  [[nodiscard]] bool occurs(std::string_view text) const;

 private:
  std::unique_ptr<RE2> re2_;
  std::optional<Straight> straight_;
  std::size_t group_count_ = 0;
};

}  // namespace tocsin::dsl::text
