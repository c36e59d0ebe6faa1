#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tocsin::adapters::kafka {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

// Where the lines go that librdkafka itself writes, of all clients of the process; until it is called, warnings and
// errors go to standard error. `log` is called by librdkafka's threads, one at a time. Lines of one kind come at most
// every 30 s.
void log_to(std::function<void(LogLevel level, const std::string& line)> log);

}  // namespace tocsin::adapters::kafka
