// The text names of the small enumerations.
#include <array>

#include "stream/values/named.h"
#include "stream/values/result.h"
#include "stream/values/signal.h"

namespace tocsin::stream {
namespace {

constexpr std::array<std::string_view, 6> levels{"none", "job", "rack", "node", "gpu", "rank"};
constexpr std::array<std::string_view, 7> kinds{"gauge", "counter", "state", "step", "time", "event", "liveness"};

}  // namespace

const char* name(Errc code) noexcept {
  constexpr std::array names{"torn", "malformed", "unknown_version", "too_large", "not_found", "io", "refused"};
  return names[static_cast<std::size_t>(code)];
}
std::string_view name(Level level) noexcept { return levels[static_cast<std::size_t>(level)]; }
std::string_view name(SignalKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }
std::optional<Level> level_named(std::string_view text) noexcept {
  const auto level = find_named<Level>(levels, text);
  return level == Level::none ? std::nullopt : level;
}

}  // namespace tocsin::stream
