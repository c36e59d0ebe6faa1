#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tocsin::stream {

// " (clock?)": the word of `words` that was probably meant, or nothing if none is close.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> words);

}  // namespace tocsin::stream
