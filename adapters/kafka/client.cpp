#include "adapters/kafka/client.h"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "adapters/kafka/log.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const noexcept { rd_kafka_conf_destroy(conf); }
};

// What a client cannot mend by itself (a broker that does not answer, a wrong password) is worth a line, but not each second. What is
// asked for by the property `debug` comes whole.
class Log {
 public:
  void to(std::function<void(LogLevel, const std::string&)> log) {
    const std::lock_guard lock{mutex_};
    log_ = std::move(log);
  }
  void write(LogLevel level, const char* kind, const char* text) {
    const std::lock_guard lock{mutex_};
    if (level != LogLevel::debug && !due(kind)) return;
    const std::string line = std::string{"kafka: "} + text;
    if (log_) log_(level, line);
    else if (level >= LogLevel::warning) std::fprintf(stderr, "tocsin: %s\n", line.c_str());
  }

 private:
  bool due(const char* kind) {
    const auto now = std::chrono::steady_clock::now();
    auto& last = last_[kind];
    if (last != std::chrono::steady_clock::time_point{} && now < last + std::chrono::seconds{30}) return false;
    last = now;
    return true;
  }

  std::mutex mutex_;
  std::function<void(LogLevel, const std::string&)> log_;
  std::map<std::string, std::chrono::steady_clock::time_point> last_;
};

Log& the_log() {
  static Log log;
  return log;
}

// By the levels of syslog.
LogLevel level_of(int level) {
  if (level <= 3) return LogLevel::error;
  if (level == 4) return LogLevel::warning;
  return level <= 6 ? LogLevel::info : LogLevel::debug;
}

void write_log(const rd_kafka_t*, int level, const char* kind, const char* text) { the_log().write(level_of(level), kind, text); }

}  // namespace

void log_to(std::function<void(LogLevel level, const std::string& line)> log) { the_log().to(std::move(log)); }

Result<Client> make_client(const Address& address, rd_kafka_type_t type, const Settings& settings,
                           const std::function<void(rd_kafka_conf_t&)>& configure) {
  std::unique_ptr<rd_kafka_conf_t, DestroyConf> conf{rd_kafka_conf_new()};
  char why[512] = {};
  const auto set = [&](const std::string& key, const std::string& value) {
    return rd_kafka_conf_set(conf.get(), key.c_str(), value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK;
  };
  for (const auto& [key, value] : address.options)
    if (!set(key, value)) return Error{Errc::malformed, "the Kafka option " + key + "=" + value + " cannot be used: " + why};
  if (!set("bootstrap.servers", address.brokers)) return Error{Errc::malformed, why};
  for (const auto& [key, value] : settings)
    if (!set(key, value)) return Error{Errc::malformed, "the Kafka option " + key + "=" + value + " cannot be used: " + why};
  rd_kafka_conf_set_log_cb(conf.get(), write_log);
  if (configure) configure(*conf);
  Client client{rd_kafka_new(type, conf.get(), why, sizeof why)};
  if (!client) return Error{Errc::malformed, std::string{"the Kafka client cannot be made: "} + why};
  static_cast<void>(conf.release());  // the client has it
  return client;
}

Error error_of(const std::string& what, rd_kafka_resp_err_t code) {
  return {Errc::io, what + ": " + rd_kafka_err2str(code) + " (" + rd_kafka_err2name(code) + ")"};
}

Error error_of(const std::string& what, const rd_kafka_error_t& error) {
  return {Errc::io, what + ": " + rd_kafka_error_string(&error) + " (" + rd_kafka_error_name(&error) + ")"};
}

Error no_answer(const Address& address, rd_kafka_resp_err_t code) {
  return {Errc::io, "no Kafka broker answers at " + address.brokers + " (" + rd_kafka_err2name(code) +
                        "): is it running, and may this machine connect to it?"};
}

Result<int> partitions_of(rd_kafka_t& client, const Address& address, const std::string& topic, std::chrono::milliseconds wait) {
  const rd_kafka_metadata_t* metadata = nullptr;
  // Of all topics: asking for one by name might make it.
  const auto code = rd_kafka_metadata(&client, 1, nullptr, &metadata, static_cast<int>(wait.count()));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return no_answer(address, code);
  int count = 0;
  for (int i = 0; i < metadata->topic_cnt; ++i)
    if (topic == metadata->topics[i].topic) count = metadata->topics[i].partition_cnt;
  rd_kafka_metadata_destroy(metadata);
  if (count == 0)
    return Error{Errc::not_found, "there is no topic " + topic + " at " + address.brokers +
                                      ": make it with `tocsin topics create --kafka " + address.brokers +
                                      (address.prefix == "tocsin" ? "" : "/" + address.prefix) + "`"};
  return count;
}

}  // namespace tocsin::adapters::kafka
