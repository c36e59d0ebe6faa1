#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "adapters/journal/directory.h"
#include "adapters/journal/frame.h"
#include "adapters/journal/journal.h"

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using stream::Time;
namespace fs = std::filesystem;

namespace {

struct Tail {
  std::uint64_t whole = 0;  // bytes up to the end of the last whole frame
  Time last_arrival = stream::long_ago;
};

// Walks over a segment; what is corrupt between whole frames stays, what comes after the last one is the tail.
Tail scan(std::span<const std::byte> bytes, std::uint64_t position) {
  Tail tail;
  for (auto at = next_whole(bytes, position, 0); at; at = next_whole(bytes, position, tail.whole)) {
    const FrameHeader header = read_header(bytes.subspan(*at));
    tail = {*at + header_bytes + header.length, std::max(tail.last_arrival, stream::at_nanoseconds(header.arrival))};
  }
  return tail;
}

// Tried for a moment: is_written() holds the lock for an instant.
bool lock_for_writing(const File& lock) {
  for (int attempt = 0; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK || attempt == 5) return false;
    ::usleep(10'000);
  }
  return true;
}

}  // namespace

bool is_written(const fs::path& directory) {
  const auto opened = OpenDirectory::open(directory);
  const auto lock = opened ? opened->open("lock", O_RDONLY) : opened.error();
  return lock && ::flock(lock->get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

struct Writer::State {
  OpenDirectory directory;
  WriterOptions options;
  File lock{}, file{};
  std::uint64_t segment = 0;  // position of the open segment
  std::uint64_t written = 0;  // bytes in it
  std::uint64_t cut = 0;
  Time last_arrival = stream::long_ago;
  bool directory_dirty = true;

  Result<void> open_segment(std::uint64_t position) {
    auto opened = directory.open(segment_name(position), O_RDWR | O_CREAT);
    file = opened ? std::move(*opened) : File{};
    if (!opened) return opened.error();
    segment = position;
    written = 0;
    directory_dirty = true;
    return {};
  }

  std::vector<File> finished{};  // segments that are full and not yet synced
  std::vector<std::vector<std::byte>> carried{};
  std::vector<std::byte> frames{};  // scratch of append

  Result<void> sync_finished() {
    for (const File& full : finished)
      if (::fdatasync(full.get()) != 0) return io_error("sync the journal in", directory.path(), errno);
    finished.clear();
    return {};
  }
  Result<void> go_on();
  Result<void> next_segment();
  Result<void> drop_oldest();
};

// Behind the last whole frame of what is there.
Result<void> Writer::State::go_on() {
  auto found = segments(directory);
  if (!found) return found.error();
  if (found->empty()) return open_segment(0);
  for (auto newest = found->rbegin(); newest != found->rend(); ++newest) {
    auto bytes = directory.read(segment_name(newest->position));
    if (!bytes) return bytes.error();
    const auto content = std::as_bytes(std::span{*bytes});
    if (of_another_version(content, newest->position) && !next_whole(content, newest->position, 0))
      return Error{Errc::unknown_version,
                   newest->path.string() +
                       " was written by another version of this program: use that one, or another directory"};
    const Tail tail = scan(content, newest->position);
    last_arrival = std::max(last_arrival, tail.last_arrival);
    if (newest == found->rbegin()) {
      if (auto opened = open_segment(newest->position); !opened) return opened;
      cut = bytes->size() - tail.whole;
      if (cut != 0 && ::ftruncate(file.get(), static_cast<off_t>(tail.whole)) != 0)
        return io_error("cut the torn tail of", newest->path, errno);
      written = tail.whole;
    }
    if (last_arrival != stream::long_ago) break;
  }
  return {};
}

Result<void> Writer::State::next_segment() {
  finished.push_back(std::move(file));
  if (finished.size() > 4)
    if (auto synced = sync_finished(); !synced) return synced;
  return open_segment(segment + written);
}

Result<void> Writer::State::drop_oldest() {
  if (options.most_bytes == 0) return {};
  auto found = segments(directory);
  if (!found) return found.error();
  for (const Segment& oldest : *found) {
    // With room for the segment that was just begun.
    if (oldest.position == segment || segment + options.segment_bytes - oldest.position <= options.most_bytes) break;
    if (auto removed = directory.remove(segment_name(oldest.position));
        !removed && removed.error().code != Errc::not_found)
      return removed;
    directory_dirty = true;
  }
  return {};
}

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

Result<Writer> Writer::open(const fs::path& directory, WriterOptions options) {
  if (auto made = make_private(directory); !made) return made.error();
  auto opened = OpenDirectory::open(directory);
  if (!opened) return opened.error();
  auto lock = opened->open("lock", O_RDWR | O_CREAT);
  if (!lock) return lock.error();
  auto state = std::make_unique<State>(State{std::move(*opened), options, std::move(*lock)});
  if (!lock_for_writing(state->lock))
    return Error{Errc::refused,
                 "another process writes the journal " + directory.string() + ": stop it, or choose another directory"};
  if (auto ready = state->go_on(); !ready) return ready.error();
  return Writer{std::move(state)};
}

void Writer::carry(std::vector<std::vector<std::byte>> payloads) { state_->carried = std::move(payloads); }

namespace {

// Puts the payload's frame behind what is there, for the position at which `out` begins.
void add_frame(std::vector<std::byte>& out, std::uint64_t begin, std::span<const std::byte> payload, Time arrival) {
  const std::size_t at = out.size();
  FrameHeader header;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.arrival = stream::nanoseconds(arrival);
  out.resize(at + header_bytes + payload.size());
  std::memcpy(out.data() + at, &header, header_bytes);
  if (!payload.empty()) std::memcpy(out.data() + at + header_bytes, payload.data(), payload.size());
  header.checksum = checksum(std::span{out}.subspan(at), begin + at);
  std::memcpy(out.data() + at, &header, header_bytes);
}

}  // namespace

Result<Position> Writer::append(std::span<const std::byte> payload, Time arrival) {
  State& s = *state_;
  if (payload.size() > most_payload_bytes)
    return Error{Errc::too_large, "a frame of " + std::to_string(payload.size()) + " bytes: at most " +
                                      std::to_string(most_payload_bytes) + " are written, so make smaller batches"};
  const std::uint64_t size = header_bytes + payload.size();
  if (s.written != 0 && s.written + size > s.options.segment_bytes) {
    if (auto next = s.next_segment(); !next) return next.error();
    if (auto dropped = s.drop_oldest(); !dropped) return dropped.error();
  }
  const Time stamped = std::max(arrival, s.last_arrival);
  auto& frames = s.frames;
  frames.clear();
  if (s.written == 0)
    for (const auto& carried : s.carried) add_frame(frames, s.segment, carried, stamped);
  const std::uint64_t position = s.segment + s.written + frames.size();
  add_frame(frames, s.segment + s.written, payload, stamped);

  for (std::size_t done = 0; done < frames.size();) {
    const ssize_t wrote =
        ::pwrite(s.file.get(), frames.data() + done, frames.size() - done, static_cast<off_t>(s.written + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int reason = errno;
      if (::ftruncate(s.file.get(), static_cast<off_t>(s.written)) != 0) {
      }  // half a frame: readers wait at it, the next open cuts it
      return io_error("append to the journal in", s.directory.path(), reason);
    }
    done += static_cast<std::size_t>(wrote);
  }
  s.last_arrival = stamped;
  s.written += frames.size();
  if (frames.capacity() > (1u << 20)) std::vector<std::byte>{}.swap(frames);
  return static_cast<Position>(position);
}

Result<void> Writer::reserve(std::uint64_t bytes) {
  const State& s = *state_;
  rlimit largest{};  // the kernel holds write() to it, but not an fallocate() that keeps the size
  if (::getrlimit(RLIMIT_FSIZE, &largest) == 0 && s.written + bytes > largest.rlim_cur)
    return io_error("append to the journal in", s.directory.path(), EFBIG);
  while (::fallocate(s.file.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(s.written), static_cast<off_t>(bytes)) !=
         0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
    if (errno != EINTR) return io_error("append to the journal in", s.directory.path(), errno);
  }
  return {};
}

Result<void> Writer::sync(bool names) {
  if (auto synced = state_->sync_finished(); !synced) return synced;
  if (::fdatasync(state_->file.get()) != 0) return io_error("sync the journal in", state_->directory.path(), errno);
  if (!names || !state_->directory_dirty) return {};
  if (auto synced = state_->directory.sync(); !synced) return synced;
  state_->directory_dirty = false;
  return {};
}

Position Writer::end() const noexcept { return static_cast<Position>(state_->segment + state_->written); }
std::uint64_t Writer::cut_bytes() const noexcept { return state_->cut; }
Time Writer::last_arrival() const noexcept { return state_->last_arrival; }

}  // namespace tocsin::adapters::journal
