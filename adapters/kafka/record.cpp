#include "adapters/kafka/record.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/journal/journal.h"
#include "adapters/kafka/kafka_log.h"
#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/topic_settings.h"
#include "schemas/codec.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;

namespace {
// A re-keyed record arrived at most so long before it was appended, and the first pack holds for it, too.
constexpr auto longest_way = 24h;

bool reached(const std::optional<Mark>& mark, std::int64_t offset, stream::Time appended) {
  if (!mark) return true;
  if (const auto* number = std::get_if<std::int64_t>(&*mark)) return offset >= *number;
  return appended >= std::get<stream::Time>(*mark);
}

}  // namespace

Result<Recorded> record(const RecordOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(options.journal, error) && !std::filesystem::is_empty(options.journal, error))
    return Error{Errc::refused, options.journal.string() + " is not empty: name a new directory"};
  auto topic = TopicReader::open(options.from, topic::telemetry, TopicReader::Isolation::uncommitted);
  if (!topic) return topic.error();
  const auto partitions = (*topic)->partitions(15s);
  if (!partitions) return partitions.error();
  const int partition = options.partition >= 0 ? options.partition : stream::partition_of(options.subject, *partitions);
  if (partition >= *partitions)
    return Error{Errc::refused, (*topic)->topic() + " has no partition " + std::to_string(partition) +
                                    ": they are 0 to " + std::to_string(*partitions - 1)};
  const auto pack = first_pack(**topic, partition, options.patience);
  if (!pack) return pack.error();
  auto journal = journal::Writer::open(options.journal);
  if (!journal) return journal.error();
  Recorded recorded;
  recorded.partition = (*topic)->topic() + "/" + std::to_string(partition);
  // The packs that the journal begins with: the first one; of a part the last two before it, of which one may be in
  // force a moment later.
  std::vector<std::vector<std::byte>> packs;
  if (*pack) packs.push_back((*pack)->message);
  schemas::Decoder decoder;
  stream::Time last{};
  PartitionReader reader{**topic, partition};
  const auto read = reader.read_to_end(0, options.patience, [&](const Message& message) -> Result<bool> {
    const auto appended = last = message.appended.value_or(last);
    if (recorded.entries == 0 && !reached(options.begin, message.offset, appended)) {
      if (!pack_in(message, decoder)) return true;
      packs.push_back({message.value.begin(), message.value.end()});
      if (packs.size() > 2) packs.erase(packs.begin());
      return true;
    }
    if (options.end && reached(options.end, message.offset, appended)) return false;
    for (const auto& one : std::exchange(packs, {}))
      if (auto written = journal->append(one, appended - longest_way); !written) return written.error();
    if (auto written = journal->append(message.value, appended); !written) return written.error();
    ++recorded.entries;
    const std::string_view job = message.key;  // control records have none
    if (!job.empty() && job == options.subject) ++recorded.of_subject;
    else if (!job.empty() && recorded.jobs.size() < Recorded::most_jobs) recorded.jobs.emplace(job);
    return true;
  });
  if (!read) return read.error();
  if (auto synced = journal->sync(); !synced) return synced.error();
  return recorded;
}

}  // namespace tocsin::adapters::kafka
