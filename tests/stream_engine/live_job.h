#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/load/loader.h"
#include "schemas/codec.h"
#include "stream/job/shard.h"

namespace tocsin::tests {

// One job that is judged live, second by second: samples of its ranks, a beat, and reloads. Times are seconds after its
// start.
class LiveJob final : stream::PackSource, stream::AlertSink {
 public:
  using Values = std::vector<std::pair<std::string, double>>;  // signal and value

  // `prepare` may change a pack before it is used.
  explicit LiveJob(const dsl::PackFiles& files, unsigned ranks = 4, std::function<void(stream::Pack&)> prepare = {})
      : ranks_(ranks), prepare_(std::move(prepare)), shard_(load(files), this, *this) {
    schemas::EntryBuilder start;
    start.about("job");
    const schemas::EntryBuilder::Field size[] = {{"world_size", static_cast<double>(ranks), {}, false}};
    start.event(at(0), schemas::EntryBuilder::job(), "start", size);
    consume(start);
  }

  void feed(double seconds, const std::function<Values(std::uint32_t rank)>& of) {
    for (const double end = now + seconds; now < end;) {
      ++now;
      schemas::EntryBuilder builder;
      builder.about("job");
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        const Values given = of(r);
        std::vector<schemas::EntryBuilder::Value> values;
        for (const auto& [signal, value] : given) values.push_back({signal, value, {}, false});
        if (!values.empty()) builder.sample(at(now), schemas::EntryBuilder::rank(r), values);
      }
      builder.beat();
      consume(builder);
    }
  }
  void silence(double seconds) {
    feed(seconds, [](std::uint32_t) { return Values{}; });
  }
  void reload(const dsl::PackFiles& files) {
    const std::string hash = load(files).pack->hash;
    schemas::EntryBuilder builder;
    builder.pack(hash, at(now), "");
    consume(builder);
  }
  void end() {
    schemas::EntryBuilder end, seal;
    end.about("job");
    end.event(at(now), schemas::EntryBuilder::job(), "end", {});
    consume(end);
    seal.seal();
    consume(seal);
  }

  static stream::Time at(double seconds) {
    return stream::at_nanoseconds(1'790'000'000'000'000'000) + stream::from_seconds(seconds);
  }
  // "slow firing rank 3", in order.
  [[nodiscard]] std::vector<std::string> story() const {
    std::vector<std::string> lines;
    for (const auto& t : published)
      lines.push_back(t.rule + " " + std::string{stream::name(t.state)} +
                      (t.reason == stream::ResolveReason::none ? "" : " " + std::string{stream::name(t.reason)}) +
                      (t.explained_by.empty() ? "" : " by " + t.explained_by) +
                      (t.member.rank ? " rank " + std::to_string(*t.member.rank) : ""));
    return lines;
  }
  [[nodiscard]] stream::Shard& shard() noexcept { return shard_; }

  std::vector<stream::AlertTransition> published;
  std::vector<stream::Verdict> verdicts;
  std::function<void(const stream::AlertTransition&)> on_transition;
  double now = 0;

 private:
  stream::LoadedPack load(const dsl::PackFiles& files) {
    const dsl::Loaded loaded = dsl::load(files);
    std::string problems;
    for (const dsl::Problem& problem : loaded.problems) problems += dsl::describe(problem) + "\n";
    REQUIRE_MESSAGE(loaded.pack, problems);
    if (prepare_) prepare_(const_cast<stream::Pack&>(*loaded.pack));
    return packs_[loaded.pack->hash] = {loaded.pack, nullptr};
  }
  void prepare(std::string_view, std::string_view) override {}
  stream::Result<stream::LoadedPack> pack(std::string_view hash) override { return packs_.at(std::string{hash}); }
  void transition(const stream::AlertTransition& t) override {
    published.push_back(t);
    if (on_transition) on_transition(t);
  }
  void verdict(const stream::Verdict& v) override { verdicts.push_back(v); }
  void consume(schemas::EntryBuilder& builder) {
    stream::Entry entry = builder.entry();
    entry.appended = entry.arrival = at(now), entry.position = static_cast<stream::Position>(messages_);
    entry.next = static_cast<stream::Position>(++messages_);
    shard_.consume(entry);
  }

  unsigned ranks_;
  std::function<void(stream::Pack&)> prepare_;
  std::map<std::string, stream::LoadedPack> packs_;
  std::uint64_t messages_ = 0;
  stream::Shard shard_;
};

}  // namespace tocsin::tests
