#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "adapters/kafka/handles.h"

namespace tocsin::adapters::kafka {

// Queues a copy of a record; null, or why not. `value` without data is a tombstone. Included by the sources of this
// folder alone.
inline rd_kafka_error_t* produce(rd_kafka_t& client, const std::string& topic, int partition, std::string_view key,
                                 std::span<const std::byte> value) {
  rd_kafka_vu_t record[5]{};
  record[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  record[0].u.cstr = topic.c_str();
  record[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  record[1].u.i32 = partition;
  record[2].vtype = RD_KAFKA_VTYPE_VALUE;
  record[2].u.mem.ptr = const_cast<std::byte*>(value.data());
  record[2].u.mem.size = value.size();
  record[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  record[3].u.i = RD_KAFKA_MSG_F_COPY;
  record[4].vtype = RD_KAFKA_VTYPE_KEY;
  record[4].u.mem.ptr = const_cast<char*>(key.data());
  record[4].u.mem.size = key.size();
  return rd_kafka_produceva(&client, record, key.empty() ? 4 : 5);
}

}  // namespace tocsin::adapters::kafka
