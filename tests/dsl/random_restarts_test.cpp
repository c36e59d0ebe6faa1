// Random rules over random logs of several jobs, with reloads to other random rules: restarts, neighbours and slices
// change nothing. TOCSIN_SEED repeats one log; TOCSIN_LOGS says how many of each kind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#include "adapters/formats/alerts.h"
#include "adapters/runtime/report_line.h"
#include "adapters/runtime/shard_runner.h"
#include "schemas/codec.h"
#include "tests/dsl/random_world.h"
#include "tests/seed.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::dsl::test;

namespace {

class Reading final : public stream::LogReader {
 public:
  Reading(const World& world, std::size_t end, std::string subject = {})
      : world_(&world), end_(end), subject_(std::move(subject)) {}
  stream::Result<const stream::Entry*> next() override {
    while (next_ < end_ && !subject_.empty() && !world_->log[next_].subject.empty() &&
           world_->log[next_].subject != subject_)
      ++next_;
    if (next_ >= end_) return static_cast<const stream::Entry*>(nullptr);
    const Logged& logged = world_->log[next_++];
    return decoder_.decode(logged.bytes, static_cast<stream::Position>(next_ - 1), static_cast<stream::Position>(next_),
                           logged.appended);
  }
  stream::Result<void> seek(stream::Position position) override {
    next_ = static_cast<std::size_t>(position);
    return {};
  }
  stream::Result<stream::Position> oldest() override { return stream::Position{}; }

 private:
  const World* world_;
  std::size_t end_, next_ = 0;
  std::string subject_;
  schemas::Decoder decoder_;
};

// ---- what is kept of it

// Every report, by what names it; one that comes again has to be the same.
class Published {
 public:
  void add(const stream::Report& report) {
    std::string line = adapters::runtime::report_line(report), key = "verdict ";
    if (const auto* t = std::get_if<stream::AlertTransition>(&report))
      key = std::to_string(t->id) + " " + std::to_string(t->number);
    else key += std::get<stream::Verdict>(report).subject + "/" + std::get<stream::Verdict>(report).attempt;
    const std::string& subject = std::holds_alternative<stream::AlertTransition>(report)
                                     ? std::get<stream::AlertTransition>(report).subject
                                     : std::get<stream::Verdict>(report).subject;
    const auto [known, fresh] = lines_.emplace(key, line);
    if (fresh) of_[subject].push_back(std::move(line));
    else if (known->second != line) changed.push_back(known->second + "\nthen\n" + line);
  }
  [[nodiscard]] const std::map<std::string, std::vector<std::string>>& of() const { return of_; }
  std::vector<std::string> changed;

 private:
  std::map<std::string, std::string> lines_;
  std::map<std::string, std::vector<std::string>> of_;
};

// As a state store does: the newest of each section, with the packs of the bundle that it came with.
class Kept final : public stream::BundleSink, public stream::SnapshotStore {
 public:
  Kept(Published& published, std::uint64_t seed) : published_(&published), random_(seed) {}
  stream::Result<void> keep(const stream::Bundle& bundle) override {
    const bool fails = below(random_, 10) == 0;
    if (fails && below(random_, 2) == 0) return stream::Error{stream::Errc::io, "the disk is full"};
    for (const auto& report : bundle.reports) published_->add(report);
    if (fails) return stream::Error{stream::Errc::io, "the disk is full"};
    std::set<std::string> hashes;
    for (const auto& pack : bundle.packs) {
      hashes.insert(pack.hash);
      if (!pack.text.empty()) texts_[pack.hash] = pack.text;
      else REQUIRE(texts_.contains(pack.hash));
    }
    for (const auto& [name, content] : bundle.sections) {
      if (content.empty()) stored_.sections.erase(name), packs_.erase(name);
      else stored_.sections[name] = content, packs_[name] = hashes;
    }
    std::set<std::string> needed;
    for (const auto& [name, of] : packs_) needed.insert(of.begin(), of.end());
    std::erase_if(texts_, [&](const auto& text) { return !needed.contains(text.first); });
    if (!bundle.sections.empty()) stored_.position = bundle.position;
    return {};
  }
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return texts_.contains(hash); }
  stream::Result<std::optional<stream::Stored>> newest() override {
    if (stored_.sections.empty()) return std::optional<stream::Stored>{};
    stored_.packs.clear();
    for (const auto& [hash, text] : texts_) stored_.packs.push_back({hash, text});
    return std::optional{stored_};
  }

 private:
  Published* published_;
  Random random_;
  stream::Stored stored_;
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, std::set<std::string>> packs_;
};

