// Any bytes as a file of rules beside the shipped signals: loaded, or refused with a message, and always to its end.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "dsl/load/loader.h"

using namespace tocsin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string signals = dsl::read_pack(std::string{TOCSIN_SOURCE_DIR} + "/rules")->at("signals.lua");
  dsl::Budgets budgets;
  budgets.load_instructions = 200'000;
  budgets.bytes = 8u << 20;
  budgets.nodes = 5'000;
  const auto loaded = dsl::load(
      {{"signals.lua", signals}, {"site.lua", std::string{reinterpret_cast<const char*>(data), size}}}, budgets);
  bool refused = false;
  for (const auto& problem : loaded.problems) {
    if (describe(problem).empty()) std::abort();
    refused = refused || !problem.warning;
  }
  if (refused != (loaded.pack == nullptr)) std::abort();  // whole or not at all, and never without a word
  return 0;
}
