#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "adapters/wrap/job_environment.h"
#include "adapters/wrap/recording.h"
#include "adapters/wrap/run_state.h"
#include "schemas/codec.h"

namespace tocsin::adapters::wrap {

// The job, as its records name it.
struct ReportedJob {
  std::string job, node;
  std::string attempts;                       // what the names of attempts begin with; empty: nobody else reports it
  std::map<std::string, std::string> labels;  // of the job
  std::optional<JobPart> part;                // none: it is reported here alone
};

// The entries of one job, one at a time: about which attempt they are, and into the journal with them. Owned by a
// recorder.
class JobReport {
 public:
  JobReport(ReportedJob job, Recording& recording, const Legacy& legacy)
      : job_(std::move(job)), recording_(recording), legacy_(legacy) {}

  // Each begins an entry.
  schemas::EntryBuilder& about_attempt();  // by its name
  schemas::EntryBuilder& about_job();      // records of a job that others can report too name their attempt
  void write();                            // the entry, if there is anything in it
  void tell_start(stream::Time now);       // into the entry: of the attempt, or what is known of it since
  void beat();                             // an entry of its own
  void finish();                           // the last two: a beat, and the seal; the journal is on disk then

  [[nodiscard]] schemas::EntryBuilder& entry() noexcept { return entry_; }
  [[nodiscard]] schemas::EntryBuilder::Member member(std::uint32_t rank) const;
  [[nodiscard]] schemas::EntryBuilder::Member node() const;
  [[nodiscard]] const ReportedJob& job() const noexcept { return job_; }
  [[nodiscard]] Recording& recording() noexcept { return recording_; }

 private:
  ReportedJob job_;
  Recording& recording_;
  const Legacy& legacy_;
  schemas::EntryBuilder entry_;
};

}  // namespace tocsin::adapters::wrap
