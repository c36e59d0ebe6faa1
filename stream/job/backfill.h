#pragma once

#include <memory>
#include <vector>

#include "stream/job/subject.h"

namespace tocsin::stream {

// A section holds everything but rows. This reads the entries from a marked place up to the section's position again,
// by the clock, the packs and the places of members of their time, and hands the rows that they make to the subject's
// attempts. Nothing else of it remains. Owned by its Subject, whose state is the section's meanwhile.
class Subject::Backfill {
 public:
  Backfill(const Subject& of, Position from, Time log_clock);

  void follow(Time log_clock, const Watermarks& watermarks, std::string_view moved);
  void read(const Entry& entry, Time log_clock);
  void end();
  [[nodiscard]] const PackChange::Key& pack() const noexcept { return pack_; }

 private:
  void begin(Time clock);
  void follow_packs(Time clock);

  const Subject& of_;
  Position from_;
  Origins origins_;                                // as they stood at the entry that is read
  Time clock_ = long_ago;                          // the subject's, before that entry
  PackChange::Key pack_;                           // in force then
  std::vector<std::unique_ptr<Telemetry>> again_;  // of each of the subject's attempts
};

}  // namespace tocsin::stream
