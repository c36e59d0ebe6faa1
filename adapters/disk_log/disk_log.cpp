#include "adapters/disk_log/disk_log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "adapters/disk_log/retention.h"

namespace tocsin::adapters::disk_log {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using stream::Time;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {

constexpr auto between_syncs = 20ms, between_looks = 1000ms;
constexpr std::uint64_t most_left_free = 64u << 20, tried_bytes = 1u << 20;
constexpr std::string_view layout_name = "layout", layout_form = "tocsin log 1, partitions: ";

Time wall_now() { return std::chrono::time_point_cast<stream::Duration>(std::chrono::system_clock::now()); }

// The process that has locked the log, as it wrote itself; empty: unreadable.
std::string holder_of(const journal::OpenDirectory& directory) {
  auto text = directory.read("lock");
  if (!text || text->empty() || text->find_first_not_of("0123456789\n") != text->npos) return {};
  return "process " + text->substr(0, text->find('\n'));
}

}  // namespace

DiskLog::DiskLog(DiskLogOptions options, journal::OpenDirectory directory, journal::File lock)
    : options_(std::move(options)), directory_(std::move(directory)), lock_(std::move(lock)) {}

DiskLog::~DiskLog() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Result<std::unique_ptr<DiskLog>> DiskLog::open(DiskLogOptions options) {
  if (auto made = journal::make_private(options.directory); !made) return made.error();
  auto directory = journal::OpenDirectory::open(options.directory);
  if (!directory) return directory.error();
  auto lock = directory->open("lock", O_RDWR | O_CREAT);
  if (!lock) return lock.error();
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = holder_of(*directory);
    return Error{Errc::refused, (holder.empty() ? "another process" : holder) + " uses the log in " +
                                    options.directory.string() +
                                    ": stop it, or name another directory in log.directory"};
  }
  const std::string pid = std::to_string(::getpid()) + '\n';
  if (::ftruncate(lock->get(), 0) != 0) return journal::io_error("write", options.directory / "lock", errno);
  if (auto written = journal::write_all(*lock, options.directory / "lock", pid); !written) return written.error();
  std::unique_ptr<DiskLog> log{new DiskLog{std::move(options), std::move(*directory), std::move(*lock)}};
  if (auto begun = log->begin(); !begun) return begun.error();
  return log;
}

Result<int> partitions_in(const fs::path& directory) {
  const auto text = journal::read_whole(directory / layout_name);
  if (!text) return text.error();
  int count = 0;
  const std::string_view rest = std::string_view{*text}.substr(std::min(layout_form.size(), text->size()));
  const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  if (text->starts_with(layout_form) && wrong == std::errc{} && end != rest.data() + rest.size() && *end == '\n' &&
      count > 0)
    return count;
  return Error{Errc::unknown_version, (directory / layout_name).string() +
                                          " was written by another version of this program: use that one, or name "
                                          "another directory in log.directory"};
}

fs::path partition_directory(const fs::path& directory, int partition) {
  return directory / ("partition-" + std::to_string(partition));
}

// A job's partition follows from their number, so that it cannot change while the log has entries.
Result<void> DiskLog::check_layout() {
  const auto there = partitions_in(options_.directory);
  if (!there && there.error().code == Errc::not_found) {
    int found = 0;
    while (directory_.holds(partition_directory({}, found))) ++found;
    if (found > 0 && found != options_.partitions)
      return Error{Errc::refused, "the log in " + options_.directory.string() + " has no file " +
                                      std::string{layout_name} + " any more: it has directories of " +
                                      std::to_string(found) + " partitions, and log.partitions is " +
                                      std::to_string(options_.partitions) +
                                      ": write log.partitions: " + std::to_string(found) + ", or restore that file"};
    return directory_.write(std::string{layout_name},
                            std::string{layout_form} + std::to_string(options_.partitions) + '\n');
  }
  if (!there) return there.error();
  if (*there == options_.partitions) return {};
  const std::string count = std::to_string(*there);
  return Error{Errc::refused, "the log in " + options_.directory.string() + " has " + count +
                                  " partitions, and log.partitions is " + std::to_string(options_.partitions) +
                                  ": write log.partitions: " + count + ", or name a new directory in log.directory"};
}

Result<void> DiskLog::begin() {
  if (auto fits = check_layout(); !fits) return fits;
  Time last = stream::long_ago;
  for (int partition = 0; partition < options_.partitions; ++partition) {
    auto writer = journal::Writer::open(directory_of(partition), segments());
    if (!writer) return writer.error();
    auto directory = journal::OpenDirectory::open(directory_of(partition));
    if (!directory) return directory.error();
    if (const std::uint64_t cut = writer->cut_bytes(); cut > 0)
      options_.warn("partition " + std::to_string(partition) + ": the last " + std::to_string(cut) +
                    " bytes of the log were not written to their end and are cut off");
    last = std::max(last, writer->last_arrival());
    partitions_.push_back(std::make_unique<Partition>(std::move(*directory), std::move(*writer)));
  }
  clock_.emplace(last);
  if (last > wall_now() + 1min)
    options_.warn("the newest entry of the log is " +
                  std::to_string(std::chrono::duration_cast<std::chrono::seconds>(last - wall_now()).count()) +
                  " s ahead of this machine's clock: the log's time runs at half speed until the clock catches up");
  struct statvfs disk {};
  if (::statvfs(options_.directory.c_str(), &disk) == 0)
    least_free_ = std::min<std::uint64_t>(most_left_free, disk.f_blocks * disk.f_frsize / 20);
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the process' signals are for other threads
  thread_ = std::thread{[this] { run(); }};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return {};
}

