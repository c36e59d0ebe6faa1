#include "adapters/journal/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "adapters/journal/directory.h"
#include "schemas/snapshot.h"
#include "stream/values/archive.h"

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view manifest_magic = "TOCM", section_prefix = "section-";
const std::string manifest_name = "manifest", packs_name = "packs";

struct Manifest {
  struct Section {
    std::uint64_t generation = 0;  // that wrote it
    std::uint64_t checksum = 0;
    std::set<std::string> packs;  // hashes: of the bundle that it came with
    static void fields(auto& self, auto& archive) {
      std::vector<std::string> hashes(self.packs.begin(), self.packs.end());
      archive(1, self.generation), archive(2, self.checksum), archive(3, hashes);
      if constexpr (requires { self.packs.clear(); }) self.packs = {hashes.begin(), hashes.end()};
    }
  };
  std::uint64_t generation = 0;
  Position position{};
  std::map<std::string, Section> sections;                  // by name
  std::map<std::string, std::uint64_t, std::less<>> packs;  // hash to checksum
  static void fields(auto& self, auto& archive) {
    archive(1, self.generation), archive(2, self.position), archive(3, self.sections), archive(4, self.packs);
  }
};

std::uint64_t checksum(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T read_value(std::string_view& text) {  // of a text that holds one
  T value;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return value;
}

// magic, format (4 bytes), checksum of the rest (8), the fields.
std::string encode(const Manifest& manifest) {
  stream::Writer out;
  Manifest::fields(manifest, out);
  const auto bytes = out.bytes();
  const std::string_view fields{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  std::string text{manifest_magic};
  append(text, schemas::snapshot_format);
  append(text, checksum(fields));
  return text.append(fields);
}

Result<Manifest> decode(std::string_view text) {
  const Error torn{Errc::torn, "the manifest is torn, or none of ours"};
  if (text.size() < 16 || !text.starts_with(manifest_magic)) return torn;
  text.remove_prefix(manifest_magic.size());
  if (auto readable = schemas::check_snapshot_format(read_value<std::uint32_t>(text)); !readable)
    return readable.error();
  if (read_value<std::uint64_t>(text) != checksum(text)) return torn;
  stream::Reader in{std::as_bytes(std::span{text})};
  Manifest manifest;
  Manifest::fields(manifest, in);
  if (auto ok = in.status(); !ok) return ok.error();
  return manifest;
}

std::string section_file(std::string_view name, std::uint64_t generation) {
  static constexpr char hex[] = "0123456789abcdef";
  const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
  std::string text{section_prefix};
  for (const std::uint64_t half : {hash.high64, hash.low64})
    for (int shift = 60; shift >= 0; shift -= 4) text += hex[half >> shift & 15];
  return text + '-' + std::to_string(generation);
}

// What a hash may be to name a file.
bool names_a_file(std::string_view hash) {
  return !hash.empty() && hash.size() <= 64 &&
         std::all_of(hash.begin(), hash.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

Error in_file(const fs::path& path, const Error& error) {
  return {error.code, path.string() + ": " + error.message +
                          (error.code == Errc::unknown_version ? ""
                                                               : "; to judge the journal from its beginning, move " +
                                                                     path.parent_path().string() + " away")};
}

}  // namespace

struct StateStore::State {
  fs::path journal;
  std::string folder;                   // below the journal
  std::optional<Manifest> in_force;     // nullopt: to be read from the disk
  std::optional<OpenDirectory> locked;  // the journal's

  [[nodiscard]] Result<OpenDirectory> open() const;  // not_found: nothing was ever stored
  Result<std::optional<Manifest>> read_manifest() const;
  Result<void> write(const stream::Bundle& bundle, Manifest& next) const;
  void remove_unnamed(const Manifest& manifest) const;
};

Result<OpenDirectory> StateStore::State::open() const {
  const auto opened = OpenDirectory::open(journal);
  return opened ? opened->below(folder) : opened.error();
}

// nullopt: nothing was ever in force.
Result<std::optional<Manifest>> StateStore::State::read_manifest() const {
  const auto directory = open();
  if (!directory && directory.error().code != Errc::not_found) return directory.error();
  if (directory) {
    auto text = directory->read(manifest_name);
    if (!text && text.error().code != Errc::not_found) return text.error();
    if (text) {
      auto manifest = decode(*text);
      if (!manifest) return in_file(directory->path() / manifest_name, manifest.error());
      return std::optional{std::move(*manifest)};
    }
    const auto names = directory->names();
    if (!names) return names.error();
    // The first store may have been cut short. A later one had a manifest.
    for (const std::string& file : *names)
      if (file.starts_with(section_prefix) && !file.ends_with("-1"))
        return in_file(directory->path() / manifest_name, {Errc::torn, "the manifest is missing beside " + file});
  }
  const auto beside = OpenDirectory::open(journal);
  const auto names = beside ? beside->names() : beside.error();
  for (const std::string& file : names ? *names : std::vector<std::string>{})
    if (file.starts_with("snapshot-"))
      return Error{Errc::unknown_version,
                   (journal / file).string() +
                       " was written by a version before the first release, which this one does not read: to judge "
                       "the journal from its beginning, move it and its like away"};
  return std::optional<Manifest>{};
}

namespace {

Result<std::vector<std::byte>> read_section(const OpenDirectory& directory, const std::string& name,
                                            const Manifest::Section& section) {
  const std::string file = section_file(name, section.generation);
  const fs::path path = directory.path() / file;
  auto text = directory.read(file);
  if (!text) return in_file(path, text.error());
  schemas::SectionAssembler assembler;
  for (std::string_view rest = *text; !rest.empty();) {
    const auto length = rest.size() < sizeof(std::uint32_t) ? 0 : read_value<std::uint32_t>(rest);
    if (length == 0 || length > rest.size()) return in_file(path, {Errc::torn, "the section is cut short"});
    if (auto added = assembler.add(std::as_bytes(std::span{rest.substr(0, length)})); !added)
      return in_file(path, added.error());
    rest.remove_prefix(length);
  }
  const bool named = assembler.section() == name && assembler.checksum() == section.checksum;
  auto bytes = std::move(assembler).take();
  if (!bytes) return in_file(path, bytes.error());
  if (!named) return in_file(path, {Errc::torn, "it is not the section that the manifest names"});
  return bytes;
}

// Under a name that no manifest has named yet. Messages, each behind its length (4 bytes).
Result<void> write_section(const OpenDirectory& directory, const std::string& name, std::span<const std::byte> bytes,
                           std::uint64_t generation) {
  const std::string place = section_file(name, generation);
  const fs::path path = directory.path() / place;
  const auto file = directory.open(place, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return file.error();
  std::string framed;
  auto written = schemas::write_section(name, bytes, [&](std::span<const std::byte> message) {
    framed.clear();
    append(framed, static_cast<std::uint32_t>(message.size()));
    framed.append(reinterpret_cast<const char*>(message.data()), message.size());
    return write_all(*file, path, framed);
  });
  if (!written) return written;
  if (::fdatasync(file->get()) != 0) return io_error("sync", path, errno);
  return {};
}

}  // namespace

Result<void> StateStore::State::write(const stream::Bundle& bundle, Manifest& next) const {
  const auto opened = OpenDirectory::open(journal);
  const auto directory = opened ? opened->make(folder) : opened.error();
  const auto texts = directory ? directory->make(packs_name) : directory.error();
  if (!texts) return texts.error();
  std::set<std::string> packs;
  for (const auto& pack : bundle.packs) packs.insert(pack.hash);
  for (const auto& [name, content] : bundle.sections) {
    if (content.empty()) {
      next.sections.erase(name);
      continue;
    }
    const auto& bytes = content.bytes();
    Manifest::Section& section = next.sections[name];
    section.packs = packs;
    const std::uint64_t sum = schemas::section_checksum(name, bytes);
    if (section.generation != 0 && section.checksum == sum) continue;
    section.generation = next.generation, section.checksum = sum;
    if (auto written = write_section(*directory, name, bytes, next.generation); !written) return written;
  }
  std::set<std::string> needed;
  for (const auto& [name, section] : next.sections) needed.insert(section.packs.begin(), section.packs.end());
  std::erase_if(next.packs, [&](const auto& known) { return !needed.contains(known.first); });
  for (const auto& pack : bundle.packs) {
    if (next.packs.contains(pack.hash) || !needed.contains(pack.hash)) continue;
    if (!names_a_file(pack.hash)) return Error{Errc::malformed, "the hash of a pack is none: " + pack.hash};
    if (pack.text.empty()) return Error{Errc::malformed, "pack " + pack.hash + " came without its text"};
    if (auto written = texts->write(pack.hash, pack.text); !written) return written;
    next.packs[pack.hash] = checksum(pack.text);
  }
  return directory->write(manifest_name, encode(next));
}

// What this leaves behind is removed the next time.
void StateStore::State::remove_unnamed(const Manifest& manifest) const {
  std::set<std::string> named;
  for (const auto& [name, section] : manifest.sections) named.insert(section_file(name, section.generation));
  const auto remove = [](const Result<OpenDirectory>& from, const auto& unnamed) {
    const auto names = from ? from->names() : from.error();
    for (const std::string& file : names ? *names : std::vector<std::string>{})
      if (unnamed(file)) (void)from->remove(file);
  };
  const auto directory = open();
  remove(directory, [&](const std::string& file) {
    return file.ends_with(".new") || (file.starts_with(section_prefix) && !named.contains(file));
  });
  remove(directory ? directory->below(packs_name) : directory.error(),
         [&](const std::string& file) { return !manifest.packs.contains(file); });
}

StateStore::StateStore(fs::path journal, std::string name) : state_(std::make_unique<State>()) {
  state_->journal = std::move(journal);
  state_->folder = std::move(name);
}
StateStore::~StateStore() = default;

Result<void> StateStore::lock() {
  auto directory = OpenDirectory::open(state_->journal);
  if (!directory) return {};
  if (!directory->lock(LOCK_EX | LOCK_NB))
    return Error{Errc::refused, "another engine judges the journal " + state_->journal.string() +
                                    " and keeps its state: wait until it ends or stop it, or judge without --resume"};
  state_->locked = std::move(*directory);
  return {};
}

Result<std::optional<stream::Stored>> StateStore::newest() {
  State& s = *state_;
  auto manifest = s.read_manifest();
  if (!manifest) return manifest.error();
  if (!*manifest) return std::optional<stream::Stored>{};
  const auto directory = s.open();
  const auto texts = directory ? directory->below(packs_name) : directory.error();
  if (!texts) return texts.error();
  stream::Stored stored;
  stored.position = (*manifest)->position;
  for (const auto& [name, section] : (*manifest)->sections) {
    auto bytes = read_section(*directory, name, section);
    if (!bytes) return bytes.error();
    stored.sections.emplace(name, std::move(*bytes));
  }
  for (const auto& [hash, sum] : (*manifest)->packs) {
    const fs::path path = texts->path() / hash;
    if (!names_a_file(hash))
      return in_file(directory->path() / manifest_name, {Errc::malformed, "it names a pack that is none"});
    auto text = texts->read(hash);
    if (!text) return in_file(path, text.error());
    if (checksum(*text) != sum) return in_file(path, {Errc::torn, "the pack is not the one that the manifest names"});
    stored.packs.push_back({hash, std::move(*text)});
  }
  s.in_force = std::move(**manifest);
  return std::optional{std::move(stored)};
}

Result<std::optional<Position>> StateStore::position() {
  const auto manifest = state_->read_manifest();
  if (!manifest) return manifest.error();
  return *manifest ? std::optional{(*manifest)->position} : std::nullopt;
}

Result<void> StateStore::store(const stream::Bundle& bundle) {
  State& s = *state_;
  if (!s.in_force) {
    auto manifest = s.read_manifest();
    if (!manifest) return manifest.error();
    s.in_force = manifest->value_or(Manifest{});
  }
  Manifest next = *s.in_force;
  ++next.generation;
  next.position = bundle.position;
  if (auto written = s.write(bundle, next); !written) {
    // Where the new manifest had its name already, what it names stays, and so does what the former one names.
    const std::uint64_t former = s.in_force->generation;
    s.in_force.reset();
    const auto manifest = s.read_manifest();
    if (manifest && manifest->value_or(Manifest{}).generation == former)
      s.remove_unnamed(manifest->value_or(Manifest{}));
    return written;
  }
  s.in_force = std::move(next);
  s.remove_unnamed(*s.in_force);
  return {};
}

bool StateStore::has_pack(std::string_view hash) const {
  return state_->in_force && state_->in_force->packs.contains(hash);
}

}  // namespace tocsin::adapters::journal
