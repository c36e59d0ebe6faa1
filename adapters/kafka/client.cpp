#include "adapters/kafka/client.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "adapters/kafka/log.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

// What a client cannot mend by itself (a broker that does not answer, a wrong password) is worth a line, but not each
// second. What is asked for by the property `debug` comes whole.
class Log {
 public:
  void to(std::function<void(LogLevel, const std::string&)> log) {
    const std::lock_guard lock{mutex_};
    log_ = std::move(log);
  }
  void write(const rd_kafka_t* client, LogLevel level, const char* kind, const char* text) {
    const std::lock_guard lock{mutex_};
    if (std::string_view{kind} == "FAIL") failures_[client] = text;
    if (level != LogLevel::debug && !due(kind)) return;
    const std::string line = std::string{"kafka: "} + text;
    if (log_) log_(level, line);
    else if (level >= LogLevel::warning) std::fprintf(stderr, "tocsin: %s\n", line.c_str());
  }

  // Why the client could not connect the last time; empty: it could, or has not tried.
  std::string failure_of(const rd_kafka_t* client) const {
    const std::lock_guard lock{mutex_};
    const auto found = failures_.find(client);
    return found == failures_.end() ? std::string{} : found->second;
  }
  void forget(const rd_kafka_t* client) {
    const std::lock_guard lock{mutex_};
    failures_.erase(client);
  }

 private:
  bool due(const char* kind) {
    const auto now = std::chrono::steady_clock::now();
    auto& last = last_[kind];
    if (last != std::chrono::steady_clock::time_point{} && now < last + std::chrono::seconds{30}) return false;
    last = now;
    return true;
  }

  mutable std::mutex mutex_;
  std::function<void(LogLevel, const std::string&)> log_;
  std::map<const rd_kafka_t*, std::string> failures_;
  std::map<std::string, std::chrono::steady_clock::time_point> last_;
};

Log& the_log() {
  static Log& log = *new Log;  // a consumer that cannot be ended writes to the last
  return log;
}

// By the levels of syslog.
LogLevel level_of(int level) {
  if (level <= 3) return LogLevel::error;
  if (level == 4) return LogLevel::warning;
  return level <= 6 ? LogLevel::info : LogLevel::debug;
}

void write_log(const rd_kafka_t* client, int level, const char* kind, const char* text) {
  the_log().write(client, level_of(level), kind, text);
}

// "[thrd:sasl_ssl://b:1/bootstrap]: sasl_ssl://b:1/bootstrap: REASON (after 5ms in state AUTH_REQ)": the reason.
std::string reason_of(std::string_view failure) {
  if (const auto thread = failure.find("]: "); failure.starts_with("[thrd:") && thread != failure.npos)
    failure.remove_prefix(thread + 3);
  if (const auto broker = failure.find("/bootstrap: "); broker != failure.npos) failure.remove_prefix(broker + 12);
  return std::string{failure.substr(0, failure.rfind(" (after "))};
}

// That no waiting mends, and what to do; the broker's own words for it come by the log alone.
struct Remedy {
  std::string_view sign, text;
};
constexpr Remedy for_good[] = {
    {"SASL authentication error",
     "check sasl.username and sasl.mechanism in kafka.properties, and the password in kafka.property_files"},
    {"mechanism handshake failed", "check sasl.mechanism in kafka.properties"},
    {"certificate verify failed",
     "set ssl.ca.location in kafka.properties to the authority of the brokers' certificates"},
};
constexpr Remedy early[] = {
    {"SSL handshake failed", "check security.protocol and the port in kafka.brokers: is it the one for TLS?"},
    {"verify that security.protocol", "set security.protocol in kafka.properties to what the brokers use at this port"},
};

Error no_answer(const rd_kafka_t& client, const Address& address, rd_kafka_resp_err_t code) {
  const std::string reason = reason_of(the_log().failure_of(&client)),
                    who = "no Kafka broker answers at " + address.brokers;
  for (const Remedy& one : for_good)
    if (reason.find(one.sign) != reason.npos)
      return {Errc::refused, who + ": " + reason + "; " + std::string{one.text}};
  for (const Remedy& one : early)
    if (reason.find(one.sign) != reason.npos) return {Errc::io, who + ": " + reason + "; " + std::string{one.text}};
  return {Errc::io, who + " (" + (reason.empty() ? rd_kafka_err2name(code) : reason) +
                        "): is it running, and may this machine connect to it?"};
}

bool mends_itself(const rd_kafka_t& client) {
  const std::string failure = the_log().failure_of(&client);
  const auto has = [&](const Remedy& one) { return failure.find(one.sign) != failure.npos; };
  return std::none_of(std::begin(for_good), std::end(for_good), has) && failure.find(early[0].sign) == failure.npos;
}

}  // namespace

