// Any bytes as the body of a push of our own clients: the first says how it is compressed. Messages that are taken come
// out as they came in.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "adapters/formats/telemetry.h"

using namespace tocsin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body{reinterpret_cast<const char*>(data) + 1, size - 1};
  const bool compressed = *data == 'z';
  const auto pushed = adapters::formats::TelemetryReader{}.read(body, compressed ? "zstd" : "");
  if (!pushed || compressed) return 0;
  std::string again;
  for (const auto& entry : pushed->entries) {
    const auto length = static_cast<std::uint32_t>(entry.message.size());
    again.append(reinterpret_cast<const char*>(&length), sizeof length);
    again.append(reinterpret_cast<const char*>(entry.message.data()), entry.message.size());
  }
  if (again != body) std::abort();
  return 0;
}
