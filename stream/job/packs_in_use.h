#pragma once

#include <memory>

#include "stream/job/pack_runtime.h"
#include "stream/job/pack_timeline.h"

namespace tocsin::stream {

// What the changes of a log's timeline stand for in one shard.
class PacksInUse {
 public:
  virtual ~PacksInUse() = default;
  // The runtime of a change's pack; where the pack cannot be had, of the one before it (counted).
  virtual std::shared_ptr<PackRuntime> runtime(const PackChange& change) = 0;
  // The extraction of that pack; null: it extracts nothing. Packs whose patterns and parsers are the same have one.
  virtual std::shared_ptr<Extraction> extraction(const PackChange& change) = 0;
};

}  // namespace tocsin::stream
