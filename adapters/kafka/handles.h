#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

// Owners of librdkafka's handles. Included by the sources of this folder alone.
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

}  // namespace tocsin::adapters::kafka