void log_to(std::function<void(LogLevel level, const std::string& line)> log) { the_log().to(std::move(log)); }

Result<Client> make_client(const Address& address, rd_kafka_type_t type, const Settings& settings,
                           const std::function<void(rd_kafka_conf_t&)>& configure) {
  Configuration conf{rd_kafka_conf_new()};
  char why[512] = {};
  const auto set = [&](const std::string& key, const std::string& value) {
    return rd_kafka_conf_set(conf.get(), key.c_str(), value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK;
  };
  for (const auto& [key, value] : address.options)
    if (!set(key, value)) return Error{Errc::malformed, "the Kafka option " + key + " cannot be used: " + why};
  if (!set("bootstrap.servers", address.brokers)) return Error{Errc::malformed, why};
  for (const auto& [key, value] : settings)
    if (!set(key, value))
      return Error{Errc::malformed, "the Kafka option " + key + "=" + value + " cannot be used: " + why};
  rd_kafka_conf_set_log_cb(conf.get(), write_log);
  if (configure) configure(*conf);
  Client client{rd_kafka_new(type, conf.get(), why, sizeof why)};
  if (!client)
    return Error{Errc::malformed, std::string{"the Kafka client cannot be made: "} + why + "; fix kafka.properties"};
  static_cast<void>(conf.release());  // the client has it
  return client;
}

void destroy_client(rd_kafka_t* client) noexcept {
  rd_kafka_destroy(client);
  the_log().forget(client);
}

bool lacks_permission(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED || code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
         code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED ||
         code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

Error error_of(const std::string& what, rd_kafka_resp_err_t code) {
  return {Errc::io, what + ": " + rd_kafka_err2str(code) + " (" + rd_kafka_err2name(code) + ")"};
}

Error error_of(const std::string& what, const rd_kafka_error_t& error) {
  return {Errc::io, what + ": " + rd_kafka_error_string(&error) + " (" + rd_kafka_error_name(&error) + ")"};
}

Result<Metadata> metadata_of(rd_kafka_t& client, const Address& address, std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  for (std::chrono::milliseconds patience{1000};;
       patience *= 2) {  // each look asks anew, and a slow broker has time for the last
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const auto slice = at_most(std::max(std::min(left, patience), std::chrono::milliseconds{1}));
    const rd_kafka_metadata_t* found = nullptr;
    // Of all topics: asking for one by name might make it.
    const auto code = rd_kafka_metadata(&client, 1, nullptr, &found, static_cast<int>(slice.count()));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Metadata{found};
    if (left <= slice || waiting_is_over() || !mends_itself(client)) return no_answer(client, address, code);
  }
}

Result<int> partitions_of(rd_kafka_t& client, const Address& address, const std::string& topic,
                          std::chrono::milliseconds wait) {
  const auto metadata = metadata_of(client, address, wait);
  if (!metadata) return metadata.error();
  int count = 0;
  for (int i = 0; i < (*metadata)->topic_cnt; ++i)
    if (topic == (*metadata)->topics[i].topic) count = (*metadata)->topics[i].partition_cnt;
  if (count == 0)
    return Error{Errc::not_found, "there is no topic " + topic + " at " + address.brokers +
                                      ": make it with `tocsin topics create --kafka " + address.brokers +
                                      (address.prefix == "tocsin" ? "" : "/" + address.prefix) + "`"};
  return count;
}

FoundOffset find_offset(rd_kafka_t& client, const std::string& topic, int partition, std::int64_t which,
                        std::chrono::milliseconds wait) {
  const Partitions asked{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_t& one = *rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition);
  one.offset = which;
  const auto code = rd_kafka_offsets_for_times(&client, asked.get(), static_cast<int>(at_most(wait).count()));
  return {code != RD_KAFKA_RESP_ERR_NO_ERROR ? code : one.err, one.offset};
}

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {
std::atomic<Clock::time_point> last_moment{Clock::time_point::max()};  // of the process, as what ends is the process
}  // namespace

void wait_until_at_most(Clock::time_point end) noexcept { last_moment = end; }

bool waiting_is_over() noexcept { return Clock::now() >= last_moment.load(); }

milliseconds at_most(milliseconds wish) noexcept {
  const auto end = last_moment.load();
  if (end == Clock::time_point::max()) return wish;
  return std::clamp(std::chrono::floor<milliseconds>(end - Clock::now()), milliseconds{1},
                    std::max(wish, milliseconds{1}));
}

}  // namespace tocsin::adapters::kafka
