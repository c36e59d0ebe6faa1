#include "adapters/kafka/state_records.h"

#include <algorithm>
#include <charconv>

#include "schemas/snapshot.h"
#include "stream/values/archive.h"
#include "stream/values/digest.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;

namespace {

constexpr std::string_view section_key = "section/", pack_key = "pack/", manifest_key = "manifest";

struct Manifest {
  std::uint64_t generation = 0;
  Position position{};
  std::uint64_t sections = 0, sections_sum = 0;  // how many there are, and the sum of their checksums
  std::vector<std::string> packs;
  static void fields(auto& self, auto& archive) {
    archive(1, self.generation), archive(2, self.position), archive(3, self.sections), archive(4, self.sections_sum),
        archive(5, self.packs);
  }
};

// The format (4 bytes) and a checksum of the rest (8), then the fields.
std::vector<std::byte> encode(const Manifest& manifest) {
  stream::Writer fields;
  Manifest::fields(manifest, fields);
  const std::vector<std::byte> body = std::move(fields).take();
  const std::uint32_t format = schemas::snapshot_format;
  const std::uint64_t sum = schemas::section_checksum(manifest_key, body);
  std::vector<std::byte> bytes;
  const auto put = [&](const auto& value) {
    const auto raw = std::as_bytes(std::span{&value, 1});
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  put(format), put(sum);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

Result<Manifest> decode(std::span<const std::byte> bytes) {
  const Error torn{Errc::torn, "the manifest is torn, or none of ours"};
  std::uint32_t format = 0;
  std::uint64_t sum = 0;
  if (bytes.size() < sizeof format + sizeof sum) return torn;
  std::copy_n(bytes.begin(), sizeof format, std::as_writable_bytes(std::span{&format, 1}).begin());
  std::copy_n(bytes.begin() + sizeof format, sizeof sum, std::as_writable_bytes(std::span{&sum, 1}).begin());
  if (auto readable = schemas::check_snapshot_format(format); !readable) return readable.error();
  const auto body = bytes.subspan(sizeof format + sizeof sum);
  if (schemas::section_checksum(manifest_key, body) != sum) return torn;
  stream::Reader in{body};
  Manifest manifest;
  Manifest::fields(manifest, in);
  if (auto ok = in.status(); !ok) return ok.error();
  return manifest;
}

std::string key_of_part(std::uint32_t part, std::string_view section) {
  return std::string{section_key} + std::to_string(part) + '/' + std::string{section};
}

// The part's number and the section's name; nullopt: none of ours.
std::optional<std::pair<std::uint32_t, std::string_view>> part_of_key(std::string_view key) {
  key.remove_prefix(section_key.size());
  std::uint32_t part = 0;
  const auto [end, wrong] = std::from_chars(key.data(), key.data() + key.size(), part);
  if (wrong != std::errc{} || end == key.data() + key.size() || *end != '/') return std::nullopt;
  return std::pair{part, key.substr(static_cast<std::size_t>(end - key.data()) + 1)};
}

}  // namespace

Result<std::vector<StateRecord>> write_state(const stream::Bundle& bundle, int partition, StateIndex& index) {
  const std::string prefix = std::to_string(partition) + '/';
  std::vector<StateRecord> records;
  std::set<std::string> packs;
  for (const auto& pack : bundle.packs) packs.insert(pack.hash);
  for (const auto& [name, content] : bundle.sections) {
    const auto known = index.sections.find(name);
    const std::uint32_t parts_before = known == index.sections.end() ? 0 : known->second.parts;
    std::uint32_t parts = 0;
    if (content.empty()) {
      index.sections.erase(name);
    } else {
      const auto& bytes = content.bytes();
      const std::uint64_t sum = schemas::section_checksum(name, bytes);
      if (known != index.sections.end() && known->second.checksum == sum) {
        known->second.packs = packs;
        continue;
      }
      auto written = schemas::write_section(name, bytes, [&](std::span<const std::byte> message) {
        records.push_back({prefix + key_of_part(parts++, name), {message.begin(), message.end()}});
        return Result<void>{};
      });
      if (!written) return written.error();
      index.sections[name] = {sum, parts, packs};
    }
    for (std::uint32_t gone = parts; gone < parts_before; ++gone)
      records.push_back({prefix + key_of_part(gone, name), {}, true});
  }
  std::set<std::string> needed;
  Manifest manifest{++index.generation, bundle.position, index.sections.size(), 0, {}};
  for (const auto& [name, section] : index.sections) {
    manifest.sections_sum += section.checksum;
    needed.insert(section.packs.begin(), section.packs.end());
  }
  for (const auto& pack : bundle.packs) {
    if (!needed.contains(pack.hash) || !index.packs.insert(pack.hash).second) continue;
    if (pack.text.empty()) return Error{Errc::malformed, "pack " + pack.hash + " came without its text"};
    const auto text = std::as_bytes(std::span{pack.text});
    records.push_back({prefix + std::string{pack_key} + pack.hash, {text.begin(), text.end()}});
  }
  for (auto pack = index.packs.begin(); pack != index.packs.end();) {
    if (needed.contains(*pack)) {
      manifest.packs.push_back(*pack++);
      continue;
    }
    records.push_back({prefix + std::string{pack_key} + *pack, {}, true});
    pack = index.packs.erase(pack);
  }
  records.push_back({prefix + std::string{manifest_key}, encode(manifest)});
  return records;
}

Result<void> StateAssembler::add(std::string_view key, std::span<const std::byte> value, bool tombstone) {
  if (!key.starts_with(prefix_))
    return Error{Errc::malformed, "the key '" + std::string{key} + "' does not belong here"};
  key.remove_prefix(prefix_.size());
  if (tombstone) values_.erase(std::string{key});
  else values_.insert_or_assign(std::string{key}, std::vector<std::byte>{value.begin(), value.end()});
  return {};
}

std::optional<Position> StateAssembler::position() const noexcept {
  const auto found = values_.find(manifest_key);
  if (found == values_.end()) return std::nullopt;
  const auto manifest = decode(found->second);
  return manifest ? std::optional{manifest->position} : std::nullopt;
}

Result<std::optional<stream::Stored>> StateAssembler::take(StateIndex& index) && {
  const auto found = values_.find(manifest_key);
  if (found == values_.end()) return std::optional<stream::Stored>{};
  const auto manifest = decode(found->second);
  if (!manifest) return manifest.error();
  stream::Stored stored;
  stored.position = manifest->position;
  StateIndex read{manifest->generation, {}, {}};
  const std::set<std::string> all_packs{manifest->packs.begin(), manifest->packs.end()};
  std::map<std::string, schemas::SectionAssembler> sections;
  std::uint64_t sum = 0;
  for (const auto& [key, value] : values_) {
    if (key.starts_with(section_key)) {
      const auto part = part_of_key(key);
      if (!part) return Error{Errc::malformed, "the key '" + prefix_ + key + "' is none of ours"};
      if (auto added = sections[std::string{part->second}].add(value); !added) return added.error();
      ++read.sections[std::string{part->second}].parts;
    } else if (key.starts_with(pack_key)) {
      const std::string hash = key.substr(pack_key.size());
      if (!all_packs.contains(hash)) continue;
      stored.packs.push_back({hash, {reinterpret_cast<const char*>(value.data()), value.size()}});
      read.packs.insert(hash);
    }
  }
  for (auto& [name, assembler] : sections) {
    read.sections[name].checksum = assembler.checksum();
    read.sections[name].packs = all_packs;
    sum += assembler.checksum();
    const bool named = assembler.section() == name;
    auto bytes = std::move(assembler).take();
    if (!bytes) return bytes.error();
    if (!named) return Error{Errc::torn, "the section '" + name + "' holds another"};
    stored.sections.emplace(name, std::move(*bytes));
  }
  if (sections.size() != manifest->sections || sum != manifest->sections_sum)
    return Error{Errc::torn, "the manifest counts " + std::to_string(manifest->sections) + " sections, and there are " +
                                 std::to_string(sections.size()) +
                                 (sections.size() == manifest->sections ? " others" : "")};
  if (read.packs.size() != all_packs.size())
    return Error{Errc::torn, "the text of a pack that the manifest names is missing"};
  index = std::move(read);
  return std::optional{std::move(stored)};
}

}  // namespace tocsin::adapters::kafka
