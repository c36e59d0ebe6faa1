// Records that were re-keyed: a job whose records come from other logs is judged by their watermarks.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>

#include "dsl/load/loader.h"
#include "stream/values/record.h"
#include "tests/seed.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;
using namespace std::chrono_literals;
using schemas::EntryBuilder;

namespace {

const stream::LoadedPack& pack() {
  static const stream::LoadedPack loaded = shipped_pack();
  return loaded;
}

stream::LoadedPack pulse_pack() {
  const dsl::Loaded loaded =
      dsl::load({{"signals.lua", R"lua(signals {
      origin_behind = { kind = "event", unit = "none", owner = "job", fields = { origin = "text" } },
      origin_caught_up = { kind = "event", unit = "none", owner = "job", fields = { origin = "text" } },
      step = { kind = "step", unit = "count", owner = "rank" },
      pulse = { kind = "gauge", unit = "none", owner = "rank", source = "collector" } })lua"},
                 {"silent.lua", R"lua(rule "silent" {
      per = "rank", every = "10s", needs = { pulse = signal "pulse" { over = "30s" } },
      evaluate = function(job) return job.pulse:age():above(60) end })lua"},
                 {"unobserved.lua", dsl::read_pack(TOCSIN_SOURCE_DIR "/rules")->at("unobserved.lua")}});
  REQUIRE(loaded.pack);
  return {loaded.pack, nullptr};
}

stream::Time at(double s) { return stream::at_nanoseconds(1'790'000'000'000'000'000) + stream::from_seconds(s); }

// One job, whose ranks' pulses come from sources of their own, with what a rule says of them.
struct Pulses {
  struct Sink final : stream::AlertSink {
    explicit Sink(std::vector<std::string>& to) : reported(&to) {}
    void transition(const stream::AlertTransition& t) override {
      if (t.rule == "unobserved") reported->push_back(t.shows);
    }
    void verdict(const stream::Verdict&) override {}
    std::vector<std::string>* reported;
  };
  std::vector<std::string> sources;  // what alerts say of them
  Sink sink{sources};
  stream::Shard shard{pulse_pack(), nullptr, sink};
  schemas::Decoder decoder;
  std::uint64_t messages = 0, offset = 0;
  std::vector<double> ticks;                         // seconds at which the rule ran
  std::vector<std::vector<stream::Truth>> reported;  // of each rank

  Pulses() {
    shard.observe([this](const stream::RuleEvaluation& e) {
      if (e.rule.name != "silent" || e.subject != "job") return;
      ticks.push_back(stream::seconds(e.tick - at(0)));
      reported.emplace_back(e.outcomes.begin() + 1, e.outcomes.end());
    });
  }
  void consume(stream::Entry entry, double s) {
    entry.arrival = at(s);
    const auto bytes = schemas::encode(entry);
    ++messages;
    shard.consume(**decoder.decode(bytes, static_cast<stream::Position>(messages),
                                   static_cast<stream::Position>(messages + 1), at(s)));
  }
  void pulse(std::uint32_t rank, double s, const char* of = "job") {
    EntryBuilder b;
    b.about(of);
    const EntryBuilder::Value value[] = {{"pulse", 1, {}, false}};
    b.sample(at(s), EntryBuilder::rank(rank), value);
    stream::Entry entry = b.entry();
    const std::string source = "ranks/" + std::to_string(rank);
    entry.origin_source = source;
    entry.origin_offset = offset++;
    consume(entry, s);
  }
  void pulses(std::uint32_t rank, double from, double to) {
    for (double s = from; s < to; ++s) pulse(rank, s);
  }
  void read_up_to(std::uint32_t rank, double s, double clock, std::optional<double> gap_from = {}) {
    EntryBuilder b;
    b.watermark("ranks/" + std::to_string(rank), at(s), gap_from ? at(*gap_from) : stream::Time{});
    consume(b.entry(), clock);
  }
  void beats(double from, double to) {
    for (double s = from; s <= to; ++s) {
      EntryBuilder b;
      b.beat();
      consume(b.entry(), s);
    }
  }
  [[nodiscard]] double last_tick() const { return ticks.empty() ? 0 : ticks.back(); }
};

GeneratedLog::Message control(stream::Time arrival, const std::function<void(EntryBuilder&)>& fill) {
  EntryBuilder b;
  fill(b);
  return {schemas::encode(b.entry()), arrival, ""};
}

bool shapes_an_attempt(const stream::Entry& entry) {
  return std::any_of(entry.events.begin(), entry.events.end(),
                     [](const auto& e) { return e.name == "start" || e.name == "end"; });
}

