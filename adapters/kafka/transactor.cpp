#include "adapters/kafka/transactor.h"

#include <future>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/kafka/client.h"
#include "adapters/kafka/topic_settings.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto transaction_time = 10s, patience = 60s, first_patience = 30s;

int call_time() { return static_cast<int>(at_most(10s).count()); }  // ms

// Calls until it succeeds, or fails for another reason than that the broker is not to be had just now. A call may end
// early where the machine's clock is set.
template <class Call>
Failure persist(const Call& call, Clock::duration time = patience) {
  const auto until = Clock::now() + time;
  for (;;) {
    Failure failure{call()};
    if (!failure || !rd_kafka_error_is_retriable(failure.get()) || Clock::now() >= until || waiting_is_over())
      return failure;
  }
}

Error out_of_time() { return {Errc::io, "this instance is stopping, and the brokers did not answer in time"}; }

}  // namespace

struct Transactor::State {
  Address address;
  std::string name;
  bool opened = false;  // once
  std::mutex mutex;
  Client client;
  bool fenced = false;      // the last one, by a newer producer of this name
  bool committing = false;  // the last transaction came so far: it may have been committed, whatever its error
  Clock::time_point asked;  // just before the brokers were, whether the partition is this instance's

  Result<void> connect() {
    client.reset();
    if (waiting_is_over()) return out_of_time();
    auto made =
        make_client(address, RD_KAFKA_PRODUCER,
                    {{"transactional.id", name},
                     {"transaction.timeout.ms", std::to_string(std::chrono::milliseconds{transaction_time}.count())},
                     {"retry.backoff.ms", "5"},
                     {"linger.ms", "0"},
                     {"message.max.bytes", "8000000"},
                     {"compression.codec", "lz4"}});
    if (!made) return made.error();
    const Failure failure =
        persist([&] { return rd_kafka_init_transactions(made->get(), call_time()); }, first_patience);
    if (failure && !opened && lacks_permission(rd_kafka_error_code(failure.get())))
      return Error{Errc::refused, "transactions cannot begin: the user needs Write on the transactional id " + name +
                                      ", and on the topics, as docs/operate.md lists them"};
    if (failure)
      return error_of("transactions cannot begin at " + address.brokers + " (transactional id " + name + ")", *failure);
    opened = true;
    client = std::move(*made);
    know_topics();
    return {};
  }

  // A client asks for a topic that is new to it only up to a second after the first record: the first alert would wait
  // for that.
  void know_topics() {
    std::vector<TopicHandle> topics;  // the client remembers what it has learned of them
    for (const std::string_view known : {topic::alerts, topic::verdicts, topic::state, topic::packs})
      topics.emplace_back(rd_kafka_topic_new(client.get(), address.topic(known).c_str(), nullptr));
    const rd_kafka_metadata_t* found = nullptr;
    if (rd_kafka_metadata(client.get(), 0, nullptr, &found, call_time()) == RD_KAFKA_RESP_ERR_NO_ERROR)
      rd_kafka_metadata_destroy(found);
  }

  // The client knows of a newer one from any of its calls, the last of which may have failed for another reason.
  void drop() {
    char reason[256];
    fenced = rd_kafka_fatal_error(client.get(), reason, sizeof reason) == RD_KAFKA_RESP_ERR__FENCED;
    client.reset();
  }

  // Ends the transaction without a trace. What is on its way is waited for first: an abort that overtakes it is fatal.
  Error give_up(const std::string& what, const rd_kafka_error_t& failure) {
    const Error error = error_of(what, failure);
    if (!client) return error;
    if (rd_kafka_error_is_fatal(&failure)) return drop(), error;
    rd_kafka_flush(client.get(), call_time());
    const Failure aborted = persist([&] { return rd_kafka_abort_transaction(client.get(), call_time()); });
    if (aborted)
      drop();  // the brokers end what it leaves open after the transaction's time, or with the next of its name
    return error;
  }

