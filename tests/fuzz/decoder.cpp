// Any bytes as a message: decoded or refused, by a decoder that has read many as by a new one, and what was decoded is
// encoded and decoded again.
#include <cstdlib>
#include <span>

#include "schemas/codec.h"

using namespace tocsin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static schemas::Decoder decoder;
  static schemas::Decoder second;
  const std::span message{reinterpret_cast<const std::byte*>(data), size};
  const auto entry = decoder.decode(message, stream::Position{0}, stream::Position{size}, stream::Time{});
  schemas::Decoder fresh;
  const auto anew = fresh.decode(message, stream::Position{0}, stream::Position{size}, stream::Time{});
  if (static_cast<bool>(entry) != static_cast<bool>(anew)) std::abort();
  if (!entry) return 0;
  if ((*entry)->rejected_blocks != (*anew)->rejected_blocks || schemas::encode(**entry) != schemas::encode(**anew))
    std::abort();
  const auto again = schemas::encode(**entry);
  const auto twice = second.decode(again, stream::Position{0}, stream::Position{again.size()}, stream::Time{});
  if (!twice || (*twice)->rejected_blocks != 0) std::abort();  // what we write, we read
  if (schemas::encode(**twice) != again) std::abort();
  return 0;
}
