#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "adapters/formats/printable.h"

namespace tocsin::adapters::cli {

// Writes to stderr. fmt::print would throw where it is full or closed: nobody reads it then, and the command goes on as
// it would.
template <class... Arguments>
void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  const std::string line = fmt::format(text, std::forward<Arguments>(arguments)...);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// Whole, whichever thread it comes from.
inline void write_line(const std::string& line) { say("tocsin: {}\n", line); }

// Says why a command could not do its work: exit status 2.
[[nodiscard]] inline int cannot(const char* command, const std::string& why) {
  say("tocsin {}: {}\n", command, formats::printable(why));
  return 2;
}

}  // namespace tocsin::adapters::cli