  // librdkafka 2.0 calls a coordinator that is gone once more when the time is over, and waits for that. So the call
  // has a thread of its own: where the process is to end, it is left behind, and the client with it.
  Failure send_offsets(const rd_kafka_topic_partition_list_t& offsets, const Group& group) {
    std::packaged_task<Failure()> call{[sender = client.get(),
                                        of = Partitions{rd_kafka_topic_partition_list_copy(&offsets)},
                                        metadata = group.metadata(), time = call_time()] {
      return Failure{rd_kafka_send_offsets_to_transaction(sender, of.get(), metadata.get(), time)};
    }};
    auto sent = call.get_future();
    std::thread{std::move(call)}.detach();
    while (sent.wait_for(100ms) != std::future_status::ready) {
      if (!waiting_is_over()) continue;
      static_cast<void>(client.release());
      return Failure{rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, "%s", out_of_time().message.c_str())};
    }
    return sent.get();
  }

  Result<void> transact(std::span<const Outgoing> records, const rd_kafka_topic_partition_list_t* offsets,
                        const Group* group) {
    committing = false;
    if (const Failure failure{rd_kafka_begin_transaction(client.get())})
      return give_up("a transaction cannot begin", *failure);
    for (const Outgoing& record : records) {
      const std::string topic = address.topic(record.topic);
      const auto until = Clock::now() + transaction_time;
      for (;;) {
        const Failure failure{produce(*client, topic, record.partition, record.key, record.value)};
        if (!failure) break;
        if (rd_kafka_error_code(failure.get()) != RD_KAFKA_RESP_ERR__QUEUE_FULL || Clock::now() >= until ||
            waiting_is_over())
          return give_up("a record cannot be written to " + topic, *failure);
        rd_kafka_poll(client.get(), 20);
      }
    }
    if (offsets != nullptr) {
      asked = Clock::now();
      const Failure failure = persist([&] { return send_offsets(*offsets, *group); });
      if (failure)
        return give_up("the position cannot be committed (is the partition another instance's now?)", *failure);
    }
    if (waiting_is_over()) {
      const Failure late{rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, "%s", out_of_time().message.c_str())};
      return give_up("a transaction cannot be committed", *late);
    }
    committing = true;
    const Failure failure = persist([&] { return rd_kafka_commit_transaction(client.get(), call_time()); });
    if (!failure) return {};
    if (rd_kafka_error_txn_requires_abort(failure.get())) return give_up("a transaction cannot be committed", *failure);
    drop();  // it may still be on its way: to abort it now is no state that the client knows
    return error_of("a transaction cannot be committed", *failure);
  }

  // Where a newer instance has this name, a new producer would cut that one off. The group knows by its next heartbeat.
  Result<void> own_name(const Group& group) {
    for (const auto until = Clock::now() + GroupOptions::name_known; Clock::now() < until;
         std::this_thread::sleep_for(20ms))
      if (auto member = group.still_member(); !member) return member;
    fenced = false;
    return {};
  }

  // After a failure from which the producer cannot go on, a new one ends what that left open; then the group knows
  // whether it was committed. A position that is there is ours only if the partition still is: an instance that slept
  // finds that of the next owner.
  Result<void> commit(std::span<const Outgoing> records, const rd_kafka_topic_partition_list_t* offsets,
                      const Group* group) {
    if (waiting_is_over()) return out_of_time();
    if (fenced && group != nullptr)
      if (auto own = own_name(*group); !own) return own;
    if (!client)
      if (auto connected = connect(); !connected) return connected;
    const auto done = transact(records, offsets, group);
    if (done || client || offsets == nullptr || (waiting_is_over() && !committing)) return done;
    if (fenced)
      if (auto own = own_name(*group); !own) return own;
    const auto unsure = [&](const Error& then) {
      return Error{Errc::refused, done.error().message + "; and then: " + then.message +
                                      ": whether it was committed shows at the next start"};
    };
    if (auto connected = connect(); !connected) return unsure(connected.error());
    const auto has = group->committed(offsets->elems[0].partition);
    if (!has) return unsure(has.error());
    if (!*has || static_cast<std::int64_t>(**has) != offsets->elems[0].offset) return done;
    const auto again = transact({}, offsets, group);  // the same position again, which a former owner cannot commit
    if (again) return again;
    return unsure(again.error());
  }
};

Transactor::Transactor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transactor::~Transactor() = default;

Result<std::unique_ptr<Transactor>> Transactor::open(const Address& address, const std::string& name) {
  auto state = std::make_unique<State>();
  state->address = address;
  state->name = name;
  if (auto connected = state->connect(); !connected) return connected.error();
  return std::unique_ptr<Transactor>{new Transactor{std::move(state)}};
}

Result<Clock::time_point> Transactor::commit(std::span<const Outgoing> records, int partition, Position position,
                                             const Group& group) {
  const std::lock_guard lock{state_->mutex};
  const Partitions offsets{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_list_add(offsets.get(), group.topic().c_str(), partition)->offset =
      static_cast<std::int64_t>(position);
  if (auto committed = state_->commit(records, offsets.get(), &group); !committed) return committed.error();
  return state_->asked;
}

Result<void> Transactor::commit(std::span<const Outgoing> records) {
  const std::lock_guard lock{state_->mutex};
  return state_->commit(records, nullptr, nullptr);
}

}  // namespace tocsin::adapters::kafka