Result<void> DiskLog::append(int partition, std::span<const std::byte> message, bool control) {
  Partition& to = *partitions_[static_cast<std::size_t>(partition)];
  {
    const std::lock_guard lock{mutex_};
    if (broken_) return *broken_;
    if (full_ && (!control || nothing_left_)) return *full_;
  }
  {
    const std::lock_guard lock{to.mutex};
    auto written = to.writer.append(message, now());
    if (!written && written.error().code == Errc::io) {
      const std::lock_guard state{mutex_};
      stop_taking();
      nothing_left_ = to.refused = true;
      return *full_;
    }
    if (!written) return written.error();
    to.dirty = true;
    to.end = to.writer.end();
  }
  const std::lock_guard lock{mutex_};
  ++appended_;
  more_.notify_all();
  return {};
}

Result<bool> DiskLog::flush(std::chrono::milliseconds wait) {
  std::unique_lock lock{mutex_};
  const std::uint64_t target = appended_;
  wanted_ = std::max(wanted_, target);
  changed_.notify_all();
  const bool synced = flushed_.wait_for(lock, wait, [&] { return broken_ || synced_ >= target; });
  if (broken_) return *broken_;
  return synced;
}

std::optional<Error> DiskLog::full() const {
  const std::lock_guard lock{mutex_};
  return full_;
}

bool DiskLog::takes_controls() const noexcept {
  const std::lock_guard lock{mutex_};
  return !nothing_left_;
}

Position DiskLog::end(int partition) const noexcept { return partitions_[static_cast<std::size_t>(partition)]->end; }

bool DiskLog::wait_for_more(int partition, Position position, std::chrono::milliseconds wait) const {
  std::unique_lock lock{mutex_};
  return more_.wait_for(lock, wait, [&] { return end(partition) > position; });
}

Time DiskLog::now() {
  const std::lock_guard lock{mutex_};
  return clock_->now(wall_now(), Clock::now());
}

void DiskLog::run() {
  auto next_look = Clock::now();
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait_until(lock, next_look, [this] { return stopping_ || wanted_ > synced_; });
    if (wanted_ > synced_ && !broken_) {
      const std::uint64_t reached = appended_;
      lock.unlock();
      const auto synced = sync();
      lock.lock();
      if (synced) synced_ = reached;
      else broken_ = Error{Errc::io, synced.error().message + ": start tocsin again when the disk works"};
      flushed_.notify_all();
      changed_.wait_for(lock, between_syncs, [this] { return stopping_; });  // others join the next one
    }
    if (stopping_) return;
    if (Clock::now() < next_look) continue;
    next_look = Clock::now() + between_looks;
    lock.unlock();
    apply_retention();
    look_for_room();
    lock.lock();
  }
}

Result<void> DiskLog::sync() {
  for (const auto& partition : partitions_) {
    const std::lock_guard lock{partition->mutex};
    if (!std::exchange(partition->dirty, false)) continue;
    if (auto synced = partition->writer.sync(); !synced) return synced;
  }
  return {};
}

// So small that retention, which deletes whole segments, keeps about what it is to keep.
journal::WriterOptions DiskLog::segments() const {
  const std::uint64_t share = options_.retention_bytes / static_cast<std::uint64_t>(options_.partitions);
  return {.segment_bytes = std::clamp<std::uint64_t>(share / 8, 64u << 10, 64u << 20)};
}

void DiskLog::needs_from(int partition, Position position) noexcept {
  partitions_[static_cast<std::size_t>(partition)]->needed = position;
}

void DiskLog::apply_retention() {
  const Time oldest = now() - options_.retention;
  const std::uint64_t share = options_.retention_bytes / static_cast<std::uint64_t>(options_.partitions);
  for (const auto& partition : partitions_)
    if (const auto deleted = delete_segments(partition->directory, {oldest, share, partition->needed}, partition->end);
        !deleted)
      options_.warn(deleted.error().message);
}

std::uint64_t DiskLog::free_bytes() const {
  struct statvfs disk {};
  return ::statvfs(options_.directory.c_str(), &disk) == 0 ? disk.f_bavail * disk.f_frsize : UINT64_MAX;
}

void DiskLog::stop_taking() {
  if (full_) return;
  full_ = Error{Errc::io, "no room for the log in " + options_.directory.string() + " (" +
                              std::to_string(free_bytes() >> 20) +
                              " MiB are free): make room on the disk, or lower log.retention"};
  options_.warn(full_->message + "; nothing is taken until there is room");
}

// The log stops before the disk is full: reports and state still have to be written.
void DiskLog::look_for_room() {
  const std::uint64_t free = free_bytes();
  bool room = free >= least_free_ + least_free_ / 2;
  for (const auto& partition : partitions_) {
    const std::lock_guard lock{partition->mutex};
    if (room && partition->refused) room = static_cast<bool>(partition->writer.reserve(tried_bytes));
    const std::lock_guard state{mutex_};
    if (room) partition->refused = false;
  }
  const std::lock_guard lock{mutex_};
  // An append may have found no room since its partition was looked at.
  for (const auto& partition : partitions_) room = room && !partition->refused;
  if (free < least_free_) stop_taking();
  else if (full_ && room) {
    full_.reset();
    nothing_left_ = false;
    options_.log("the log in " + options_.directory.string() + " has room again");
  }
}

}  // namespace tocsin::adapters::disk_log
