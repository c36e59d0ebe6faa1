#include "adapters/kafka/kafka_sink.h"

#include <string>
#include <vector>

#include "adapters/kafka/topic_settings.h"
#include "adapters/runtime/report_line.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;

Result<void> KafkaSink::keep(const stream::Bundle& bundle) {
  if (bundle.sections.empty()) return Error{Errc::refused, "reports came without the state that knows of them"};
  const auto state = state_->records(bundle);
  if (!state) return state.error();
  std::vector<std::string> lines;
  std::vector<Outgoing> records;
  for (const stream::Report& report : bundle.reports) lines.push_back(runtime::report_line(report));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto* transition = std::get_if<stream::AlertTransition>(&bundle.reports[i]);
    const std::string& subject =
        transition ? transition->subject : std::get<stream::Verdict>(bundle.reports[i]).subject;
    const int partitions = transition ? topics_.alerts : topics_.verdicts;
    records.push_back({transition ? topic::alerts : topic::verdicts, stream::partition_of(subject, partitions), subject,
                       std::as_bytes(std::span{lines[i]})});
  }
  for (const StateRecord& record : *state)
    records.push_back({topic::state, partition_, record.key,
                       record.tombstone ? std::span<const std::byte>{} : std::span{record.value}});
  const auto committed = transactor_->commit(records, partition_, bundle.position, *group_);
  if (!committed) return committed.error();
  owned_at_ = *committed;
  kept_ = bundle.position;
  state_->stored();
  for (std::size_t i = 0; i < lines.size(); ++i) publish_(bundle.reports[i], lines[i]);
  return {};
}

}  // namespace tocsin::adapters::kafka
