// Any bytes as what is stored and sent beside telemetry: snapshots, and the frames of a journal.
#include <span>

#include "adapters/journal/frame.h"
#include "schemas/snapshot.h"

using namespace tocsin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes{reinterpret_cast<const std::byte*>(data), size};
  schemas::SectionAssembler assembler;
  if (assembler.add(bytes)) (void)std::move(assembler).take();
  std::size_t at = 0;
  while (const auto whole = adapters::journal::next_whole(bytes, 0, at))
    at = *whole + adapters::journal::header_bytes + adapters::journal::read_header(bytes.subspan(*whole)).length;
  return 0;
}
