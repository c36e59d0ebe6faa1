#pragma once

#include <string>
#include <string_view>

namespace tocsin::stream {

// A number as a person says it: of seconds "240 ms", "45 s", "4 min", "2 h 5 min"; of bytes "110 GiB"; with the sign of
// other units, "1410 MHz"; else four digits.
[[nodiscard]] std::string quantity_text(double value, std::string_view unit);

}  // namespace tocsin::stream
