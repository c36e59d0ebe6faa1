#include "stream/values/units.h"

#include <map>

namespace tocsin::stream {
namespace {

bool plain(std::string_view unit) { return unit == "none" || unit == "ratio"; }

// "a*b/c" as the power of each factor.
using Powers = std::map<std::string, int, std::less<>>;

void take(Powers& powers, std::string_view unit, int sign) {
  int power = sign;
  for (std::size_t begin = 0; begin <= unit.size();) {
    std::size_t end = unit.find_first_of("*/", begin);
    if (end == std::string_view::npos) end = unit.size();
    const std::string_view factor = unit.substr(begin, end - begin);
    if (factor != "1" && factor != "any" && factor != "none") powers[std::string{factor}] += power;
    if (end < unit.size()) power = unit[end] == '/' ? -sign : sign;
    begin = end + 1;
  }
}

std::string written(const Powers& powers) {
  std::string above, below;
  for (const auto& [factor, power] : powers) {
    for (int i = 0; i < power; ++i) above += above.empty() ? factor : "*" + factor;
    for (int i = 0; i > power; --i) below += "/" + factor;
  }
  if (above.empty() && below.empty()) return "none";
  return (above.empty() ? "1" : above) + below;
}

}  // namespace

bool dimensionless(std::string_view unit) noexcept { return unit == "ratio" || unit == "none" || unit == "count"; }

std::optional<std::string> common_unit(const std::string& a, const std::string& b) {
  if (a == b) return a;
  if (a == "text" || b == "text") return std::nullopt;
  if (a == "any") return b;
  if (b == "any") return a;
  if (dimensionless(a) && dimensionless(b) && (a == "none" || b == "none")) return "none";
  return std::nullopt;
}

std::string unit_product(const std::string& a, const std::string& b) {
  if (a == "any") return b;
  if (b == "any") return a;
  if (a == "ratio" && b == "ratio") return "ratio";
  if (dimensionless(a) && dimensionless(b)) return a == "count" || b == "count" ? "count" : "none";
  if (dimensionless(a)) return b;
  if (dimensionless(b)) return a;
  Powers powers;
  take(powers, a, 1);
  take(powers, b, 1);
  return written(powers);
}

std::string unit_quotient(const std::string& a, const std::string& b) {
  if (b == "any") return a;
  if (a == b) return "none";
  if (plain(b)) return a == "ratio" ? "none" : a;
  Powers powers;
  take(powers, a, 1);
  take(powers, b, -1);
  return written(powers);
}

}  // namespace tocsin::stream
