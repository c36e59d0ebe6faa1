#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "adapters/journal/directory.h"
#include "adapters/journal/journal.h"
#include "tests/journal/directory.h"

// What tests of a journal's frames write and read.
namespace tocsin::adapters::journal {

inline stream::Time at(std::int64_t second) { return stream::at_nanoseconds(second * 1'000'000'000); }
inline std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span{text}); }
inline std::vector<std::byte> message(const std::string& text) { return {bytes(text).begin(), bytes(text).end()}; }
inline std::string text(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()};
}

inline std::vector<std::string> read_all(Reader& reader) {
  std::vector<std::string> payloads;
  while (true) {
    auto frame = reader.next();
    REQUIRE(frame);
    if (!*frame) return payloads;
    payloads.push_back(text(**frame));
  }
}
inline std::vector<std::string> read_all(const std::filesystem::path& directory) {
  auto reader = Reader::open(directory);
  REQUIRE(reader);
  return read_all(*reader);
}

inline std::vector<Segment> segments_of(const std::filesystem::path& directory) { return *segments(directory); }
inline std::filesystem::path newest_segment(const std::filesystem::path& directory) {
  return segments_of(directory).back().path;
}

inline void damage(const std::filesystem::path& file, std::uint64_t offset, const std::string& with) {
  std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
  stream.seekp(static_cast<std::streamoff>(offset));
  stream << with;
}

}  // namespace tocsin::adapters::journal
