#include "adapters/packs/pattern_cache.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "adapters/journal/directory.h"
#include "stream/values/digest.h"

namespace tocsin::adapters::packs {
namespace {

namespace fs = std::filesystem;

using journal::OpenDirectory;
constexpr std::uint64_t most_bytes = 256 << 20;

// The directory; an error: it is not there, or somebody else can write it. Its content is executed.
stream::Result<OpenDirectory> open_of(uid_t user, const fs::path& path) {
  auto opened = OpenDirectory::open(path);
  if (opened && !journal::only_writable_by(user, path))
    return stream::Error{stream::Errc::refused, "others may write it"};
  return opened;
}

bool only_writable_by(uid_t user, const journal::File& file) {
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && (found.st_uid == user || found.st_uid == 0) &&
         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

uid_t owner_of_program() {
  struct stat found {};
  return ::stat("/proc/self/exe", &found) == 0 ? found.st_uid : 0;
}

std::string checksum(std::string_view program, std::string_view bytes) {
  const std::uint64_t sum = stream::hash_text(bytes, stream::hash_text(program));
  return {reinterpret_cast<const char*>(&sum), sizeof sum};
}

}  // namespace

fs::path cache_directory() {
  if (const char* given = std::getenv("TOCSIN_CACHE"); given != nullptr) return given;
  if (const char* given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given == '/')
    return fs::path{given} / "tocsin";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path{home} / ".cache/tocsin" : fs::path{};
}

fs::path shipped_directory() {
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  if (!error)
    for (const char* beside : {"compiled", "../share/tocsin/compiled"})
      if (auto path = program.parent_path() / beside; fs::exists(path, error)) return path;
  return {};
}

std::string program_hash() {
  std::string hash;
  ::dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* to) {
        for (const ElfW(Phdr)* part = program->dlpi_phdr; part != program->dlpi_phdr + program->dlpi_phnum; ++part) {
          const char* at = reinterpret_cast<const char*>(program->dlpi_addr + part->p_vaddr);
          for (const char* end = part->p_type == PT_NOTE ? at + part->p_memsz : at; at < end;) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
            const char* content = at + sizeof note + padded(note.n_namesz);
            if (note.n_type == NT_GNU_BUILD_ID) static_cast<std::string*>(to)->assign(content, note.n_descsz);
            at = content + padded(note.n_descsz);
          }
        }
        return 1;  // the first is the program, the others are libraries
      },
      &hash);
  return hash;
}

std::optional<std::string> PatternCache::find(std::string_view name) {
  if (auto shipped = read(shipped_, owner_of_program(), name)) return shipped;
  return read(directory_, ::geteuid(), name);
}

std::optional<std::string> PatternCache::read(const fs::path& from, uid_t user, std::string_view name) const {
  if (from.empty()) return std::nullopt;
  const auto directory = open_of(user, from);
  const auto file = directory ? directory->open(std::string{name}, O_RDONLY) : directory.error();
  if (!file || !only_writable_by(user, *file) || file->size() > most_bytes) return std::nullopt;
  auto bytes = directory->read(std::string{name});
  const std::size_t sum = checksum({}, {}).size();
  if (!bytes || bytes->size() < sum || program_.empty() ||
      checksum(program_, std::string_view{*bytes}.substr(sum)) != bytes->substr(0, sum))
    return std::nullopt;
  if (&from == &directory_) ::futimens(file->get(), nullptr);  // it was used: others go first
  bytes->erase(0, sum);
  return std::move(*bytes);
}

void PatternCache::keep(std::string_view name, std::string_view bytes) {
  if (directory_.empty() || program_.empty() || !journal::make_private(directory_)) return;
  const auto directory = open_of(::geteuid(), directory_);
  if (!directory) return;
  (void)directory->write(std::string{name}, checksum(program_, bytes).append(bytes));
  forget_oldest();
}

void PatternCache::forget_oldest() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    if (!gone && entry.path().filename().string().starts_with("patterns-")) files.emplace_back(time, entry.path());
  }
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i + most_files < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace tocsin::adapters::packs
