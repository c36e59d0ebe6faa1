#include "adapters/wrap/recording.h"

#include <stdio.h>

#include <algorithm>

#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::wrap {

namespace {
constexpr stream::Duration longest_wait = std::chrono::seconds{30};
constexpr std::uint64_t segment_bytes = 16u << 20;
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
  if (auto made = make_private(directory_); !made) {
    fail(made.error().message);
    return false;
  }
  auto opened = journal::Writer::open(directory_, {segment_bytes, most_bytes_});
  if (!opened) {
    fail(opened.error().message);
    return false;
  }
  writer_.emplace(std::move(*opened));
  return true;
}

void Recording::append(schemas::EntryBuilder& entry) {
  if (entry.empty()) return;
  if (!ready()) {
    ++lost_;
    entry.clear();
    return;
  }
  entry.produced_by("wrap", epoch_, ++sequence_);
  const auto bytes = schemas::encode(entry.entry());
  entry.clear();
  if (auto written = writer_->append(bytes, clock_.now()); !written) {
    ++lost_;
    fail(written.error().message);
    return;
  }
  wait_ = std::chrono::seconds{1};
  if (complained_) ::fprintf(stderr, "tocsin: recording goes on; %llu entries are missing\n", static_cast<unsigned long long>(lost_));
  complained_ = false;
}

void Recording::sync(Sync what) {
  if (!writer_) return;
  if (auto synced = writer_->sync(what == Sync::all); !synced) fail(synced.error().message);
}

}  // namespace tocsin::adapters::wrap