// The log as two sources that one reader re-keys: what ranks of the second node say comes from one, all else from the
// other. The reader goes through them at random, at most a minute apart, says each second how far it has read, and
// meets starts and ends of attempts with both. In the first seconds it goes in order: a job does not wait for a source
// that it has not covered for.
class TwoSources {
 public:
  explicit TwoSources(const GeneratedLog& log) : log_(log), clock_(log.messages.front().arrival) {
    for (std::size_t i = 0; i < log.messages.size(); ++i) {
      if (log.messages[i].subject.empty()) continue;
      const stream::Entry& entry = decoded(decoder_, log, i);
      const auto of_second = [](const stream::MemberKey& key) {
        return key.level == stream::Level::rank && key.rank >= 4;
      };
      Source& source = sources_[!entry.samples.empty() && of_second(entry.samples[0].members[0])];
      source.messages.push_back(i);
      if (shapes_an_attempt(entry)) source.shaping.push_back(i);
    }
  }

  GeneratedLog read(std::uint32_t seed) {
    std::mt19937 random{seed};
    while (!sources_[0].messages.empty() || !sources_[1].messages.empty()) {
      const std::size_t which = random() % 2;
      for (std::size_t many = random() % 400; many > 0 && may_read(sources_[which], sources_[1 - which]); --many)
        read_one(sources_[which]);
    }
    beats_up_to(log_.messages.back().arrival);
    for (Source& source : sources_) watermark(source);
    out_.messages.push_back(control(clock_, [](EntryBuilder& b) { b.seal(); }));
    return std::move(out_);
  }

 private:
  struct Source {
    std::string name;
    std::deque<std::size_t> messages, shaping;  // to be read; which of them begin or end an attempt
    std::uint64_t offset = 0;
    stream::Time reported = stream::long_ago;
  };

  [[nodiscard]] stream::Time next_of(const std::deque<std::size_t>& messages) const {
    return messages.empty() ? stream::never : log_.messages[messages.front()].arrival;
  }
  [[nodiscard]] bool may_read(const Source& source, const Source& other) const {
    if (source.messages.empty() || next_of(other.shaping) <= next_of(source.messages)) return false;
    const stream::Time next = next_of(source.messages), elsewhere = next_of(other.messages);
    if (elsewhere >= next) return true;
    const bool shapes = next_of(source.shaping) == next;
    return !shapes && next >= log_.messages.front().arrival + 3s && next - elsewhere <= 60s;
  }
  void watermark(Source& source) {
    source.reported = std::min(next_of(source.messages) - 1ns, clock_);
    out_.messages.push_back(control(clock_, [&](EntryBuilder& b) { b.watermark(source.name, source.reported); }));
  }
  void beats_up_to(stream::Time time) {
    while (clock_ < time) {
      clock_ = std::min(clock_ + 1s, time);
      out_.messages.push_back(control(clock_, [](EntryBuilder& b) { b.beat(); }));
    }
  }
  void read_one(Source& source) {
    const std::size_t i = source.messages.front();
    const GeneratedLog::Message& message = log_.messages[i];
    stream::Entry entry = decoded(decoder_, log_, i);
    entry.producer = {};
    entry.origin_source = source.name;
    // A message that was delivered twice is one record of the source, which is read twice.
    const bool repeated = i > 0 && log_.messages[i - 1].bytes == message.bytes;
    entry.origin_offset = repeated ? source.offset : ++source.offset;
    beats_up_to(message.arrival + 500ms);
    out_.messages.push_back({schemas::encode(entry), message.arrival, message.subject});
    source.messages.pop_front();
    if (!source.shaping.empty() && source.shaping.front() == i) source.shaping.pop_front();
    if (next_of(source.messages) > source.reported + 1s) watermark(source);
  }

  const GeneratedLog& log_;
  schemas::Decoder decoder_;
  Source sources_[2] = {{"first/0", {}, {}}, {"second/0", {}, {}}};
  stream::Time clock_;
  GeneratedLog out_;
};

}  // namespace

TEST_CASE("a source that has ended holds back no clock, and is not reported as behind") {
  Pulses job;
  job.pulses(0, 0, 20);
  job.read_up_to(0, 20, 20);
  job.pulses(1, 10, 20);
  job.read_up_to(1, 20, 20);
  {
    EntryBuilder b;
    b.watermark("ranks/1", stream::source_ended);
    job.consume(b.entry(), 20);
  }
  for (int s = 21; s <= 200; ++s) job.pulse(0, s), job.read_up_to(0, s, s);
  CHECK(job.last_tick() >= 180);  // every ten seconds, and the lateness of the signals
  CHECK(job.sources.empty());
  CHECK(job.reported.back()[1] == stream::Truth::yes);  // rank 1 is silent, not unobserved
  CHECK(job.shard.counters().corrected_arrivals == 0);
}

