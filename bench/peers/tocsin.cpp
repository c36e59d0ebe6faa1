// The five workloads by tocsin: the rules of bench/peers/rules in a shard on one core. Repeat with:
// build/release/bench/peers/bench_peers_tocsin WORKLOADS FORM [SECONDS [PASSES]], of which WORKLOADS are digits, "3" or
// "12345", and FORM is how samples come: 0: each alone, decoded; else messages with so many ranks of a job, to decode.
#include <algorithm>
#include <chrono>
#include <deque>
#include <map>

#include "bench/engine.h"
#include "bench/messages.h"
#include "bench/peers/samples.h"

namespace {

using namespace tocsin;
using bench::Clock;
using bench::peers::Alerts;
using bench::peers::Sample;
using stream::Time;
using namespace std::chrono_literals;

constexpr Time origin = stream::at_nanoseconds(1'780'000'001 * bench::second);  // of the samples' times
// A tick waits for late samples for 5 s, and by its phase up to 1 s longer.
constexpr unsigned beats_at_end = 10;

Time time_of(const Sample& sample) { return origin + std::chrono::milliseconds{sample.t}; }
std::string name_of(unsigned job) { return "job" + std::to_string(job); }

// An alert is one of each second for as long as it fires, as the other engines report: of w4, the last sample's.
class Found final : public stream::AlertSink {
 public:
  void transition(const stream::AlertTransition& transition) override {
    const auto workload = static_cast<std::size_t>(transition.rule.back() - '0');
    const auto job = static_cast<std::uint64_t>(transition.subject.back() - '0');
    const std::int64_t second = (transition.at - origin) / 1s;
    if (transition.state == stream::AlertState::firing) {
      open_[transition.id] = second;
      if (workload == 4) {
        const double age = transition.evidence.at(0).second;  // when the tick ran, 5 s after its time
        alerts[4].add(4, job, *transition.member.rank,
                      (transition.at - origin) / 1ms + 5000 - static_cast<std::int64_t>(age * 1000 + 0.5));
      }
      return;
    }
    if (workload != 4)
      for (std::int64_t each = open_.at(transition.id); each < second; ++each)
        alerts[workload].add(workload, job, *transition.member.rank, each * 1000);
    open_.erase(transition.id);
  }
  void verdict(const stream::Verdict&) override {}
  [[nodiscard]] std::size_t still_firing() const { return open_.size(); }
  Alerts alerts{};

 private:
  std::map<std::uint64_t, std::int64_t> open_;  // since which second
};
using Engine = bench::Engine<Found>;

stream::LoadedPack pack(const std::string& workloads, unsigned seconds) {
  dsl::PackFiles files = bench::pack_files(TOCSIN_SOURCE_DIR "/bench/peers/rules");
  std::erase_if(files, [&](const auto& file) {
    return file.first != "signals.lua" && workloads.find(file.first[1]) == std::string::npos;
  });
  if (files.contains("w2.lua"))
    files["limit.lua"] = fmt::format("tune \"w2\" {{ params = {{ limit = {} }} }}\n", 1000 * seconds + 20'000);
  return bench::load_pack(files);
}

// Samples as entries that are already decoded: a program that has tocsin in it would make them so.
class Single {
 public:
  explicit Single(const std::vector<Sample>& samples) {
    for (unsigned job = 0; job < bench::peers::jobs; ++job)
      for (unsigned rank = 0; rank < bench::peers::ranks; ++rank) {
        Member& member = members_.emplace_back();
        const schemas::EntryBuilder::Value value[] = {{"value", 0, {}, false}};
        member.builder.about(name_of(job));
        member.builder.sample(origin, schemas::EntryBuilder::rank(rank), value);
        member.entry = member.builder.entry();
        member.block = member.entry.samples[0];
        member.entry.samples = {&member.block, 1};
      }
    for (const Sample& sample : samples) {
      times_.push_back(time_of(sample));
      values_.push_back(static_cast<float>(sample.value));
      of_.push_back(sample.job * bench::peers::ranks + sample.rank);
    }
  }
  void feed(Engine& engine, std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < end; ++i) {
      Member& member = members_[of_[i]];
      member.block.times = {&times_[i], 1};
      member.block.narrow = {&values_[i], 1};
      member.entry.position = static_cast<stream::Position>(engine.at);
      member.entry.next = static_cast<stream::Position>(++engine.at);
      member.entry.appended = member.entry.arrival = times_[i];
      engine.shard.consume(member.entry);
    }
  }

 private:
  struct Member {
    schemas::EntryBuilder builder;
    stream::SampleBlock block;
    stream::Entry entry;
  };
  std::deque<Member> members_;
  std::vector<Time> times_;
  std::vector<float> values_;
  std::vector<std::uint32_t> of_;
};

// Samples as messages of a log: `width` ranks of a job and a second in each.
class Encoded {
 public:
  Encoded(const std::vector<Sample>& samples, unsigned width) {
    for (std::size_t i = 0; i < samples.size();) {
      const Sample& first = samples[i];
      schemas::EntryBuilder builder;
      builder.about(name_of(first.job));
      for (; i < samples.size() && samples[i].t == first.t && samples[i].job == first.job &&
             samples[i].rank / width == first.rank / width;
           ++i) {
        const schemas::EntryBuilder::Value value[] = {{"value", static_cast<double>(samples[i].value), {}, false}};
        builder.sample(time_of(samples[i]), schemas::EntryBuilder::rank(samples[i].rank), value);
      }
      messages_.add(schemas::encode(builder.entry()));
      ends_.push_back(i);
      times_.push_back(time_of(first));
    }
  }
  // Messages do not reach beyond a second.
  void feed(Engine& engine, std::size_t from, std::size_t end) {
    if (from == 0) next_ = 0;
    for (; next_ < ends_.size() && ends_[next_] <= end; ++next_) engine.consume(messages_[next_], times_[next_]);
  }

 private:
  bench::Messages messages_;
  std::vector<std::size_t> ends_;
  std::vector<Time> times_;
  std::size_t next_ = 0;
};

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The whole log, a beat after each second.
std::pair<double, double> pass(const stream::LoadedPack& rules, const std::vector<Sample>& samples, unsigned seconds,
                               auto& source, Alerts& alerts) {
  Engine engine{rules};
  for (unsigned job = 0; job < bench::peers::jobs; ++job)
    for (const auto& message : bench::Load{bench::peers::ranks, {}, {}, name_of(job)}.start())
      engine.consume(message, bench::begin);
  const auto beat = bench::Load::beat();
  const double wall = wall_seconds();
  const auto cpu = Clock::now();
  std::size_t at = 0;
  for (unsigned s = 0; s < seconds + beats_at_end; ++s) {
    std::size_t end = at;
    while (end < samples.size() && samples[end].second == static_cast<std::int32_t>(s)) ++end;
    source.feed(engine, at, end);
    engine.consume(beat, origin + std::chrono::seconds{s});
    at = end;
  }
  const std::pair took{std::chrono::duration<double>(Clock::now() - cpu).count(), wall_seconds() - wall};
  const stream::Counters& counted = engine.shard.counters();
  if (engine.sink.still_firing() != 0 || counted.samples != samples.size() || counted.alerts_over_limit != 0 ||
      counted.late + counted.unwanted + counted.unknown_signal + counted.duplicates != 0)
    fmt::print(stderr,
               "not all was judged: {} alerts fire, {} samples of {}, {} late, {} unwanted, {} unknown, {} duplicates, "
               "{} alerts over the limit\n",
               engine.sink.still_firing(), counted.samples, samples.size(), counted.late, counted.unwanted,
               counted.unknown_signal, counted.duplicates, counted.alerts_over_limit),
        std::exit(1);
  alerts = engine.sink.alerts;
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string workloads = argc > 1 ? argv[1] : "";
  if (argc < 3 || workloads.empty() || workloads.find_first_not_of("12345") != std::string::npos)
    std::fprintf(stderr, "usage: bench_peers_tocsin WORKLOADS RANKS_A_MESSAGE [SECONDS [PASSES]]\n"), std::exit(2);
  const auto width = static_cast<unsigned>(std::atoi(argv[2]));
  const unsigned seconds = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1200;
  const unsigned passes = argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 2;
  const auto rules = pack(workloads, seconds);
  const auto samples = bench::peers::samples(seconds, true);
  const auto judge = [&](auto source) {
    bench::peers::report(workloads, samples.size(), passes,
                         [&](Alerts& alerts) { return pass(rules, samples, seconds, source, alerts); });
  };
  if (width == 0) judge(Single{samples});
  else judge(Encoded{samples, width});
  return 0;
}
