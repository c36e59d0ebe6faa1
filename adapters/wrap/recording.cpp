#include "adapters/wrap/recording.h"

#include <stdio.h>

#include <algorithm>
#include <limits>

#include "adapters/journal/directory.h"
#include "adapters/journal/follow.h"
#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::wrap {

namespace {
constexpr stream::Duration longest_wait = std::chrono::seconds{30};
constexpr std::uint64_t least_segment = 1u << 20;  // many times what each begins with
// After a failure, recording goes on only where this fits: a disk that takes beats and no lines would make a job look
// silent.
constexpr std::uint64_t least_space = 256u << 10;
}  // namespace

Recording::Recording(std::filesystem::path directory, std::uint64_t most_bytes, RunClock clock, std::uint32_t epoch)
    : directory_(std::move(directory)), most_bytes_(most_bytes), clock_(clock), epoch_(epoch) {}

void Recording::fail(const std::string& why) {
  writer_.reset();
  retry_ = clock_.now() + wait_;
  wait_ = std::min(wait_ * 2, longest_wait);
  if (!complained_) ::fprintf(stderr, "tocsin: not recorded: %s\n", why.c_str());
  complained_ = true;
}

bool Recording::ready() {
  if (writer_) return true;
  if (clock_.now() < retry_) return false;
  if (auto made = make_run_directory(directory_); !made) {
    fail(made.error().message);
    return false;
  }
  auto opened = journal::Writer::open(directory_, {std::max(least_segment, most_bytes_ / 16), most_bytes_});
  if (!opened) {
    fail(opened.error().message);
    return false;
  }
  if (complained_ && !finishes_) {
    if (auto space = opened->reserve(least_space); !space) {
      fail(space.error().message);
      return false;
    }
  }
  writer_.emplace(std::move(*opened));
  if (epoch_ > 0 && carried_.empty()) read_carried();
  writer_->carry(carried_.messages());
  return true;
}

// What the recorder before us carried is at the beginning of the newest segment. It may have been killed before it
// wrote that.
void Recording::read_carried() {
  const auto segments = journal::segments(directory_);
  auto reader = journal::Reader::open(directory_);
  if (!segments || !reader) return;
  journal::Follower log{std::move(*reader)};
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  for (auto segment = segments->rbegin(); segment != segments->rend() && carried_.empty(); end = segment++->position) {
    if (!log.seek(static_cast<stream::Position>(segment->position))) return;
    for (auto entry = log.next(); entry && *entry && static_cast<std::uint64_t>((*entry)->position) < end;
         entry = log.next())
      carried_.add(**entry, log.message());
  }
  while (carried_.forget_replaced(clock_.now())) {}
}

void Recording::append(schemas::EntryBuilder& entry) {
  if (entry.empty()) return;
  const bool writes = ready();
  entry.produced_by("wrap", epoch_, ++sequence_);
  const stream::Entry& whole = entry.entry();
  const auto bytes = encoder_.encode(whole);
  // What later segments begin with is kept although it is lost here. A recorder that was started again reads first what
  // there is of it.
  bool carry = (writes || epoch_ == 0 || !carried_.empty()) && carried_.add(whole, bytes);
  if (carried_.forget_replaced(clock_.now())) carry = true;
  entry.clear();
  if (!writes) {
    ++lost_;
    return;
  }
  if (auto written = writer_->append(bytes, clock_.now()); !written) {
    ++lost_;
    fail(written.error().message);
    return;
  }
  if (carry) writer_->carry(carried_.messages());
  wait_ = std::chrono::seconds{1};
  if (complained_)
    ::fprintf(stderr, "tocsin: recording goes on; %llu entries are missing\n", static_cast<unsigned long long>(lost_));
  complained_ = false;
}

void Recording::report_lost() {
  if (complained_) ::fprintf(stderr, "tocsin: %llu entries are not recorded\n", static_cast<unsigned long long>(lost_));
}

void Recording::sync(Sync what) {
  if (!writer_) return;
  if (auto synced = writer_->sync(what == Sync::all); !synced) fail(synced.error().message);
}

bool Carried::add(const stream::Entry& entry, std::span<const std::byte> message) {
  const auto pack = std::find_if(
      entry.controls.begin(), entry.controls.end(),
      [](const stream::ControlRecord& control) { return control.kind == stream::ControlRecord::Kind::pack; });
  if (pack != entry.controls.end()) {
    packs_.push_back({pack->pack_from, Message{message.begin(), message.end()}});
    return true;
  }
  if (std::none_of(entry.events.begin(), entry.events.end(), [](const stream::EventRecord& event) {
        return event.name == "start" || event.name == "member" || event.name == "exit";
      }))
    return false;
  if (entry.attempt != attempt_) {
    attempt_ = entry.attempt;
    shape_.clear();
  }
  shape_.emplace_back(message.begin(), message.end());
  return true;
}

bool Carried::forget_replaced(stream::Time now) {
  if (packs_.size() < 2 || packs_[1].from > now) return false;
  packs_.erase(packs_.begin());
  return true;
}

std::vector<std::vector<std::byte>> Carried::messages() const {
  std::vector<Message> all;
  for (const Pack& pack : packs_) all.push_back(pack.message);
  all.insert(all.end(), shape_.begin(), shape_.end());
  return all;
}

}  // namespace tocsin::adapters::wrap
