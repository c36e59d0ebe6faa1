#pragma once

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

// What bench/counts/run counts of a benchmark: the instructions between these two, in the functions that it names. A
// benchmark that is run by itself does nothing here, nor does one that was built without valgrind.
namespace tocsin::bench {

inline void start_counting() {
#ifdef CALLGRIND_START_INSTRUMENTATION
  CALLGRIND_START_INSTRUMENTATION;
#endif
}

// Writes what was counted, with the name of the phase.
inline void stop_counting([[maybe_unused]] const char* phase) {
#ifdef CALLGRIND_START_INSTRUMENTATION
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(phase);
#endif
}

}  // namespace tocsin::bench