// A bundle at a time that is on its way while judging goes on, as HandOver has it.
class UnderWay final : public stream::BundleSink {
 public:
  explicit UnderWay(stream::BundleSink& to) : to_(&to) {}
  // The one on its way arrives, or is tried again next time; where none is, the next sets out.
  void go_on(adapters::runtime::ShardRunner& runner) {
    if (!bundle_) bundle_ = runner.take_bundle();
    else (void)arrive();
  }
  stream::Result<void> arrive() {
    if (bundle_)
      if (auto kept = to_->keep(*bundle_); !kept) return kept;
    bundle_.reset();
    return {};
  }
  stream::Result<void> keep(const stream::Bundle& bundle) override {
    if (auto kept = arrive(); !kept) return kept;
    return to_->keep(bundle);
  }
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return !bundle_ && to_->has_pack(hash); }
  [[nodiscard]] bool empty() const { return !bundle_; }

 private:
  stream::BundleSink* to_;
  std::optional<stream::Bundle> bundle_;
};

struct Outcome {
  std::map<std::string, std::uint64_t> digests, rows;
  std::map<std::string, std::vector<std::string>> reported;
  std::vector<std::string> firing;
  std::size_t state_bytes = 0;
};

std::vector<std::string> firing(const stream::Shard& shard) {
  std::vector<std::string> lines;
  for (const auto& t : shard.firing()) lines.push_back(adapters::formats::alert_to_json(t));
  return lines;
}

template <class T>
T or_fail(stream::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

Outcome judge(const World& world, const stream::ShardOptions& options, const std::string& subject = {},
              std::size_t ticks = 256) {
  Published published;
  Kept kept{published, 1};
  PacksRead packs{world.packs, world.first.pack->hash};
  Reading log{world, world.log.size(), subject};
  adapters::runtime::ShardRunner runner{world.first, {log, kept, packs}, options};
  while (or_fail(runner.step(1 << 20, ticks)) > 0) (void)runner.hand_over();
  while (runner.waits()) (void)runner.hand_over();
  CHECK(published.changed.empty());
  return {runner.shard().digests(), runner.shard().row_digests(), published.of(), firing(runner.shard()),
          runner.shard().state_bytes()};
}

Outcome judge_with_restarts(const World& world, stream::ShardOptions options, Random& random) {
  Published published;
  Kept kept{published, random()};
  std::vector<std::size_t> stops;
  for (std::uint64_t i = 0, many = 3 + below(random, 40); i < many; ++i)
    stops.push_back(below(random, world.log.size()));
  std::sort(stops.begin(), stops.end());
  stops.push_back(world.log.size());
  Outcome outcome;
  for (const std::size_t stop : stops) {
    options.save_every = std::chrono::seconds{one_of<int>(random, {8, 20, 60, 240})};
    const bool with_reports = below(random, 2) == 0;
    PacksRead packs{world.packs, world.first.pack->hash};
    Reading log{world, stop};
    UnderWay under_way{kept};
    const bool one_by_one = below(random, 2) == 0;
    adapters::runtime::ShardRunner runner{world.first, {log, under_way, packs, &kept, with_reports}, options};
    const auto hand_over = [&] { one_by_one ? (void)runner.hand_over() : under_way.go_on(runner); };
    if (auto restored = runner.restore(); !restored) throw std::runtime_error(restored.error().message);
    for (;;) {
      const auto judged = or_fail(runner.step(1 + below(random, 300), 1 + below(random, 60), below(random, 2) == 0));
      if (below(random, 3) != 0) hand_over();
      if (judged == 0) break;
    }
    if (stop == world.log.size())
      while (runner.waits() || !under_way.empty()) hand_over();
    else if (below(random, 4) == 0) (void)runner.hand_over_all();
    else if (below(random, 2) == 0) (void)under_way.arrive();  // it was kept, but the process had gone
    outcome = {runner.shard().digests(),
               runner.shard().row_digests(),
               {},
               firing(runner.shard()),
               runner.shard().state_bytes()};
  }
  for (const std::string& changed : published.changed) FAIL_CHECK(changed);
  outcome.reported = published.of();
  return outcome;
}

void compare(const Outcome& a, const Outcome& b, const std::string& subject = {}) {
  for (const auto& [name, digest] : a.digests) {
    if (!subject.empty() && name != subject) continue;
    CAPTURE(name);
    CHECK(b.digests.contains(name));
    if (!b.digests.contains(name)) continue;
    CHECK(digest == b.digests.at(name));
    CHECK(a.rows.at(name) == b.rows.at(name));
  }
  if (subject.empty()) CHECK(a.digests.size() == b.digests.size());
  for (const auto& [name, lines] : a.reported) {
    if (!subject.empty() && name != subject) continue;
    CAPTURE(name);
    const auto found = b.reported.find(name);
    REQUIRE(found != b.reported.end());
    const auto [x, y] = std::mismatch(lines.begin(), lines.end(), found->second.begin(), found->second.end());
    if (x != lines.end() || y != found->second.end())
      FAIL_CHECK((x == lines.end() ? "nothing" : *x), "\nagainst\n", (y == found->second.end() ? "nothing" : *y));
  }
  if (subject.empty()) CHECK(a.firing == b.firing);
  if (subject.empty()) CHECK(a.state_bytes == b.state_bytes);
}

unsigned many() {
  const char* given = std::getenv("TOCSIN_LOGS");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : tocsin::test::tries(4);
}

// Of the log of this seed; returns how many reports it makes.
std::size_t judge_in_all_ways(std::uint32_t seed, WorldOptions made = {}) {
  CAPTURE(seed);
  CAPTURE(made.holes);
  const World world = random_world(seed, made);
  Random random{seed};
  stream::ShardOptions options;
  options.digest_columns = below(random, 4) == 0;
  const Outcome whole = judge(world, options);
  {
    INFO("in slices");
    compare(whole, judge(world, options, {}, 1));
  }
  if (!options.digest_columns) {
    INFO("all evaluated");
    stream::ShardOptions all = options;
    all.evaluate_all = true;
    compare(whole, judge(world, all));
  }
  for (const char* name : world_jobs) {
    INFO("alone: ", std::string{name});
    compare(whole, judge(world, options, name), name);
  }
  for (std::uint32_t again = 0; again < tocsin::test::tries(3); ++again) {
    INFO("restarts ", again);
    compare(whole, judge_with_restarts(world, options, random));
  }
  {
    INFO("with room for some of the jobs");
    options.most_state = below(random, 1 << 20);
    compare(judge(world, options), judge_with_restarts(world, options, random));
  }
  std::size_t reports = 0;
  for (const auto& [name, lines] : whole.reported) reports += lines.size();
  return reports;
}

}  // namespace

