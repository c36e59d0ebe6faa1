#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tocsin::stream {

// What was processed, and what was refused, under a reason. Plain integers: a reader gets a copy.
struct Counters {
  std::uint64_t entries = 0, samples = 0, lines = 0, events = 0, coverage = 0, beats = 0;
  std::uint64_t duplicates = 0, late = 0, unwanted = 0, unknown_signal = 0, corrected_times = 0, rejected_blocks = 0;
  std::uint64_t unit_mismatch = 0;  // blocks refused because a unit is not of the signal's kind
  std::uint64_t event_limit = 0;    // events dropped while a window still counted them: counts stay exact
  std::uint64_t text_limit = 0;     // texts over the limit of an attempt: they are unknown
  std::uint64_t strays = 0, member_limit = 0, gaps = 0;
  std::uint64_t state_limit = 0;         // records of new jobs while the state of the others took all room
  std::uint64_t corrected_arrivals = 0;  // impossible source arrivals and watermarks
  std::uint64_t repeated = 0;            // outcomes of rules that were those of the tick before, without an evaluation
  std::uint64_t nodes = 0;               // that were computed
  std::uint64_t ticks = 0, evaluations = 0, transitions = 0, alerts_over_limit = 0, quarantined = 0, packs_refused = 0;
  std::map<std::string, std::string> quarantine_messages;  // rule to its last message
};

}  // namespace tocsin::stream
