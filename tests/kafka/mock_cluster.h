#pragma once

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adapters/kafka/address.h"

// A broker within the test, which answers as it is made to. It has the topics of the service, one partition each.
class MockCluster {
 public:
  MockCluster() {
    std::array<char, 256> why{};
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why.data(), why.size());
    REQUIRE(client_ != nullptr);
    cluster_ = rd_kafka_mock_cluster_new(client_, 1);
    REQUIRE(cluster_ != nullptr);
    for (const char* topic : {"telemetry", "placement", "alerts", "verdicts", "state", "packs"})
      REQUIRE(rd_kafka_mock_topic_create(cluster_, (std::string{"tocsin."} + topic).c_str(), 1, 1) ==
              RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  ~MockCluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(client_);
  }
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;

  [[nodiscard]] tocsin::adapters::kafka::Address address(std::map<std::string, std::string> options = {}) const {
    return {rd_kafka_mock_cluster_bootstraps(cluster_), "tocsin", std::move(options)};
  }
  void goes_down() { rd_kafka_mock_broker_set_down(cluster_, 1); }
  void answers_after(int milliseconds) { rd_kafka_mock_broker_set_rtt(cluster_, 1, milliseconds); }
  // The next requests of this kind fail so; NO_ERROR: one does not.
  static constexpr std::int16_t produce = 0, fetch = 1, list_offsets = 2, sync_group = 14, end_transaction = 26,
                                offsets_in_transaction = 28;  // as the protocol numbers them
  void fails(std::int16_t request, const std::vector<rd_kafka_resp_err_t>& with) {
    rd_kafka_mock_push_request_errors_array(cluster_, request, with.size(), with.data());
  }
  // What the brokers say of a topic from now on; NO_ERROR: that it is there.
  void says_of(const char* topic, rd_kafka_resp_err_t error) {
    rd_kafka_mock_topic_set_error(cluster_, (std::string{"tocsin."} + topic).c_str(), error);
  }
  // The next request of this kind is answered so much later.
  void answers_late(std::int16_t request, std::chrono::milliseconds by) {
    REQUIRE(rd_kafka_mock_broker_push_request_error_rtts(cluster_, 1, request, 1, RD_KAFKA_RESP_ERR_NO_ERROR,
                                                         static_cast<int>(by.count())) == RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  // Records of the telemetry.
  void has_telemetry(int records) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    std::array<char, 256> why{};
    rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster_), why.data(), why.size());
    rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
    REQUIRE(producer != nullptr);
    for (int i = 0; i < records; ++i)
      CHECK(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("tocsin.telemetry"), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_VALUE(why.data(), 8), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                              RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
    CHECK(rd_kafka_flush(producer, 10'000) == RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(producer);
  }
  // The group's position in the telemetry; before it has members.
  void commit(const char* group, std::int64_t offset) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    std::array<char, 256> why{};
    rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster_), why.data(), why.size());
    rd_kafka_conf_set(conf, "group.id", group, why.data(), why.size());
    rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why.data(), why.size());
    REQUIRE(consumer != nullptr);
    rd_kafka_topic_partition_list_t* positions = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(positions, "tocsin.telemetry", 0)->offset = offset;
    CHECK(rd_kafka_commit(consumer, positions, 0) == RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(positions);
    rd_kafka_destroy(consumer);
  }

 private:
  rd_kafka_t* client_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};
