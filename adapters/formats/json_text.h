#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The small pieces of JSON that we write.
namespace tocsin::adapters::formats {

// With quotes; invalid UTF-8 becomes U+FFFD, since JSON cannot hold it.
void put_text(std::string& out, std::string_view text);
// The same text in valid UTF-8: what is not becomes U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view text);
// The shortest form that reads back as the same number; "NaN", "inf" and "-inf" as texts.
void put_number(std::string& out, double number);
void put_whole(std::string& out, std::int64_t number);
// `"key":`, with a comma in front unless it is an object's first.
void put_key(std::string& out, std::string_view key);

}  // namespace tocsin::adapters::formats
