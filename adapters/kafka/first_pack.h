#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "adapters/kafka/partition_reader.h"
#include "stream/ports.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka {

// The first pack that a log names. It judges what was written before its record, too: producers may have been there
// before the first service was.
struct FirstPack {
  stream::PackText pack;
  std::vector<std::byte> message;
};
// nullopt: what is written names none. An error where no record comes for so long.
stream::Result<std::optional<FirstPack>> first_pack(TopicReader& topic, int partition,
                                                    std::chrono::milliseconds patience = std::chrono::seconds{15});

}  // namespace tocsin::adapters::kafka
