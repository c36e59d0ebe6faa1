#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/load/loader.h"
#include "schemas/codec.h"
#include "stream/job/shard.h"
#include "tests/stream_engine/collector.h"

namespace tocsin::tests {

// A job under a small pack of its own, in a shard: entries go in through the codec, and what each rule answered is
// kept.
class SmallJob {
 public:
  using Builder = schemas::EntryBuilder;

  explicit SmallJob(const stream::LoadedPack& pack, stream::PackSource* packs = nullptr,
                    stream::ShardOptions options = {})
      : shard{pack, packs, collector, options} {
    shard.observe([this](const stream::RuleEvaluation& e) {
      answers[e.rule.name].emplace_back(e.outcomes.begin(), e.outcomes.end());
    });
  }

  static stream::Time at(double s) {
    return stream::at_nanoseconds(1'790'000'000'000'000'000) + stream::from_seconds(s);
  }
  // With `patterns`, lines are extracted.
  static stream::LoadedPack load(const std::string& signals, const std::string& rules,
                                 const std::string& patterns = {});

  void consume(const stream::Entry& entry, double s) {
    log.push_back({schemas::encode(entry), at(s)});
    read(log.size());
  }
  // The log's entry with this number, from 1, which is its position too.
  void read(std::size_t number) {
    const auto& [bytes, appended] = log.at(number - 1);
    shard.consume(**decoder.decode(bytes, static_cast<stream::Position>(number),
                                   static_cast<stream::Position>(number + 1), appended));
  }
  [[nodiscard]] stream::Position end() const { return static_cast<stream::Position>(log.size() + 1); }
  // Goes on from what `other` kept when its log was as long as `handed_over` says: reads the log again, up to there and
  // to its end.
  void restore(const SmallJob& other, const stream::Shard::Sections& sections, stream::Position handed_over);
  void consume(Builder& builder, double s) {
    builder.about("job");
    consume(builder.entry(), s);
  }
  void beats(double from, double to) {
    for (double s = from; s <= to; ++s) {
      Builder b;
      b.beat();
      consume(b.entry(), s);
    }
  }
  // Announces at `s` the pack that judges from `from` on.
  void reload(std::string_view pack, double from, double s) {
    Builder b;
    b.pack(pack, at(from), "");
    consume(b.entry(), s);
  }
  // A line of rank 0 from another log, where it arrived at `arrival`, as the log has it at `s`; and how far that one
  // was read.
  void relay_line(double arrival, double s, std::string_view text) {
    Builder b;
    b.about("job");
    b.line(at(arrival), Builder::rank(0), text);
    stream::Entry entry = b.entry();
    entry.origin_source = "node/0", entry.origin_offset = ++relayed_, entry.arrival = at(arrival);
    consume(entry, s);
  }
  void relay_watermark(double read, double s) {
    Builder b;
    b.watermark("node/0", at(read));
    consume(b.entry(), s);
  }
  // What the rule answered at its last tick of this member, by slot: of ranks the reserved member has 0.
  [[nodiscard]] stream::Truth last(const std::string& rule, std::size_t slot) const {
    const auto found = answers.find(rule);
    return found == answers.end() || slot >= found->second.back().size() ? stream::Truth::unknown
                                                                         : found->second.back()[slot];
  }
  [[nodiscard]] bool ever(const std::string& rule, std::size_t slot, stream::Truth truth) const {
    const auto found = answers.find(rule);
    if (found == answers.end()) return false;
    for (const auto& outcomes : found->second)
      if (slot < outcomes.size() && outcomes[slot] == truth) return true;
    return false;
  }
  // After all that was read has been taken.
  [[nodiscard]] const stream::Counters& counted() const { return static_cast<void>(shard.digests()), shard.counters(); }
  [[nodiscard]] std::uint64_t digest() const { return shard.digests().at("job"); }

  Collector collector;
  stream::Shard shard;
  schemas::Decoder decoder;
  std::vector<std::pair<std::vector<std::byte>, stream::Time>> log;
  std::map<std::string, std::vector<std::vector<stream::Truth>>> answers;  // by rule, of each tick

 private:
  std::uint64_t relayed_ = 0;
};

}  // namespace tocsin::tests
