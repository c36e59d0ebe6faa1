#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "adapters/kafka/partition_reader.h"
#include "stream/ports.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka {

// The first pack that a log names. It judges what was written before its record, too: producers may have been there before the first
// service was.
struct FirstPack {
  stream::PackText pack;
  std::vector<std::byte> message;
};
// nullopt: what is written names none.
stream::Result<std::optional<FirstPack>> first_pack(TopicReader& topic, int partition);

}  // namespace tocsin::adapters::kafka
