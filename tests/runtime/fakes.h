#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "adapters/runtime/report_line.h"
#include "schemas/codec.h"
#include "stream/ports.h"
#include "tests/stream_engine/collector.h"
#include "tests/stream_engine/generated_log.h"

// The world as a shard's runner sees it, in memory.
namespace tocsin::tests {

// The messages of a generated log up to `end`; positions count them.
class MemoryLog final : public stream::LogReader {
 public:
  explicit MemoryLog(const GeneratedLog& log) : MemoryLog(log, log.messages.size()) {}
  MemoryLog(const GeneratedLog& log, std::size_t end) : log_(&log), end_(end) {}

  stream::Result<const stream::Entry*> next() override {
    if (fails_at && next_ == *fails_at) return stream::Error{stream::Errc::io, "the log cannot be read"};
    if (next_ >= end_) return static_cast<const stream::Entry*>(nullptr);
    return &decoded(decoder_, *log_, next_++);
  }
  stream::Result<void> seek(stream::Position position) override {
    next_ = static_cast<std::size_t>(position);
    return {};
  }
  stream::Result<stream::Position> oldest() override { return stream::Position{}; }

  std::optional<std::size_t> fails_at;

 private:
  const GeneratedLog* log_;
  std::size_t end_, next_ = 0;
  schemas::Decoder decoder_;
};

// What was kept, in memory: the newest of each section, and what was published. It outlives runners, as a disk does. A
// share of what it is asked fails, and keeps nothing.
class MemoryStore final : public stream::BundleSink, public stream::SnapshotStore {
 public:
  explicit MemoryStore(double fails = 0, std::uint64_t seed = 0) : fails_(fails), random_(seed) {}

  stream::Result<void> keep(const stream::Bundle& bundle) override {
    if (std::uniform_real_distribution<>{}(random_) < fails_)
      return stream::Error{stream::Errc::io, "the disk is full"};
    for (const auto& report : bundle.reports) {
      if (const auto* transition = std::get_if<stream::AlertTransition>(&report)) published_.transition(*transition);
      else published_.verdict(std::get<stream::Verdict>(report));
    }
    for (const auto& [name, content] : bundle.sections) {
      if (content.empty()) stored_.sections.erase(name);
      else stored_.sections[name] = content;
      holds_ = true;
    }
    if (!bundle.sections.empty()) stored_.packs = bundle.packs, stored_.position = bundle.position;
    ++bundles_;
    return {};
  }
  stream::Result<std::optional<stream::Stored>> newest() override {
    return holds_ ? std::optional{stored_} : std::optional<stream::Stored>{};
  }

  [[nodiscard]] const std::vector<std::string>& published() const { return published_.reported; }
  [[nodiscard]] const stream::Stored& stored() const { return stored_; }
  [[nodiscard]] int bundles() const { return bundles_; }

 private:
  double fails_;
  std::mt19937_64 random_;
  bool holds_ = false;
  stream::Stored stored_;
  Collector published_;
  int bundles_ = 0;
};

// A sink that knows what was published by the position of the state alone, and so publishes whatever it is given,
// repeats included.
class PositionStore final : public stream::BundleSink, public stream::SnapshotStore {
 public:
  stream::Result<void> keep(const stream::Bundle& bundle) override {
    if (bundle.sections.empty()) return stream::Error{stream::Errc::refused, "reports without a state"};
    for (const auto& report : bundle.reports) published.push_back(adapters::runtime::report_line(report));
    return state_.keep(
        {.reports = {}, .sections = bundle.sections, .packs = bundle.packs, .position = bundle.position});
  }
  stream::Result<std::optional<stream::Stored>> newest() override { return state_.newest(); }

  std::vector<std::string> published;

 private:
  MemoryStore state_;
};

// Packs that are there already.
class MemoryPacks final : public stream::PackSource {
 public:
  explicit MemoryPacks(const stream::LoadedPack& pack) { known_[pack.pack->hash] = pack; }
  void prepare(std::string_view, std::string_view) override {}
  stream::Result<stream::LoadedPack> pack(std::string_view hash) override {
    const auto found = known_.find(std::string{hash});
    if (found == known_.end()) return stream::Error{stream::Errc::not_found, "there is no such pack"};
    return found->second;
  }

 private:
  std::map<std::string, stream::LoadedPack> known_;
};

}  // namespace tocsin::tests