TEST_CASE("random rules answer the same after restarts, in slices and without neighbours, whatever is reloaded") {
  const std::uint32_t seed = tocsin::test::seed();
  std::size_t reports = 0;
  for (unsigned i = 0; i < many(); ++i) reports += judge_in_all_ways(seed + i);
  MESSAGE(reports << " reports");
}

TEST_CASE("so do logs in which beats are missing while sources are read, and sources had holes of their own") {
  const std::uint32_t seed = tocsin::test::seed(40'000);
  for (unsigned i = 0; i < (many() + 1) / 2; ++i) CHECK(judge_in_all_ways(seed + i, {.holes = true}) > 0);
}

TEST_CASE(
    "so do logs that showed a fault: a rule that came back after the end, a hole of beats, a hand-over that failed "
    "over a reload") {
  const std::vector<std::uint32_t> seeds{1006, 1019, 20900, 21608};
  for (std::size_t i = 0; i < std::min<std::size_t>(many(), seeds.size()); ++i) CHECK(judge_in_all_ways(seeds[i]) > 0);
}

// The number of reports. `variant` of four has gaps, every second one digests of columns.
std::size_t judge_in_entries(std::uint32_t seed, unsigned variant) {
  CAPTURE(seed);
  World world = random_world(seed, {.holes = variant % 4 == 3, .passing = true});
  stream::ShardOptions options;
  options.digest_columns = variant % 2 == 0;
  tests::GeneratedLog log;
  for (Logged& logged : world.log) log.messages.push_back({std::move(logged.bytes), logged.appended, logged.subject});
  const auto in_entries_of = [&](std::size_t most) {
    world.log.clear();
    for (auto& message : tests::rebatch(log, most).messages)
      world.log.push_back({std::move(message.bytes), message.arrival, std::move(message.subject)});
  };
  in_entries_of(1);
  const Outcome single = judge(world, options);
  in_entries_of(static_cast<std::size_t>(-1));
  {
    INFO("all of an arrival");
    compare(single, judge(world, options));
  }
  in_entries_of(7);
  for (const char* name : world_jobs) {
    INFO("alone: ", std::string{name});
    compare(single, judge(world, options, name), name);
  }
  Random random{seed};
  INFO("restarts");
  compare(single, judge_with_restarts(world, options, random));
  std::size_t reports = 0;
  for (const auto& [name, lines] : single.reported) reports += lines.size();
  return reports;
}

TEST_CASE(
    "a subject's records are judged alike in entries of one, seven and all of an arrival, alone and beside others") {
  const std::uint32_t seed = tocsin::test::seed(60'000);
  std::size_t reports = 0;
  for (unsigned i = 0; i < many(); ++i) reports += judge_in_entries(seed + i, i);
  MESSAGE(reports << " reports");
}

TEST_CASE("a source of which a job refused the first record is one of the job's again after a restart") {
  CHECK(judge_in_entries(60172, 0) > 0);
}