TEST_CASE("a source that dies with an attempt leaves the next one observed") {
  Pulses job;
  const auto shapes = [&](const char* what, double s) {
    EntryBuilder b;
    b.about("job");
    b.event(at(s), EntryBuilder::job(), what, {});
    stream::Entry entry = b.entry();
    entry.origin_source = "ranks/0", entry.origin_offset = job.offset++;
    job.consume(entry, s);
  };
  shapes("start", 0);
  job.pulses(0, 0, 40), job.pulses(1, 0, 40);
  shapes("end", 40);
  job.read_up_to(0, 40, 40), job.read_up_to(1, 40, 40);  // nobody reads the second source any more
  shapes("start", 50);
  for (int s = 51; s <= 400; ++s) job.pulse(0, s), job.beats(s, s), job.read_up_to(0, s, s);
  CHECK(job.sources.empty());
  REQUIRE(job.last_tick() > 380);
  CHECK(job.reported.back()[0] == stream::Truth::no);
  SUBCASE("until records of the attempt come from it, too") {
    job.pulse(1, 390);  // it had been read up to 40 s when this one was appended
    job.pulse(0, 401), job.beats(401, 401), job.read_up_to(0, 401, 401);
    for (int s = 402; s <= 440; ++s) job.pulse(0, s), job.beats(s, s), job.read_up_to(0, s, s);
    REQUIRE(job.sources.size() == 1);
    CHECK(job.sources[0].find("ranks/1") != std::string::npos);
    CHECK(job.reported.back()[1] == stream::Truth::unknown);
  }
}

TEST_CASE("a gap of its source is no silence of a job, once, and that of another source is") {
  struct Given {
    std::uint32_t of;  // whose gap it is
    stream::Truth silent;
  };
  for (const Given given : {Given{0, stream::Truth::no}, Given{1, stream::Truth::yes}}) {
    CAPTURE(given.of);
    Pulses job;
    job.pulses(0, 0, 50), job.pulse(1, 0, "a job of the other source");
    job.read_up_to(0, 50, 50), job.read_up_to(1, 50, 50);
    job.beats(51, 160);
    job.read_up_to(given.of, 160, 160, 50), job.read_up_to(1 - given.of, 160, 160);
    REQUIRE(job.last_tick() > 150);
    CHECK(job.reported.back()[0] == given.silent);
    // What is sent again says nothing new.
    job.beats(161, 240);
    job.read_up_to(0, 240, 240);
    job.read_up_to(0, 240, 240, 160);
    job.beats(241, 260);
    job.read_up_to(0, 260, 260);
    CHECK(job.reported.back()[0] == stream::Truth::yes);
  }
}

TEST_CASE("how the records of two sources interleave within their watermarks changes nothing") {
  // Rows hold the numbers of texts, which are given in the order in which texts are read first: with seed 2 in another
  // order here.
  std::vector<std::pair<std::uint32_t, bool>> logs{{1, true}, {6, true}, {8, true}, {2, false}};
  if (tocsin::test::given_seed()) logs = {{tocsin::test::seed(), false}};
  else logs.resize(tocsin::test::tries(4));
  for (const auto& [seed, same_order_of_texts] : logs) {
    CAPTURE(seed);
    const GeneratedLog log = generate({.seed = seed, .jobs = 2, .ranks = 8, .seconds = 240});
    const Reported direct = judge(log, pack());
    CHECK(direct.transitions.size() > 8);
    for (std::uint32_t order = 1; order < 3; ++order) {
      CAPTURE(order);
      const Reported read = judge(TwoSources{log}.read(order), pack());
      CHECK(read.digests == direct.digests);
      if (same_order_of_texts) CHECK(read.rows == direct.rows);
    }
  }
}

TEST_CASE("a job of two sources that is killed and restarted says what an unkilled one says") {
  const GeneratedLog log = generate({.seed = 33, .jobs = 2, .ranks = 8, .seconds = 240});
  const GeneratedLog read = TwoSources{log}.read(3);
  const Reported whole = judge(read, pack());
  std::mt19937 random{tocsin::test::seed(5)};
  std::vector<std::size_t> kills;
  for (std::uint32_t i = 0; i < tocsin::test::tries(20); ++i) kills.push_back(random() % read.messages.size());
  const Reported restarted = judge_with_restarts(read, pack(), kills);
  CHECK(restarted.digests == whole.digests);
  CHECK(restarted.transitions == whole.transitions);
  CHECK(restarted.rows == whole.rows);
}

