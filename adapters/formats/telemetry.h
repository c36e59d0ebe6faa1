#pragma once

#include <memory>
#include <string_view>

#include "adapters/formats/push.h"

// What tocsin's own clients post to /api/v1/push: messages as the telemetry topic has them.
namespace tocsin::adapters::formats {

inline constexpr std::string_view telemetry_type = "application/vnd.tocsin.telemetry";
inline constexpr std::size_t most_telemetry_bytes = 16u << 20;  // of a request, decompressed
inline constexpr std::size_t largest_telemetry_message = 8'000'000, most_telemetry_messages = 20'000;

// Reads messages, each behind its length (4 bytes, little-endian): all of them or nothing. `encoding`: that of the
// request's content, zstd or none. The error names the first message that is wrong, counting from 1.
class TelemetryReader {
 public:
  TelemetryReader();
  ~TelemetryReader();
  stream::Result<Pushed> read(std::string_view body, std::string_view encoding);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::formats
