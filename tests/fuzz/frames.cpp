// A journal's segment of whole frames and rubbish in any order. What the reader gives was written, where it was
// written, in order.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>

#include "adapters/journal/frame.h"
#include "adapters/journal/journal.h"
#include "schemas/codec.h"

using namespace tocsin;
using namespace tocsin::adapters;

namespace {

// The segment, and the payload of each whole frame by its position.
struct Segment {
  std::string bytes;
  std::map<std::uint64_t, std::string> frames;
};

std::string frame(std::string_view payload, std::uint64_t position) {
  journal::FrameHeader header;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.arrival = 1'800'000'000'000'000'000;
  std::string bytes(journal::header_bytes + payload.size(), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + journal::header_bytes, payload.data(), payload.size());
  header.checksum = journal::checksum(std::as_bytes(std::span{bytes}), position);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// Pieces: a byte that says frame (0x80) or rubbish, and how long; then so many bytes.
Segment segment_of(std::string_view input) {
  Segment segment;
  while (!input.empty()) {
    const auto about = static_cast<std::uint8_t>(input.front());
    const std::string_view piece = input.substr(1, about & 0x7f);
    input.remove_prefix(1 + piece.size());
    const std::uint64_t position = segment.bytes.size();
    if (about & 0x80) segment.frames[position] = piece;
    segment.bytes += about & 0x80 ? frame(piece, position) : std::string{piece};
  }
  return segment;
}

struct Directory {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("tocsin-fuzz-" + std::to_string(::getpid()));
  Directory() { std::filesystem::create_directories(path); }
  ~Directory() { std::filesystem::remove_all(path); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  static schemas::Decoder decoder;
  const Segment segment = segment_of({reinterpret_cast<const char*>(data), size});
  std::ofstream(directory.path / "00000000000000000000.journal", std::ios::binary | std::ios::trunc) << segment.bytes;

  auto reader = journal::Reader::open(directory.path);
  if (!reader) return 0;
  stream::Position last{};
  while (true) {
    const auto next = reader->next();
    if (!next || !*next) break;
    const journal::Frame& found = **next;
    const auto written = segment.frames.find(static_cast<std::uint64_t>(found.position));
    if (written == segment.frames.end()) std::abort();
    if (std::string_view{reinterpret_cast<const char*>(found.payload.data()), found.payload.size()} != written->second)
      std::abort();
    if (found.next <= found.position || found.position < last) std::abort();
    last = found.next;
    (void)decoder.decode(found.payload, found.position, found.next, found.arrival);
  }
  return 0;
}
