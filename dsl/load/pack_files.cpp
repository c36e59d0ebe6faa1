// A pack as files: from a directory, as the text of a pack record, and its hash.
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "dsl/load/loader.h"
#include "dsl/load/text_definitions.h"

namespace tocsin::dsl {
namespace {

using stream::Errc;
using stream::Error;
namespace fs = std::filesystem;

constexpr std::size_t largest_file = 4u << 20, largest_pack = 64u << 20;
constexpr std::string_view magic = "tocsin-pack 1\n";

stream::Result<std::string> read_file(const fs::path& path) {
  std::ifstream in{path, std::ios::binary | std::ios::ate};
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size > static_cast<std::streamoff>(largest_file))
    return Error{Errc::too_large, path.string() + " is over 4 MiB: divide it"};
  std::string text(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)), '\0');
  in.seekg(0);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in || size < 0) return Error{Errc::io, path.string() + " cannot be read: check its permissions"};
  return text;
}

}  // namespace

stream::Result<std::vector<fs::path>> pack_paths(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return Error{Errc::not_found, directory.string() + " is not a directory: name the directory of the rules"};
  std::vector<fs::path> paths;
  std::set<fs::path> entered{fs::canonical(directory, error)};
  constexpr auto follow = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator entry{directory, follow, error}, end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with(".")) {
      entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_directory(error)) {
      if (!entered.insert(fs::canonical(path, error)).second)
        return Error{Errc::io,
                     path.string() + " leads to a directory that is among the rules already: remove the link"};
      continue;
    }
    error.clear();  // of a link that leads nowhere
    if (path.extension() != ".lua") continue;
    if (!fs::exists(path, error))
      return Error{Errc::io, path.string() + " is a link that cannot be followed: check where it leads"};
    if (entry->is_regular_file(error)) paths.push_back(path);
  }
  if (error) return Error{Errc::io, directory.string() + ": " + error.message()};
  return paths;
}

stream::Result<PackFiles> read_pack(const fs::path& directory) {
  const auto paths = pack_paths(directory);
  if (!paths) return paths.error();
  PackFiles files;
  std::size_t total = 0;
  for (const fs::path& path : *paths) {
    auto text = read_file(path);
    if (!text) return text.error();
    total += text->size();
    if (total > largest_pack)
      return Error{Errc::too_large, directory.string() + " holds over 64 MiB of rules: is it the right directory?"};
    files[path.lexically_relative(directory).generic_string()] = std::move(*text);
  }
  if (files.empty())
    return Error{Errc::not_found, directory.string() + " holds no .lua file: name the directory of the rules"};
  return files;
}

std::string pack_hash(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const XXH64_hash_t half : {hash.high64, hash.low64})
    for (int shift = 60; shift >= 0; shift -= 4) hex += digits[half >> shift & 0xF];
  return hex;
}

// Each file: the sizes of its path and its text on a line, then both.
std::string pack_text(const PackFiles& files) {
  std::string out{magic};
  for (const auto& [path, text] : files) {
    out += std::to_string(path.size()) + " " + std::to_string(text.size()) + "\n";
    out += path;
    out += text;
  }
  return out;
}

namespace {

// A file of a pack's text: its path and its text.
using FileInText = std::pair<std::string_view, std::string_view>;

// Takes the next file from the text; nullopt: it is not what its format says.
std::optional<FileInText> take_file(std::string_view& text) {
  std::size_t sizes[2]{};
  for (const char separator : {' ', '\n'}) {
    std::size_t& size = sizes[separator == ' ' ? 0 : 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto used = static_cast<std::size_t>(end - text.data());
    if (error != std::errc{} || used >= text.size() || text[used] != separator) return std::nullopt;
    text.remove_prefix(used + 1);
  }
  if (sizes[0] > text.size() || sizes[1] > text.size() - sizes[0]) return std::nullopt;
  const FileInText file{text.substr(0, sizes[0]), text.substr(sizes[0], sizes[1])};
  text.remove_prefix(sizes[0] + sizes[1]);
  return file;
}

}  // namespace

stream::Result<PackFiles> pack_files(std::string_view text) {
  const Error torn{Errc::malformed, "the text of a pack is not what its format says: was it cut?"};
  if (!text.starts_with(magic)) return torn;
  text.remove_prefix(magic.size());
  PackFiles files;
  while (!text.empty()) {
    const auto file = take_file(text);
    if (!file) return torn;
    files.emplace(file->first, file->second);
  }
  return files;
}

PackDirectories::PackDirectories(const PackFiles& files) {
  const auto listed = files.find(directories_file);
  if (listed == files.end()) return;
  std::istringstream lines{listed->second};
  for (std::string line; std::getline(lines, line);) directories_.push_back(line);
}

std::size_t PackDirectories::of(std::string_view path) const noexcept {
  std::optional<std::size_t> place;
  for (std::size_t i = 0; i < directories_.size(); ++i)
    if (path.starts_with(directories_[i]) && (!place || directories_[i].size() > directories_[*place].size()))
      place = i;
  return place.value_or(0);
}

std::string_view PackDirectories::within(std::string_view path) const noexcept {
  const std::size_t place = of(path);
  return path.substr(place < directories_.size() && path.starts_with(directories_[place]) ? directories_[place].size()
                                                                                          : 0);
}

std::vector<std::string_view> pack_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  if (rest.starts_with(magic)) rest.remove_prefix(magic.size());
  const auto cut = [&](std::string_view before) { parts.push_back(before.substr(0, before.size() - rest.size())); };
  if (rest.size() < text.size()) cut(text);
  while (!rest.empty()) {
    const std::string_view before = rest;
    if (!take_file(rest)) rest = {};
    cut(before);
  }
  return parts;
}

}  // namespace tocsin::dsl
