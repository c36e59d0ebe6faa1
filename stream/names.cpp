// The names of the small enumerations, as people write and read them.
#include <array>

#include "stream/alert.h"
#include "stream/graph.h"
#include "stream/pack.h"
#include "stream/result.h"
#include "stream/signal.h"

namespace tocsin::stream {
namespace {

constexpr std::array<std::string_view, 6> levels{"none", "job", "rack", "node", "gpu", "rank"};
constexpr std::array<std::string_view, 7> kinds{"gauge", "counter", "state", "step", "time", "event", "heard"};
constexpr std::array<std::string_view, 5> groups{"peers", "gpu", "node", "rack", "job"};

template <class E, std::size_t N>
std::optional<E> find(const std::array<std::string_view, N>& names, std::string_view text) noexcept {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

const char* name(Errc code) noexcept {
  constexpr std::array names{"torn", "malformed", "unknown_version", "too_large", "not_found", "io", "refused"};
  return names[static_cast<std::size_t>(code)];
}
std::string_view name(Level level) noexcept { return levels[static_cast<std::size_t>(level)]; }
std::string_view name(SignalKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }
std::string_view name(Group group) noexcept { return groups[static_cast<std::size_t>(group)]; }
std::optional<Level> level_named(std::string_view text) noexcept {
  const auto level = find<Level>(levels, text);
  return level == Level::none ? std::nullopt : level;
}
std::optional<SignalKind> signal_kind_named(std::string_view text) noexcept { return find<SignalKind>(kinds, text); }
std::optional<Group> group_named(std::string_view text) noexcept { return find<Group>(groups, text); }

std::string_view name(Shape shape) noexcept {
  constexpr std::array<std::string_view, 4> names{"window", "finding", "column", "mask"};
  return names[static_cast<std::size_t>(shape)];
}
std::string_view name(Severity severity) noexcept {
  constexpr std::array<std::string_view, 4> names{"none", "info", "warning", "critical"};
  return names[static_cast<std::size_t>(severity)];
}
std::string_view name(Mode mode) noexcept {
  constexpr std::array<std::string_view, 3> names{"live", "canary", "shadow"};
  return names[static_cast<std::size_t>(mode)];
}
std::string_view name(AlertState state) noexcept {
  constexpr std::array<std::string_view, 3> names{"pending", "firing", "resolved"};
  return names[static_cast<std::size_t>(state)];
}
std::string_view name(ResolveReason reason) noexcept {
  constexpr std::array<std::string_view, 7> names{"", "cleared", "no data", "explained", "attempt ended", "rule removed", "unsent"};
  return names[static_cast<std::size_t>(reason)];
}

}  // namespace tocsin::stream
