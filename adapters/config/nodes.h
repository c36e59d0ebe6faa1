#pragma once

#include <filesystem>

#include "adapters/ingest/mapping.h"
#include "stream/values/result.h"

namespace tocsin::adapters::config {

// The static map of nodes (ingest.nodes): for each its rack and its GPUs. The error is one line for each mistake, with
// its place.
//   node07: {rack: r12, gpus: [{index: 0, pci: "00000000:1B:00.0", uuid: GPU-…}]}
[[nodiscard]] stream::Result<ingest::NodeMap> read_nodes(const std::filesystem::path& file);
[[nodiscard]] stream::Result<ingest::NodeMap> parse_nodes(const std::string& text, const std::string& file_name);

}  // namespace tocsin::adapters::config
