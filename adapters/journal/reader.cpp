#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "adapters/journal/directory.h"
#include "adapters/journal/frame.h"
#include "adapters/journal/journal.h"

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
namespace fs = std::filesystem;

struct Reader::State {
  OpenDirectory directory;
  File file{};
  std::uint64_t segment = 0;        // position of the open segment
  std::uint64_t position = 0;       // of the next frame
  std::vector<std::byte> buffer{};  // bytes [from, to) lie at `position`
  std::size_t from = 0, to = 0;
  std::uint64_t read_from = 0;                   // buffered bytes from this position on were read in one pass
  std::uint64_t waited_at = 0, waited_size = 0;  // a bad tail looked at before: not again until the segment grows
  std::uint64_t corrupt_frames = 0, corrupt_bytes = 0;
  std::uint64_t vain_bytes = 0;           // of this segment: of frames that turned out not to be whole
  std::uint64_t examined_bytes = 0;       // read, searched for a frame or compared with a checksum
  std::optional<std::uint64_t> newest{};  // the open segment, where none came after it when the directory was listed
  std::chrono::steady_clock::time_point listed{};

  [[nodiscard]] std::span<const std::byte> buffered() const { return std::span{buffer}.subspan(from, to - from); }

  Result<bool> open_at(std::uint64_t wanted);
  Result<bool> fill(std::size_t least);
  void discard() noexcept { from = to = 0, read_from = position; }
  Result<Found> look_at_position(FrameHeader& header);
  Result<std::optional<Segment>> following();
  enum class Bytes { buffered, all };
  Result<bool> resync(Bytes of);
  void skip_to(std::uint64_t next);
  Result<bool> of_another_version();  // the segment at whose beginning we are, and in which there is no whole frame
  [[nodiscard]] Error another_version() const;
};

// Opens the segment that holds `wanted`, or the first after it. False: there is none yet.
Result<bool> Reader::State::open_at(std::uint64_t wanted) {
  for (int attempt = 0; attempt < 10; ++attempt) {  // the oldest may be deleted while we look
    auto found = segments(directory);
    if (!found) return found.error();
    if (found->empty()) return false;
    auto after = std::upper_bound(found->begin(), found->end(), wanted,
                                  [](std::uint64_t p, const Segment& s) { return p < s.position; });
    const Segment& chosen = after == found->begin() ? *after : *std::prev(after);
    auto opened = directory.open(segment_name(chosen.position), O_RDONLY);
    if (!opened) {
      if (opened.error().code == Errc::not_found) continue;
      return opened.error();
    }
    file = std::move(*opened);
    segment = chosen.position;
    position = std::max(wanted, segment);
    discard();
    waited_size = vain_bytes = 0;
    return true;
  }
  return Error{Errc::io, "the segments of " + directory.path().string() +
                             " are deleted faster than they can be read: give the journal a larger cap"};
}

// Makes `least` bytes at `position` available, as far as they are written; true: they are.
Result<bool> Reader::State::fill(std::size_t least) {
  if (to - from >= least) return true;
  std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(from), buffer.begin() + static_cast<std::ptrdiff_t>(to),
            buffer.begin());
  to -= from;
  from = 0;
  const std::size_t wanted = std::max<std::size_t>(least, 1u << 20);
  if (buffer.size() < wanted) buffer.resize(wanted);
  const std::size_t before = to;
  while (to < least) {
    const ssize_t got =
        ::pread(file.get(), buffer.data() + to, buffer.size() - to, static_cast<off_t>(position - segment + to));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read the journal in", directory.path(), errno);
    if (got == 0) return false;
    read_from = position + before;
    to += static_cast<std::size_t>(got);
    examined_bytes += static_cast<std::uint64_t>(got);
  }
  return true;
}

