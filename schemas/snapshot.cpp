#include "schemas/snapshot.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "snapshot_generated.h"

namespace tocsin::schemas {
namespace {

using stream::Errc;
using stream::Error;
using stream::Result;

constexpr std::size_t most_name_bytes = most_part_bytes / 2, head_bytes = 256;

std::uint64_t hash(const void* bytes, std::size_t size, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

std::uint64_t part_checksum(std::uint32_t format, std::string_view section, std::uint32_t part, std::uint32_t parts,
                            std::uint64_t whole, std::span<const std::byte> bytes) {
  const std::uint64_t head[] = {format, hash(section.data(), section.size()), part, parts, whole};
  return hash(bytes.data(), bytes.size(), hash(head, sizeof head));
}

}  // namespace

Result<void> check_snapshot_format(std::uint32_t format) {
  const std::string has = "the snapshot has format " + std::to_string(format);
  if (format > snapshot_format)
    return Error{Errc::unknown_version, has + ", this program reads up to " + std::to_string(snapshot_format) +
                                            ": run the newer program that wrote it"};
  if (format < oldest_snapshot_format)
    return Error{Errc::unknown_version, has + ", too old for this program (" + std::to_string(oldest_snapshot_format) +
                                            " to " + std::to_string(snapshot_format) +
                                            "): run the release between first"};
  return {};
}

std::uint64_t section_checksum(std::string_view section, std::span<const std::byte> bytes) noexcept {
  return hash(bytes.data(), bytes.size(), hash(section.data(), section.size()));
}

Result<void> write_section(std::string_view section, std::span<const std::byte> bytes,
                           const std::function<Result<void>(std::span<const std::byte>)>& write) {
  if (section.size() > most_name_bytes)
    return Error{Errc::too_large, "a subject's name has " + std::to_string(section.size()) + " bytes"};
  const std::size_t step = most_part_bytes - head_bytes - section.size();
  const auto parts = static_cast<std::uint32_t>(std::max<std::size_t>((bytes.size() + step - 1) / step, 1));
  const std::uint64_t whole = section_checksum(section, bytes);
  flatbuffers::FlatBufferBuilder out{std::min(bytes.size(), step) + head_bytes + section.size()};
  for (std::uint32_t part = 0; part < parts; ++part) {
    const auto content =
        bytes.subspan(std::min(part * step, bytes.size())).first(std::min(step, bytes.size() - part * step));
    out.Clear();
    const auto name = out.CreateString(section.data(), section.size());
    const auto content_vector = out.CreateVector(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
    out.Finish(fb::CreateSectionPart(out, snapshot_format, name, part, parts, whole, content_vector,
                                     part_checksum(snapshot_format, section, part, parts, whole, content)),
               fb::SectionPartIdentifier());
    if (auto written = write({reinterpret_cast<const std::byte*>(out.GetBufferPointer()), out.GetSize()}); !written)
      return written;
  }
  return {};
}

Result<void> SectionAssembler::add(std::span<const std::byte> message) {
  const Error torn{Errc::torn, "the snapshot is torn, or none of ours (no TOCS)"};
  if (message.size() < 16 || message.size() > most_part_bytes) return torn;
  std::vector<std::uint64_t> aligned(message.size() / 8 + 1);
  std::memcpy(aligned.data(), message.data(), message.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier{bytes, message.size(), 4, 100};
  if (!verifier.VerifyBuffer<fb::SectionPart>(fb::SectionPartIdentifier())) return torn;
  const auto& part = *fb::GetSectionPart(bytes);
  if (auto readable = check_snapshot_format(part.format()); !readable) return readable;
  const std::string section = part.section() == nullptr ? std::string{} : part.section()->str();
  std::span<const std::byte> content;
  if (part.bytes() != nullptr)
    content = {reinterpret_cast<const std::byte*>(part.bytes()->data()), part.bytes()->size()};
  if (part.checksum() !=
      part_checksum(part.format(), section, part.part(), part.parts(), part.section_checksum(), content))
    return Error{Errc::torn, "a part of the snapshot's section '" + section + "' does not match its checksum"};
  if (part.part() >= part.parts()) return torn;
  if (parts_.empty()) section_ = section, count_ = part.parts(), checksum_ = part.section_checksum();
  if (section != section_ || part.parts() != count_ || part.section_checksum() != checksum_)
    return Error{Errc::torn, "parts of the snapshot's section '" + section_ + "' do not belong together"};
  parts_.insert_or_assign(part.part(), std::vector<std::byte>(content.begin(), content.end()));
  return {};
}

Result<std::vector<std::byte>> SectionAssembler::take() && {
  if (parts_.empty() || parts_.size() != count_)
    return Error{Errc::torn, "the snapshot's section '" + section_ + "' has " + std::to_string(parts_.size()) + " of " +
                                 std::to_string(count_) + " parts"};
  std::vector<std::byte> bytes = std::move(parts_.extract(0u).mapped());
  for (const auto& [number, part] : parts_) bytes.insert(bytes.end(), part.begin(), part.end());
  if (section_checksum(section_, bytes) != checksum_)
    return Error{Errc::torn, "the snapshot's section '" + section_ + "' does not match its checksum"};
  return bytes;
}

}  // namespace tocsin::schemas