TEST_CASE("a job is judged up to the least watermark of its sources, and its clock never goes back") {
  Pulses job;
  job.pulse(0, 1), job.pulse(1, 1);
  job.pulses(0, 2, 100);
  job.beats(2, 100);
  CHECK(job.ticks.empty());  // nothing says how far anything was read
  job.read_up_to(0, 99, 100);
  CHECK(job.ticks.empty());
  job.pulses(1, 2, 40);
  job.read_up_to(1, 39, 100);
  CHECK(job.last_tick() > 20);
  CHECK(job.last_tick() + 5 <= 39);  // a tick runs when its rows have closed
  const auto before = job.ticks;
  job.read_up_to(1, 20, 100);
  job.read_up_to(0, 60, 100);
  job.pulses(2, 10, 12);  // a third source, far behind
  job.read_up_to(2, 12, 100);
  job.beats(101, 103);
  CHECK(job.ticks == before);
  job.pulses(1, 40, 90);
  job.read_up_to(1, 90, 103);
  CHECK(job.ticks == before);
  job.pulses(2, 12, 90);
  job.read_up_to(2, 90, 103);
  CHECK(job.last_tick() > 70);
  CHECK(job.last_tick() + 5 <= 90);
  CHECK(std::is_sorted(job.ticks.begin(), job.ticks.end()));
  CHECK(std::adjacent_find(job.ticks.begin(), job.ticks.end()) == job.ticks.end());
  for (const auto& outcomes : job.reported)
    for (const stream::Truth outcome : outcomes) CHECK(outcome != stream::Truth::yes);
}

TEST_CASE("a source that is more than two minutes behind holds the job up no longer") {
  Pulses job;
  job.pulse(0, 1), job.pulse(1, 1);
  job.pulses(0, 2, 50), job.pulses(1, 2, 50);
  job.read_up_to(0, 50, 50), job.read_up_to(1, 50, 50);
  for (double s = 50; s < 170; s += 10) {
    job.pulses(0, s, s + 10);
    job.beats(s, s + 10);
    job.read_up_to(0, s + 10, s + 10);
  }
  CHECK(job.last_tick() <= 45);
  job.pulses(0, 170, 180);
  job.beats(170, 180);
  job.read_up_to(0, 180, 180);
  CHECK(job.last_tick() > 160);
}

TEST_CASE("a job whose only source is more than two minutes behind goes by the log's clock") {
  Pulses job;
  job.pulses(0, 1, 50);
  job.read_up_to(0, 50, 50);
  job.beats(51, 169);
  CHECK(job.last_tick() <= 45);
  job.beats(170, 200);
  CHECK(job.last_tick() > 180);
}

TEST_CASE("whom a source that is far behind tells of is unknown, never silent, until it has caught up") {
  Pulses job;
  job.pulse(0, 1), job.pulse(1, 1);
  job.pulses(0, 2, 50), job.pulses(1, 2, 50);
  job.read_up_to(0, 50, 50), job.read_up_to(1, 50, 50);
  for (double s = 50; s < 240; s += 10) {
    job.pulses(0, s, s + 10);
    job.beats(s, s + 10);
    job.read_up_to(0, s + 10, s + 10);
  }
  REQUIRE(job.last_tick() > 220);
  for (std::size_t i = 0; i < job.ticks.size(); ++i) {
    CAPTURE(job.ticks[i]);
    const bool read = job.ticks[i] + 5 <= 50;  // a tick runs when its rows have closed
    CHECK(job.reported[i][0] == stream::Truth::no);
    CHECK(job.reported[i][1] == (read ? stream::Truth::no : stream::Truth::unknown));
  }
  REQUIRE(job.sources.size() == 1);
  CHECK(job.sources[0].find("ranks/1") != std::string::npos);

  const std::size_t before = job.ticks.size();
  job.pulses(1, 50, 250);
  job.read_up_to(1, 250, 250), job.read_up_to(0, 250, 250);
  job.beats(251, 252);
  for (double s = 252; s < 330; s += 10) {
    job.pulses(0, s, s + 10);
    job.beats(s, s + 10);
    job.read_up_to(0, s + 10, s + 10), job.read_up_to(1, s + 10, s + 10);
  }
  REQUIRE(job.last_tick() > 315);
  CHECK(job.reported[before][1] == stream::Truth::no);
  CHECK(job.reported.back()[1] == stream::Truth::yes);  // it was read, and says nothing any more: now that is silence
  CHECK(job.sources.size() == 2);                       // resolved
}