Result<Found> Reader::State::look_at_position(FrameHeader& header) {
  if (auto filled = fill(header_bytes); !filled) return filled.error();
  auto found = look(buffered(), position, header);
  const std::uint64_t size = header_bytes + header.length;
  if (found == Found::incomplete && to - from >= header_bytes) {
    if (position + size > segment + file.size()) return found;
    if (auto filled = fill(size); !filled) return filled.error();
    found = look(buffered(), position, header);
  }
  if (found == Found::whole || plausible(header)) examined_bytes += size;
  if (found == Found::corrupt && plausible(header)) vain_bytes += size;
  return found;
}

// Asked at each look of a follower that has read all. Where ours is the newest segment, the next will be named by our
// position: the directory, which costs more than all else, is listed once a second, should that be wrong.
Result<std::optional<Segment>> Reader::State::following() {
  const auto now = std::chrono::steady_clock::now();
  if (newest == segment && now - listed < std::chrono::seconds{1} && !directory.holds(segment_name(position)))
    return std::optional<Segment>{};
  auto found = segments(directory);
  if (!found) return found.error();
  for (Segment& candidate : *found)
    if (candidate.position > segment) return std::optional{std::move(candidate)};
  newest = segment;
  listed = now;
  return std::optional<Segment>{};
}

// Goes on to the next whole frame of this segment, behind the bad one at `position`; false: there is none, and
// `position` stays. Of the buffered bytes only it is also false where more have to be read to know. The work for a
// whole segment is linear in its size, but for most_vain_bytes; then the rest of the segment is given up.
Result<bool> Reader::State::resync(Bytes of) {
  if (to == from) return false;
  const std::uint64_t begin = position, end = segment + file.size();
  const std::size_t begin_from = from;
  const auto advance = [&](std::size_t bytes) { position += bytes, from += bytes, examined_bytes += bytes; };
  const auto give_up = [&] {
    position = begin;
    if (of == Bytes::buffered) from = begin_from;
    else discard();
    return false;
  };
  advance(1);
  while (true) {
    const auto magic = next_magic(buffered());
    if (!magic) {
      if (to - from >= header_bytes) advance(to - from - header_bytes + 1);
      if (of == Bytes::buffered) return give_up();
      const auto filled = fill(header_bytes);
      if (!filled) return filled.error();
      if (!*filled) return give_up();
      continue;
    }
    advance(*magic);
    FrameHeader header = read_header(buffered());
    const std::uint64_t size = header_bytes + header.length;
    if (plausible(header) && position + size <= end) {
      if (vain_bytes + size > most_vain_bytes || (of == Bytes::buffered && to - from < size)) return give_up();
      if (auto filled = fill(size); !filled) return filled.error();
      examined_bytes += size;
      if (look(buffered(), position, header) == Found::whole) {
        corrupt_bytes += position - begin;
        ++corrupt_frames;
        return true;
      }
      vain_bytes += size;
    }
    advance(1);
  }
}

void Reader::State::skip_to(std::uint64_t next) {
  corrupt_bytes += next - position;
  ++corrupt_frames;
  position = next;
  discard();
}

Result<bool> Reader::State::of_another_version() {
  if (position != segment) return false;
  if (auto filled = fill(header_bytes); !filled || !*filled) return filled;
  const std::uint64_t size = header_bytes + read_header(buffered()).length;
  if (size <= file.size()) {
    if (auto filled = fill(size); !filled) return filled;
  }
  return journal::of_another_version(buffered(), position);
}

