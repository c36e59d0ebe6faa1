// The text names of severities, modes and alert states.
#include <array>

#include "stream/rules/alert.h"
#include "stream/rules/pack.h"

namespace tocsin::stream {

std::string_view name(Severity severity) noexcept {
  constexpr std::array<std::string_view, 4> names{"none", "info", "warning", "critical"};
  return names[static_cast<std::size_t>(severity)];
}
std::string_view name(Mode mode) noexcept {
  constexpr std::array<std::string_view, 3> names{"live", "canary", "shadow"};
  return names[static_cast<std::size_t>(mode)];
}
std::string_view name(AlertState state) noexcept { return state == AlertState::firing ? "firing" : "resolved"; }
std::string_view name(ResolveReason reason) noexcept {
  constexpr std::array<std::string_view, 6> names{"",          "cleared",       "no data",
                                                  "explained", "attempt ended", "rule removed"};
  return names[static_cast<std::size_t>(reason)];
}

std::string with_words(const std::string& family, const std::string& words) {
  return words.empty() ? family : family + ", " + words;
}

}  // namespace tocsin::stream
