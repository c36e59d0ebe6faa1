#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <utility>

namespace tocsin::bench {

struct DestroyHandle {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
using Handle = std::unique_ptr<rd_kafka_t, DestroyHandle>;

[[noreturn]] inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

// A client with these properties, and no others of its own.
inline Handle client(rd_kafka_type_t type, const char* brokers,
                     std::initializer_list<std::pair<const char*, const char*>> properties,
                     void (*delivered)(rd_kafka_t*, const rd_kafka_message_t*, void*) = nullptr) {
  char why[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof why) != RD_KAFKA_CONF_OK) fail(brokers, why);
  for (const auto& [name, value] : properties)
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) fail(name, why);
  if (delivered != nullptr) rd_kafka_conf_set_dr_msg_cb(conf, delivered);
  Handle made{rd_kafka_new(type, conf, why, sizeof why)};
  if (!made) fail("the client cannot be made", why);
  return made;
}

}  // namespace tocsin::bench
