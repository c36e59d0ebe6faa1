#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "stream/extractor.h"
#include "stream/rules/pack.h"

namespace tocsin::stream {

// A pack with the extraction that belongs to it, as a shard runs it.
struct LoadedPack {
  std::shared_ptr<Pack> pack;
  std::shared_ptr<const ExtractorSource> extraction;
};

// Gives the pack that a log's pack record names; nullopt: it cannot be had, and the one in use stays (counted).
class PackSource {
 public:
  virtual ~PackSource() = default;
  virtual std::optional<LoadedPack> pack(std::string_view hash, std::string_view text) = 0;
};

}  // namespace tocsin::stream
