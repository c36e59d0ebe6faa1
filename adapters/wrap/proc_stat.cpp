#include "adapters/wrap/proc_stat.h"

#include <charconv>

namespace tocsin::adapters::wrap {

std::optional<ProcStat> parse_stat(std::string_view text) noexcept {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open || close + 2 >= text.size())
    return std::nullopt;
  ProcStat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 2);
  int field = 3;  // numbered as in proc(5)
  for (; !rest.empty(); ++field) {
    const std::size_t end = rest.find_first_of(" \n");
    const std::string_view word = rest.substr(0, end);
    std::uint64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    switch (field) {
      case 3: stat.state = word.empty() ? '?' : word.front(); break;
      case 4: stat.parent = static_cast<int>(number); break;
      case 14:
      case 15: stat.cpu_ticks += number; break;
      case 22: stat.start_ticks = number; break;
      case 24: stat.resident_pages = number; break;
      case 50: stat.environment = number; break;
      case 52: stat.exit_status = static_cast<int>(number); break;
      default: break;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (field < 24) return std::nullopt;
  return stat;
}

}  // namespace tocsin::adapters::wrap