Error Reader::State::another_version() const {
  return {Errc::unknown_version, "the journal " + directory.path().string() +
                                     " was written by another version of this program: read it with that one"};
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

Result<Reader> Reader::open(const fs::path& directory) {
  auto opened = OpenDirectory::open(directory);
  std::error_code error;
  if (!opened && !fs::is_directory(directory, error))
    return Error{Errc::not_found,
                 "there is no journal " + directory.string() + ": `tocsin ingest` or `tocsin wrap` makes one"};
  if (!opened) return opened.error();
  auto state = std::make_unique<State>(State{std::move(*opened)});
  if (auto first = state->open_at(0); !first) return first.error();
  return Reader{std::move(state)};
}

Result<std::optional<Frame>> Reader::next() {
  State& s = *state_;
  if (!s.file) {
    auto opened = s.open_at(s.position);
    if (!opened) return opened.error();
    if (!*opened) return std::optional<Frame>{};
  }
  while (true) {
    FrameHeader header;
    auto found = s.look_at_position(header);
    if (!found) return found.error();
    if (*found != Found::whole && s.read_from <= s.position) {
      // A whole frame follows among the bytes that were read together with these: the writer cuts a torn tail before it
      // goes on, so these are no tail.
      auto skipped = s.resync(State::Bytes::buffered);
      if (!skipped) return skipped.error();
      if (*skipped) continue;
    }
    if (*found != Found::whole) {
      // What is buffered may be old: a torn tail is cut and written over. Look again at what is there now. Whether a
      // segment follows is asked first: if one does, this one is complete.
      const bool deleted = s.file.deleted();
      auto after = s.following();
      if (!after) return after.error();
      if (deleted && !*after)
        return Error{Errc::not_found, "the journal " + s.directory.path().string() + " was deleted while it was read"};
      s.discard();
      found = s.look_at_position(header);
      if (!found) return found.error();
      if (*found != Found::whole) {
        const bool empty = s.to == s.from;
        if (!empty) {
          const std::uint64_t size = s.file.size();
          if (!*after && s.waited_at == s.position && s.waited_size == size) return std::optional<Frame>{};
          auto skipped = s.resync(State::Bytes::all);
          if (!skipped) return skipped.error();
          if (*skipped) continue;
          if (auto other = s.of_another_version(); !other || *other) return other ? s.another_version() : other.error();
          s.waited_at = s.position;
          s.waited_size = size;
        }
        if (!*after) return std::optional<Frame>{};
        const std::uint64_t next_position = (*after)->position;
        if (next_position > s.position)
          s.skip_to(next_position);  // its tail, or segments deleted before they were read
        if (auto opened = s.open_at(next_position); !opened) return opened.error();
        continue;
      }
    }
    const std::size_t size = header_bytes + header.length;
    Frame frame;
    frame.position = static_cast<Position>(s.position);
    frame.next = static_cast<Position>(s.position + size);
    frame.arrival = stream::at_nanoseconds(header.arrival);
    frame.payload = s.buffered().subspan(header_bytes, header.length);
    s.position += size;
    s.from += size;
    return std::optional{frame};
  }
}

Result<void> Reader::seek(Position position) {
  State& s = *state_;
  const auto wanted = static_cast<std::uint64_t>(position);
  auto found = segments(s.directory);
  if (!found) return found.error();
  if (wanted != 0 && (found->empty() || wanted < found->front().position))
    return Error{Errc::not_found, "the journal " + s.directory.path().string() + " no longer holds position " +
                                      std::to_string(wanted) + ": give it a larger cap, or begin at its first record"};
  auto opened = s.open_at(wanted);
  if (!opened) return opened.error();
  if (s.file && wanted > s.segment + s.file.size()) {
    return Error{Errc::not_found, "the journal " + s.directory.path().string() + " ends before position " +
                                      std::to_string(wanted) + ": it is not the one that the position was taken from"};
  }
  return {};
}

Result<Position> Reader::oldest() const {
  auto found = segments(state_->directory);
  if (!found) return found.error();
  return static_cast<Position>(found->empty() ? 0 : found->front().position);
}

std::uint64_t Reader::corrupt_frames() const noexcept { return state_->corrupt_frames; }
std::uint64_t Reader::corrupt_bytes() const noexcept { return state_->corrupt_bytes; }
std::uint64_t Reader::examined_bytes() const noexcept { return state_->examined_bytes; }

}  // namespace tocsin::adapters::journal
