#include "adapters/kafka/appender.h"

#include <mutex>

#include "adapters/kafka/client.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;

struct Appender::State {
  Address address;
  std::mutex mutex;  // of refused
  std::string refused;
  Client client;  // last: its threads report to the members above

  static void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR || message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE) return;
    State& state = *static_cast<State*>(opaque);
    const std::lock_guard lock{state.mutex};
    state.refused =
        error_of(std::string{"a record could not be appended to "} + rd_kafka_topic_name(message->rkt), message->err)
            .message;
  }
};

Appender::Appender(std::unique_ptr<State> state) : state_(std::move(state)) {}
Appender::~Appender() {
  if (!state_ || !state_->client) return;
  rd_kafka_flush(state_->client.get(), static_cast<int>(at_most(std::chrono::seconds{1}).count()));
  rd_kafka_purge(state_->client.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

Result<std::unique_ptr<Appender>> Appender::open(const Address& address) {
  auto state = std::make_unique<State>();
  state->address = address;
  auto client = make_client(address, RD_KAFKA_PRODUCER,
                            {{"enable.idempotence", "true"},
                             {"message.timeout.ms", "0"},  // what waits is dropped by nobody
                             {"message.max.bytes", "8000000"},
                             {"linger.ms", "2"},
                             {"retry.backoff.ms", "50"},
                             {"compression.codec", "lz4"}},
                            [&](rd_kafka_conf_t& conf) {
                              rd_kafka_conf_set_opaque(&conf, state.get());
                              rd_kafka_conf_set_dr_msg_cb(&conf, State::delivered);
                            });
  if (!client) return client.error();
  state->client = std::move(*client);
  return std::unique_ptr<Appender>{new Appender{std::move(state)}};
}

Result<void> Appender::append(std::string_view topic, int partition, std::string_view key,
                              std::span<const std::byte> value) {
  State& s = *state_;
  const std::string name = s.address.topic(topic);
  for (int tries = 0;; ++tries) {
    const Failure failure{produce(*s.client, name, partition, key, value)};
    if (!failure) break;
    const auto code = rd_kafka_error_code(failure.get());
    rd_kafka_poll(s.client.get(), 100);
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || tries > 50 || waiting_is_over())
      return error_of("a record cannot be appended to " + name, *failure);
  }
  rd_kafka_poll(s.client.get(), 0);
  return {};
}

Result<bool> Appender::flush(std::chrono::milliseconds wait) {
  State& s = *state_;
  const auto code = rd_kafka_flush(s.client.get(), static_cast<int>(at_most(wait).count()));
  const std::lock_guard lock{s.mutex};
  if (!s.refused.empty()) return Error{Errc::io, std::exchange(s.refused, {})};
  return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

// A record counts until the report of its delivery is served, and that only happens here and where one is appended.
std::size_t Appender::waiting() const noexcept {
  rd_kafka_poll(state_->client.get(), 0);
  return static_cast<std::size_t>(rd_kafka_outq_len(state_->client.get()));
}

Result<int> Appender::partitions(std::string_view topic, std::chrono::milliseconds wait) const {
  return partitions_of(*state_->client, state_->address, state_->address.topic(topic), wait);
}

}  // namespace tocsin::adapters::kafka
