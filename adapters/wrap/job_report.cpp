#include "adapters/wrap/job_report.h"

#include <vector>

namespace tocsin::adapters::wrap {

using schemas::EntryBuilder;

EntryBuilder& JobReport::about_attempt() {
  entry_.clear();
  entry_.about(job_.job, job_.attempts + std::to_string(legacy_.attempt), job_.node);
  return entry_;
}

EntryBuilder& JobReport::about_job() {
  if (!job_.attempts.empty()) return about_attempt();
  entry_.clear();
  entry_.about(job_.job, {}, job_.node);
  return entry_;
}

void JobReport::write() {
  if (entry_.empty()) entry_.clear();
  recording_.append(entry_);
}

void JobReport::tell_start(stream::Time now) {
  std::vector<EntryBuilder::Field> fields;
  if (legacy_.world_size > 0) fields.push_back({"world_size", static_cast<double>(legacy_.world_size), {}, false});
  if (job_.part) {
    fields.push_back({"part", 0, job_.part->part, true});
    fields.push_back({"parts", static_cast<double>(job_.part->parts), {}, false});
    fields.push_back({"step", 0, job_.part->step, true});
  }
  std::vector<std::string> names;
  names.reserve(job_.labels.size());
  for (const auto& [label, value] : job_.labels)
    fields.push_back({names.emplace_back("labels." + label), 0, value, true});
  entry_.event(now, EntryBuilder::job(), "start", fields);
}

void JobReport::beat() {
  entry_.clear();
  entry_.beat();
  recording_.append(entry_);
}

void JobReport::finish() {
  beat();
  entry_.seal();
  write();
  recording_.sync(Recording::Sync::all);
  recording_.report_lost();
}

EntryBuilder::Member JobReport::member(std::uint32_t rank) const { return {stream::Level::rank, rank, job_.node, {}}; }

EntryBuilder::Member JobReport::node() const { return {stream::Level::node, 0, job_.node, {}}; }

}  // namespace tocsin::adapters::wrap
