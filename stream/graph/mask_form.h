#pragma once

#include <compare>
#include <cstdint>

#include "stream/values/value.h"

namespace tocsin::stream {

// How a conjunction or disjunction reads one of its masks: first what unknown counts as, then whether the opposite is
// meant. ~, surely and maybe are such forms: they have no nodes of their own.
struct MaskForm {
  enum class Unknown : std::uint8_t { stays, no, yes };
  Unknown unknown = Unknown::stays;
  bool opposite = false;

  [[nodiscard]] static constexpr MaskForm surely() noexcept { return {Unknown::no, false}; }
  [[nodiscard]] static constexpr MaskForm maybe() noexcept { return {Unknown::yes, false}; }
  [[nodiscard]] static constexpr MaskForm negation() noexcept { return {Unknown::stays, true}; }

  [[nodiscard]] constexpr Truth of(Truth truth) const noexcept {
    if (truth == Truth::unknown && unknown != Unknown::stays) truth = stream::truth(unknown == Unknown::yes);
    return opposite ? ~truth : truth;
  }
  // The form that reads a mask as this one reads what `inner` makes of it.
  [[nodiscard]] constexpr MaskForm after(MaskForm inner) const noexcept {
    MaskForm both{inner.unknown, opposite != inner.opposite};
    if (inner.unknown != Unknown::stays) return both;
    both.unknown = unknown;
    if (inner.opposite && unknown != Unknown::stays) both.unknown = unknown == Unknown::no ? Unknown::yes : Unknown::no;
    return both;
  }
  [[nodiscard]] constexpr bool decides() const noexcept { return unknown != Unknown::stays; }  // never unknown
  friend constexpr auto operator<=>(const MaskForm&, const MaskForm&) = default;
};

}  // namespace tocsin::stream
