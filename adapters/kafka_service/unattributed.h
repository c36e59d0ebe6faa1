#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "adapters/ingest/records.h"
#include "adapters/kafka/appender.h"
#include "adapters/prometheus/figures.h"

namespace tocsin::adapters::kafka_service {

// What of the sources makes no record: counted, and samples of it appended to the topic `unattributed` and written to
// the log. Owned by the role that ingests, and touched by its thread alone.
class Unattributed {
 public:
  static constexpr unsigned samples_a_second = 10;  // of a source and reason
  static constexpr std::chrono::seconds between_lines{60};

  Unattributed(kafka::Appender& appender, std::function<void(const std::string& line)> log)
      : appender_(&appender), log_(std::move(log)) {}

  struct Where {
    std::string_view source, topic, message;
    int partition = 0;
    std::int64_t offset = 0;
  };
  void add(const Where& where, const ingest::LeftOut& part);
  // By reason, of a source.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts(std::string_view source) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Counted {
    std::uint64_t parts = 0;
    unsigned samples = 0;  // of this second
    Clock::time_point second{}, next_line{};
  };
  kafka::Appender* appender_;
  std::function<void(const std::string& line)> log_;
  std::map<std::string, std::map<ingest::Reason, Counted>, std::less<>> counted_;
};

}  // namespace tocsin::adapters::kafka_service
