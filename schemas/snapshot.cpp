#include "schemas/snapshot.h"

#include <xxhash.h>

#include <cstring>

#include "snapshot_generated.h"

namespace tocsin::schemas {
namespace {

using stream::Errc;
using stream::Error;

constexpr std::size_t most_snapshot_bytes = std::size_t{3} << 29;  // FlatBuffers' offsets end at 2 GiB

std::uint64_t checksum(std::string_view subject, const void* bytes, std::size_t size) {
  return XXH3_64bits_withSeed(bytes, size, XXH3_64bits(subject.data(), subject.size()));
}

// Of everything but the sections' own bytes, which have theirs.
class HeadChecksum {
 public:
  explicit HeadChecksum(const Snapshot& snapshot) {
    put(snapshot.format), put(static_cast<std::uint64_t>(snapshot.position)), put(stream::nanoseconds(snapshot.clock));
    for (const auto& mark : snapshot.marks) put(static_cast<std::uint64_t>(mark.position)), put(stream::nanoseconds(mark.clock));
    bytes_ += snapshot.pack_hash;
  }
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  std::string bytes_;
};

}  // namespace

stream::Result<std::vector<std::byte>> encode(const Snapshot& snapshot) {
  std::size_t size = snapshot.marks.size() * sizeof(fb::Mark) + 1024;
  for (const auto& [subject, bytes] : snapshot.sections) size += subject.size() + bytes.size() + 64;
  if (size > most_snapshot_bytes)
    return Error{Errc::too_large, "the snapshot takes " + std::to_string(size) + " bytes, more than " +
                                      std::to_string(most_snapshot_bytes) + ": divide the subjects over more shards"};
  flatbuffers::FlatBufferBuilder out{size};
  std::vector<flatbuffers::Offset<fb::Section>> sections;
  HeadChecksum head{snapshot};
  for (const auto& [subject, bytes] : snapshot.sections) {
    const auto name = out.CreateString(subject);
    const auto content = out.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    const std::uint64_t sum = checksum(subject, bytes.data(), bytes.size());
    sections.push_back(fb::CreateSection(out, name, content, sum));
    head.put(sum);
  }
  const auto section_vector = out.CreateVector(sections);
  std::vector<fb::Mark> marks;
  for (const auto& mark : snapshot.marks) marks.emplace_back(static_cast<std::uint64_t>(mark.position), stream::nanoseconds(mark.clock));
  const auto mark_vector = out.CreateVectorOfStructs(marks);
  const auto pack = out.CreateString(snapshot.pack_hash);
  out.Finish(fb::CreateSnapshot(out, snapshot.format, static_cast<std::uint64_t>(snapshot.position), stream::nanoseconds(snapshot.clock),
                                mark_vector, pack, section_vector, head.value()),
             fb::SnapshotIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  return std::vector<std::byte>{bytes, bytes + out.GetSize()};
}

stream::Result<Snapshot> decode_snapshot(std::span<const std::byte> message) {
  if (message.size() < 16 || message.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Error{Errc::torn, "a snapshot of " + std::to_string(message.size()) + " bytes is torn, or none of ours"};
  std::vector<std::uint64_t> aligned(message.size() / 8 + 1);
  std::memcpy(aligned.data(), message.data(), message.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier{bytes, message.size(), 4, 10'000'000};
  if (!verifier.VerifyBuffer<fb::Snapshot>(fb::SnapshotIdentifier()))
    return Error{Errc::torn, "the snapshot is torn, or none of ours (no TOCS)"};
  const auto& from = *fb::GetSnapshot(bytes);
  if (from.format() > snapshot_format)
    return Error{Errc::unknown_version, "the snapshot has format " + std::to_string(from.format()) + ", this program reads up to " +
                                            std::to_string(snapshot_format) + ": run the newer program that wrote it"};
  if (from.format() == 0 || from.format() + 1 < snapshot_format)
    return Error{Errc::unknown_version, "the snapshot has format " + std::to_string(from.format()) + ", too old for this program (" +
                                            std::to_string(snapshot_format) + " and the one before): run the release between first"};

  Snapshot to;
  to.format = from.format();
  to.position = static_cast<stream::Position>(from.position());
  to.clock = stream::at_nanoseconds(from.clock());
  if (from.marks() != nullptr && from.marks()->size() > 0) {  // where there are none, nothing aligns them
    if (reinterpret_cast<std::uintptr_t>(from.marks()->Data()) % 8 != 0) return Error{Errc::torn, "the snapshot's marks are torn"};
    for (const auto* mark : *from.marks())
      to.marks.push_back({static_cast<stream::Position>(mark->position()), stream::at_nanoseconds(mark->clock())});
  }
  if (from.pack_hash() != nullptr) to.pack_hash = from.pack_hash()->str();
  HeadChecksum head{to};
  if (from.sections() != nullptr)
    for (const auto* section : *from.sections()) {
      const std::string subject = section->subject() == nullptr ? std::string{} : section->subject()->str();
      const auto* content = section->bytes();
      const std::size_t size = content == nullptr ? 0 : content->size();
      const auto* first = content == nullptr ? nullptr : reinterpret_cast<const std::byte*>(content->data());
      if (checksum(subject, first, size) != section->checksum())
        return Error{Errc::torn, "the snapshot's section '" + subject + "' does not match its checksum"};
      head.put(section->checksum());
      if (!to.sections.emplace(subject, std::vector<std::byte>(first, first + size)).second)
        return Error{Errc::torn, "the snapshot has two sections '" + subject + "'"};
    }
  if (head.value() != from.checksum()) return Error{Errc::torn, "the snapshot does not match its checksum"};
  return to;
}

}  // namespace tocsin::schemas
