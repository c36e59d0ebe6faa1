#pragma once

#include <cstdint>

#include "stream/values/time.h"

namespace tocsin::stream {

// What a watermark says of a source that has ended: it has been read to the end of time, and nothing waits for it.
inline constexpr Time source_ended = at_nanoseconds(std::int64_t{1} << 62);

}  // namespace tocsin::stream
