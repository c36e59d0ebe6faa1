// Any text as a configuration: what is accepted is shown as one that is accepted again and shows the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "adapters/config/config.h"

using namespace tocsin::adapters::config;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = parse_config({reinterpret_cast<const char*>(data), size}, "fuzz.yml");
  if (!config) {
    if (config.error().message.find("fuzz.yml:") != 0) std::abort();  // each mistake has its place
    return 0;
  }
  const std::string shown = show_config(*config);
  const auto again = parse_config(shown, "shown.yml");
  if (!again || show_config(*again) != shown) std::abort();
  return 0;
}
