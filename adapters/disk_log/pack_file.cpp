#include "adapters/disk_log/pack_file.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

#include "adapters/journal/directory.h"
#include "stream/values/archive.h"

namespace tocsin::adapters::disk_log {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr std::string_view magic = "TOCP0001";

std::uint64_t checksum(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace

Result<std::unique_ptr<PackFile>> PackFile::open(const std::filesystem::path& directory,
                                                 std::function<stream::Time()> now) {
  std::unique_ptr<PackFile> file{new PackFile{directory / "packs", std::move(now)}};
  auto text = journal::read_whole(file->path_);
  if (!text && text.error().code == Errc::not_found) return file;
  if (!text) return text.error();
  std::string_view rest = *text;
  std::uint64_t sum = 0;
  bool whole = rest.starts_with(magic) && rest.size() >= magic.size() + sizeof sum;
  if (whole) {
    std::memcpy(&sum, rest.data() + magic.size(), sizeof sum);
    rest.remove_prefix(magic.size() + sizeof sum);
    whole = sum == checksum(rest);
  }
  if (whole) {
    stream::Reader in{std::as_bytes(std::span{rest})};
    Content::fields(file->content_, in);
    whole = static_cast<bool>(in.status());
  }
  if (!whole)
    return Error{Errc::torn, file->path_.string() +
                                 " is damaged, or of another version of this program: move it away, and the configured "
                                 "rules are announced again"};
  return file;
}

Result<void> PackFile::read(std::int64_t from, const std::function<void(const Record&)>& visit) {
  for (const Kept& one : content_.records)
    if (one.offset >= from)
      visit({one.offset, one.appended, one.key, std::as_bytes(std::span{one.value}), one.tombstone});
  return {};
}

Result<void> PackFile::write(std::span<const Outgoing> records) {
  Content next = content_;
  const stream::Time now = now_();
  std::erase_if(next.records, [&](const Kept& known) {
    return known.tombstone ||
           std::any_of(records.begin(), records.end(), [&](const Outgoing& one) { return one.key == known.key; });
  });
  Content stored = next;
  for (const Outgoing& one : records) {
    const std::string_view value{reinterpret_cast<const char*>(one.value.data()), one.value.size()};
    next.records.push_back({next.next++, now, std::string{one.key}, std::string{value}, one.value.data() == nullptr});
    if (!next.records.back().tombstone) stored.records.push_back(next.records.back());
  }
  stored.next = next.next;
  stream::Writer out;
  Content::fields(stored, out);
  const auto bytes = out.bytes();
  const std::string_view fields{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::uint64_t sum = checksum(fields);
  std::string text{magic};
  text.append(reinterpret_cast<const char*>(&sum), sizeof sum).append(fields);
  if (auto written = journal::write_whole(path_, text); !written) return written;
  content_ = std::move(next);
  return {};
}

}  // namespace tocsin::adapters::disk_log
