#pragma once

#include <memory>
#include <string_view>

#include "stream/extractor.h"
#include "stream/rules/pack.h"
#include "stream/values/result.h"

namespace tocsin::stream {

// A pack with the extraction that belongs to it, as a shard runs it. Constant: several shards may have the same.
struct LoadedPack {
  PackPtr pack;
  std::shared_ptr<const ExtractorSource> extraction;
};

// Gives the packs that a log's pack records name. Compiling one takes longer than a shard may wait between two records, so a pack is
// announced when its record is read, and asked for when it is due. Shared by several shards.
class PackSource {
 public:
  virtual ~PackSource() = default;
  // A pack record was read: its text may be compiled from now on, elsewhere. Never waits.
  virtual void prepare(std::string_view hash, std::string_view text) = 0;
  // The pack is due: waits until it is compiled. The error says why it cannot be had; the pack in use then stays (counted).
  [[nodiscard]] virtual Result<LoadedPack> pack(std::string_view hash) = 0;
};

}  // namespace tocsin::stream
