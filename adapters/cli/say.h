#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace tocsin::adapters::cli {

// Writes to stderr. fmt::print would throw where it is full or closed: nobody reads it then, and the command goes on as
// it would.
template <class... Arguments>
void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  const std::string line = fmt::format(text, std::forward<Arguments>(arguments)...);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tocsin::adapters::cli
