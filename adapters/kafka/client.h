#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"

// How the clients of this folder are made, and how their failures are reported. Included by the sources of this folder
// alone.
namespace tocsin::adapters::kafka {

// Ends the client and its threads, and forgets why it could not connect.
void destroy_client(rd_kafka_t* client) noexcept;

template <auto destroy>
struct Destroy {
  void operator()(auto* handle) const noexcept { destroy(handle); }
};
template <class T, auto destroy>
using Owned = std::unique_ptr<T, Destroy<destroy>>;

using Client = Owned<rd_kafka_t, &destroy_client>;
using Configuration = Owned<rd_kafka_conf_t, &rd_kafka_conf_destroy>;
using TopicHandle = Owned<rd_kafka_topic_t, &rd_kafka_topic_destroy>;
using Queue = Owned<rd_kafka_queue_t, &rd_kafka_queue_destroy>;
using MessageHandle = Owned<rd_kafka_message_t, &rd_kafka_message_destroy>;
using Metadata = std::unique_ptr<const rd_kafka_metadata_t, Destroy<&rd_kafka_metadata_destroy>>;
using Partitions = Owned<rd_kafka_topic_partition_list_t, &rd_kafka_topic_partition_list_destroy>;
using Failure = Owned<rd_kafka_error_t, &rd_kafka_error_destroy>;
using Event = Owned<rd_kafka_event_t, &rd_kafka_event_destroy>;

using Settings = std::vector<std::pair<std::string, std::string>>;

// A client of the cluster; `settings` stand behind the address' own options. An error names the option that cannot be
// used.
stream::Result<Client> make_client(const Address& address, rd_kafka_type_t type, const Settings& settings,
                                   const std::function<void(rd_kafka_conf_t&)>& configure = {});

[[nodiscard]] stream::Error error_of(const std::string& what, rd_kafka_resp_err_t code);
[[nodiscard]] stream::Error error_of(const std::string& what, const rd_kafka_error_t& error);

// How many partitions a topic has; an error where no broker answers in time or there is no such topic.
stream::Result<int> partitions_of(rd_kafka_t& client, const Address& address, const std::string& topic,
                                  std::chrono::milliseconds wait);

// What the brokers know of all topics. The error says why none answers; where waiting cannot mend that (credentials,
// certificates), it comes early.
stream::Result<Metadata> metadata_of(rd_kafka_t& client, const Address& address, std::chrono::milliseconds wait);

[[nodiscard]] bool lacks_permission(rd_kafka_resp_err_t code);

struct FoundOffset {
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::int64_t offset = 0;  // -1: no record is so young
};
// An offset of a partition. `which`: RD_KAFKA_OFFSET_BEGINNING, RD_KAFKA_OFFSET_END (behind the last record), or a time
// in milliseconds, of the first record from then on. rd_kafka_query_watermark_offsets() of librdkafka 2.0 keeps no
// time-out where the brokers are gone.
FoundOffset find_offset(rd_kafka_t& client, const std::string& topic, int partition, std::int64_t which,
                        std::chrono::milliseconds wait);

// Queues a copy of a record; null, or why not. `value` without data is a tombstone.
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

// For how long this process waits for brokers: each call as long as it likes; once the process is asked to end, none
// beyond one moment, the same for all. Any thread may call these.
void wait_until_at_most(std::chrono::steady_clock::time_point end) noexcept;
[[nodiscard]] bool waiting_is_over() noexcept;
// What is left of so long a wait; a millisecond at least.
[[nodiscard]] std::chrono::milliseconds at_most(std::chrono::milliseconds wish) noexcept;

}  // namespace tocsin::adapters::kafka
