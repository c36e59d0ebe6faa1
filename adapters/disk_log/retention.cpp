#include "adapters/disk_log/retention.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "adapters/journal/frame.h"

namespace tocsin::adapters::disk_log {

using stream::Result;

namespace {

// When the first entry of a segment was appended; nullopt: unreadable.
std::optional<stream::Time> begin_of(const journal::OpenDirectory& journal, std::uint64_t position) {
  const auto file = journal.open(journal::segment_name(position), O_RDONLY);
  std::array<std::byte, journal::header_bytes> bytes{};
  if (!file || ::pread(file->get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  const journal::FrameHeader header = journal::read_header(bytes);
  return journal::plausible(header) ? std::optional{stream::at_nanoseconds(header.arrival)} : std::nullopt;
}

}  // namespace

Result<std::size_t> delete_segments(const journal::OpenDirectory& journal, const Retention& retention,
                                    stream::Position end) {
  const auto all = journal::segments(journal);
  if (!all) return all.error();
  std::size_t deleted = 0;
  for (std::size_t i = 0; i + 1 < all->size(); ++i) {
    const std::uint64_t next = (*all)[i + 1].position;
    if (next > static_cast<std::uint64_t>(retention.needed)) break;
    const bool too_many = static_cast<std::uint64_t>(end) - next >= retention.most_bytes;
    const auto next_begins = begin_of(journal, next);
    if (!too_many && !(next_begins && *next_begins < retention.oldest)) break;
    if (auto removed = journal.remove(journal::segment_name((*all)[i].position)); !removed) return removed.error();
    ++deleted;
  }
  return deleted;
}

}  // namespace tocsin::adapters::disk_log
