#pragma once

#include "stream/job/duplicates.h"
#include "stream/job/pack_timeline.h"
#include "stream/values/archive.h"
#include "stream/values/record.h"
#include "stream/values/time.h"
#include "stream/windows/origins.h"

namespace tocsin::stream {

// What the control records of a log hold up to a position: the same for each shard that reads it. A shard keeps a copy
// of it every 30 s (a mark), where a restore may begin to read.
struct LogState {
  Time clock = long_ago;  // the append time of the last entry, never falling
  Time last_beat = long_ago;
  Time controlled = long_ago;  // the clock at the last control record
  bool sealed = false;
  Watermarks watermarks;
  PackTimeline packs;
  Duplicates duplicates;  // of control records

  static void fields(auto& self, auto& archive) {
    archive(1, self.clock), archive(2, self.last_beat), archive(3, self.sealed), archive(4, self.watermarks);
    archive(5, self.packs), archive(6, self.duplicates), archive(7, self.controlled);
  }
};

}  // namespace tocsin::stream
