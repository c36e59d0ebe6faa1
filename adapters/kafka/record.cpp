#include "adapters/kafka/record.h"

#include <chrono>
#include <memory>
#include <utility>

#include "adapters/journal/journal.h"
#include "adapters/kafka/first_pack.h"
#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/topic_settings.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;

namespace {
// A re-keyed record arrived at most so long before it was appended, and the first pack holds for it, too.
constexpr auto longest_way = 24h;
}  // namespace

Result<std::uint64_t> record(const RecordOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(options.journal, error) && !std::filesystem::is_empty(options.journal, error))
    return Error{Errc::refused, options.journal.string() + " is not empty: name a new directory"};
  auto topic = TopicReader::open(options.from, topic::telemetry, TopicReader::Isolation::uncommitted);
  if (!topic) return topic.error();
  const auto partitions = (*topic)->partitions(15s);
  if (!partitions) return partitions.error();
  const int partition = options.partition >= 0
                            ? options.partition
                            : static_cast<int>(stream::murmur2(options.subject) % static_cast<std::uint32_t>(*partitions));
  if (partition >= *partitions)
    return Error{Errc::refused, (*topic)->topic() + " has no partition " + std::to_string(partition) + ": they are 0 to " +
                                    std::to_string(*partitions - 1)};
  const auto pack = first_pack(**topic, partition);
  if (!pack) return pack.error();
  PartitionReader reader{**topic, partition};  // one at a time
  const auto range = reader.range();
  if (!range) return range.error();
  auto journal = journal::Writer::open(options.journal);
  if (!journal) return journal.error();
  std::uint64_t count = 0;
  if (range->oldest < range->end)
    if (auto started = reader.start(range->oldest); !started) return started.error();
  bool begun = !*pack;
  for (std::int64_t next = range->oldest; next < range->end && !reader.at_end();) {
    const auto message = reader.next(10ms);
    if (!message) return message.error();
    if (*message == nullptr) continue;
    next = (*message)->offset + 1;
    if (next > range->end) break;
    const auto appended = (*message)->appended.value_or(journal->last_arrival());
    if (!std::exchange(begun, true))
      if (auto written = journal->append((*pack)->message, appended - longest_way); !written) return written.error();
    if (auto written = journal->append((*message)->value, appended); !written) return written.error();
    ++count;
  }
  if (auto synced = journal->sync(); !synced) return synced.error();
  return count;
}

}  // namespace tocsin::adapters::kafka
