#include "adapters/runtime/disk_sink.h"

#include <string>
#include <variant>
#include <vector>

#include "adapters/runtime/report_line.h"
#include "stream/values/digest.h"

namespace tocsin::adapters::runtime {

using stream::Result;

namespace {

// What names a report for ever; a verdict's number is 0. A job that was forgotten and came back has attempts of the
// same names again.
std::pair<std::uint64_t, std::uint32_t> key_of(const stream::Report& report) {
  if (const auto* transition = std::get_if<stream::AlertTransition>(&report))
    return {transition->id, transition->number};
  const auto& verdict = std::get<stream::Verdict>(report);
  const std::string ended = std::to_string(stream::nanoseconds(verdict.ended));
  return {stream::hash_text(ended, stream::hash_text(verdict.attempt, stream::hash_text(verdict.subject))), 0};
}

}  // namespace

Result<void> DiskSink::keep(const stream::Bundle& bundle) {
  std::vector<std::string> lines;
  for (const stream::Report& report : bundle.reports) {
    const auto [id, number] = key_of(report);
    lines.push_back(report_line(report));
    const auto added = history_.add(id, number, lines.back());
    if (!added) return added.error();
    if (*added) added_.insert({id, number});
  }
  if (auto synced = history_.sync(); !synced) return synced;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (added_.erase(key_of(bundle.reports[i])) != 0) publish_(bundle.reports[i], lines[i]);
  return bundle.sections.empty() ? Result<void>{} : state_->store(bundle);
}

Result<void> PublishingSink::keep(const stream::Bundle& bundle) {
  for (const stream::Report& report : bundle.reports) publish_(report, report_line(report));
  return {};
}

}  // namespace tocsin::adapters::runtime
