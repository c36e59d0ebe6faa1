#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "adapters/evidence/stack_taker.h"
#include "schemas/codec.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Takes the stacks of this node's ranks at the first sign of a hang, before it is an alert, twice more within seconds,
// which tells a loop from work, and then now and then while it lasts. Owned by the Recorder.
class StackWatch {
 public:
  // Once a second. `open`: how long a collective has been open; `ranks`: whose stacks are taken.
  void look(stream::Time now, stream::Duration open, std::span<const evidence::StackTarget> ranks);
  [[nodiscard]] int descriptor() const noexcept { return taker_.descriptor(); }
  // Writes the stacks that have been taken since.
  void write(schemas::EntryBuilder& entry, stream::Time now, const std::string& node);

 private:
  struct Seen {
    std::string key;  // the program's own frames
    stream::Time since{};
  };

  evidence::StackTaker taker_;
  std::map<std::uint32_t, Seen> seen_;  // in this hang
  stream::Duration usual_{};            // the longest that a collective was open and completed; it fades
  stream::Duration open_{};             // at the last look
  stream::Time next_ = stream::long_ago;
  unsigned taken_ = 0;  // in this hang
};

}  // namespace tocsin::adapters::wrap
