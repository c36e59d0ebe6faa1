#include "adapters/forward/forward.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "adapters/journal/directory.h"
#include "adapters/journal/follow.h"
#include "schemas/codec.h"
#include "stream/values/record.h"

namespace tocsin::adapters::forward {

using stream::Entry;
using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using stream::Time;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_waiting = 20'000, most_waiting_bytes = 16u << 20;
constexpr std::chrono::milliseconds moment{50};

// What is remembered beside the journal: where its records go, under which name, and how far they are there.
struct Progress {
  std::string to, source;
  Position position{};
  Time beat{};  // the last before it; Time{}: there was none
  bool known = false;

  static fs::path path(const fs::path& journal) { return journal / "forwarded"; }
  static Result<Progress> read(const fs::path& journal) {
    std::error_code error;
    Progress progress;
    if (!fs::exists(path(journal), error)) return progress;
    const auto text = journal::read_whole(path(journal));
    if (!text) return text.error();
    std::istringstream in{*text};
    std::uint64_t position = 0;
    if (!(in >> progress.to >> progress.source >> position))
      return Error{Errc::malformed,
                   path(journal).string() + " is not ours; remove it to send the journal from its beginning"};
    progress.position = Position{position};
    if (std::int64_t beat = 0; in >> beat) progress.beat = stream::at_nanoseconds(beat);
    progress.known = true;
    return progress;
  }
  [[nodiscard]] Result<void> write(const fs::path& journal) const {
    return journal::write_whole(path(journal), to + ' ' + source + ' ' +
                                                   std::to_string(static_cast<std::uint64_t>(position)) + ' ' +
                                                   std::to_string(stream::nanoseconds(beat)) + '\n');
  }
};

bool has(const Entry& entry, stream::ControlRecord::Kind kind) {
  return std::any_of(entry.controls.begin(), entry.controls.end(),
                     [kind](const auto& control) { return control.kind == kind; });
}

// A name for the journal that no other has: where and when its first record was written. A text without blanks.
std::string source_name(const Entry& first) {
  std::string name = std::string{journal::source_prefix} + std::string{first.node} + '/' +
                     std::to_string(stream::nanoseconds(first.appended));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// A number of the entry that never falls in its journal. Copies that begin a segment have the number of their original.
std::uint64_t number_of(const Entry& entry) {
  constexpr int epoch_shift = 40;
  if (entry.producer.empty() || entry.sequence == 0) return static_cast<std::uint64_t>(entry.position) + 1;
  return std::uint64_t{entry.epoch} << epoch_shift | entry.sequence;
}

class Forwarder {
 public:
  Forwarder(const ForwardOptions& options, journal::Reader reader, Destination& to, Progress progress)
      : options_(options), log_(std::move(reader)), to_(to), progress_(std::move(progress)), beat_(progress_.beat) {}

  Result<Forwarded> run() {
    if (progress_.known)
      if (auto sought = log_.seek(progress_.position); !sought)
        options_.log("the journal no longer has what was not sent yet; the rest follows");
    while (!over()) {
      if (may_send() && reached()) {
        const auto more = send_some();
        if (!more) return more.error();
        if (*more) continue;
      }
      if (auto confirmed = confirm(); !confirmed) return confirmed.error();
    }
    if (auto confirmed = confirm(); !confirmed) return confirmed.error();
    return Forwarded{sent_, count_left()};
  }

 private:
  // All is sent that will come, or it was waited for long enough.
  bool over() {
    const bool no_more = deadline_ || sealed_ || parent_gone() || !options_.follow;
    if (!no_more) return false;
    if (!deadline_) {
      deadline_ = Clock::now() + options_.wait;
      at_end_ = sealed_;  // more may have been written since the last look
    }
    return (at_end_ && to_.waiting() == 0 && there_) || Clock::now() >= *deadline_;
  }

  bool parent_gone(std::chrono::milliseconds wait = {}) const {
    pollfd at{deadline_ ? -1 : options_.stop_when_readable, POLLIN, 0};  // what has gone wakes nobody twice
    return ::poll(&at, 1, static_cast<int>(wait.count())) > 0;
  }

  // While nobody takes it the journal keeps what follows, and not our memory.
  bool may_send() const { return to_.waiting() < most_waiting && waiting_bytes_ < most_waiting_bytes; }

  bool reached() {
    if (there_ || Clock::now() < next_look_) return there_;
    next_look_ = Clock::now() + 1s;
    const auto reached = to_.reach();
    there_ = static_cast<bool>(reached);
    if (!there_) complain(reached.error().message + "; the journal keeps what is to be sent");
    return there_;
  }

  // False: the journal is at its end.
  Result<bool> send_some() {
    for (int i = 0; i < 1000 && !sealed_ && may_send(); ++i) {
      const auto entry = log_.next();
      if (!entry) return entry.error();
      at_end_ = *entry == nullptr;
      if (at_end_) return false;
      if (auto sent = send(**entry); !sent) return sent.error();
      reached_ = (*entry)->next;
    }
    at_end_ = sealed_;
    return !sealed_;
  }

  Result<void> send(const Entry& entry) {
    sealed_ = has(entry, stream::ControlRecord::Kind::seal);
    if (!entry.subject.empty()) {
      if (progress_.source.empty()) progress_.source = source_name(entry);
      if (!entry.origin_source.empty()) return append(entry, log_.message());  // it has a number and watermarks already
      Entry rekeyed = entry;
      rekeyed.origin_source = progress_.source;
      rekeyed.origin_offset = number_of(entry);
      rekeyed.arrival = entry.appended;
      rekeyed.controls = {};
      return append(entry, encoder_.encode(rekeyed));
    }
    // Watermarks of records that another log sent to this journal.
    if (has(entry, stream::ControlRecord::Kind::watermark)) return to_.control(log_.message());
    if (sealed_)
      if (auto left = to_.leave(); !left) return left;
    if (!sealed_ && !has(entry, stream::ControlRecord::Kind::beat)) return {};
    // Beats further apart: the disk was full, or the machine slept.
    const bool gap = beat_ != Time{} && entry.appended > beat_ + stream::widest_beat;
    builder_.clear();
    builder_.watermark(progress_.source, entry.appended, gap ? beat_ : Time{});
    if (sealed_) builder_.watermark(progress_.source, stream::source_ended);
    beat_ = entry.appended;
    return sent_ > 0 || !progress_.source.empty() ? to_.control(encoder_.encode(builder_.entry())) : Result<void>{};
  }

  Result<void> append(const Entry& entry, std::span<const std::byte> message) {
    ++sent_;
    waiting_bytes_ += message.size();
    return to_.append(entry, message);
  }

  // Waits a moment, and remembers what is there.
  Result<void> confirm() {
    const bool unsaved = !progress_.source.empty() && reached_ > progress_.position;
    const std::size_t waiting = to_.waiting();
    if (waiting > 0 || unsaved) {
      const auto flushed = to_.flush(200ms);
      if (!flushed) return flushed.error();
      if (const std::string why = to_.problem(); !why.empty()) complain(why + "; the journal keeps what is to be sent");
      else if (*flushed && there_) complaint_.clear();
      if (deadline_ && !options_.follow && to_.waiting() < waiting)
        deadline_ = Clock::now() + options_.wait;  // they take it
      if (!*flushed) return {};
    }
    waiting_bytes_ = 0;
    const bool last = sealed_ || !options_.follow || deadline_;
    if (!unsaved || (!last && Clock::now() < saved_ + 1s)) {
      if (at_end_ || !there_) static_cast<void>(parent_gone(moment));
      return {};
    }
    saved_ = Clock::now();
    progress_.position = reached_;
    progress_.beat = beat_;
    // A disk that is full keeps nothing from being sent; what a restart sends again is known by its number.
    if (auto written = progress_.write(options_.journal); !written) complain(written.error().message);
    return {};
  }

  void complain(const std::string& why) {
    if (std::exchange(complaint_, why) != why) options_.log(why);
  }

  std::uint64_t count_left() {
    std::uint64_t left = 0;
    const auto oldest = log_.reader().oldest();
    if (!oldest || !log_.seek(std::max(*oldest, progress_.position))) return 0;
    for (auto entry = log_.next(); entry && *entry; entry = log_.next()) left += (*entry)->subject.empty() ? 0 : 1;
    return left;
  }

  const ForwardOptions& options_;
  journal::Follower log_;
  Destination& to_;
  Progress progress_;
  schemas::Encoder encoder_;
  schemas::EntryBuilder builder_;
  bool there_ = false;
  std::uint64_t sent_ = 0;
  std::size_t waiting_bytes_ = 0;  // since all that was sent was there
  Position reached_{};
  Time beat_{};  // the last that was sent as a watermark
  bool sealed_ = false, at_end_ = false;
  std::string complaint_;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point saved_{}, next_look_{};
};

}  // namespace

Result<Forwarded> forward(const ForwardOptions& options, Destination& to) {
  auto reader = journal::Reader::open(options.journal);
  if (!reader) return reader.error();
  auto progress = Progress::read(options.journal);
  if (!progress) return progress.error();
  if (progress->to != to.name()) *progress = Progress{};
  progress->to = to.name();
  return Forwarder{options, std::move(*reader), to, std::move(*progress)}.run();
}

}  // namespace tocsin::adapters::forward
