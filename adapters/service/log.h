#pragma once

#include <functional>
#include <string>

#include "adapters/kafka/log.h"

namespace tocsin::adapters::service {

// The log of the service. Any thread may write.
struct Log {
  using Level = kafka::LogLevel;
  std::function<void(Level level, const std::string& line)> write;

  void operator()(const std::string& line) const { write(Level::info, line); }
  void warning(const std::string& line) const { write(Level::warning, line); }
  void error(const std::string& line) const { write(Level::error, line); }
};

}  // namespace tocsin::adapters::service
