#include "adapters/service/beats.h"

#include "adapters/kafka/topic_settings.h"
#include "schemas/codec.h"

namespace tocsin::adapters::service {

using namespace std::chrono_literals;

Beats::Beats(kafka::Appender& appender) : appender_(&appender) {
  schemas::EntryBuilder entry;
  entry.beat();
  message_ = schemas::encode(entry.entry());
}

stream::Result<void> Beats::beat(std::span<const int> partitions, std::chrono::steady_clock::time_point now) {
  if (now < next_ || partitions.empty()) return {};
  next_ = now + 1s;
  if (appender_->waiting() > 2 * partitions.size()) return {};
  for (const int partition : partitions)
    if (auto appended = appender_->append(kafka::topic::telemetry, partition, {}, message_); !appended) return appended;
  return {};
}

}  // namespace tocsin::adapters::service
