// The five workloads by tocsin: the rules of bench/peers/rules in a shard on one core. Repeat with:
// build/release/bench/peers/bench_peers_tocsin WORKLOADS RANKS ordered|late SECONDS PASSES, where WORKLOADS are digits,
// "3" or "12345", and RANKS is how many ranks of a job share a message; 0: samples come alone, and are decoded already.
#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <tuple>

#include "bench/counted.h"
#include "bench/engine.h"
#include "bench/messages.h"
#include "bench/peers/samples.h"

namespace {

using namespace tocsin;
using bench::Clock;
using bench::peers::Alerts;
using bench::peers::Log;
using bench::peers::Sample;
using stream::Time;
using namespace std::chrono_literals;

constexpr Time origin = stream::at_nanoseconds(1'780'000'001 * bench::second);  // of the samples' times
// A tick waits for late samples for 5 s, and by its phase up to 1 s longer.
constexpr unsigned beats_at_end = 10;

Time time_of(std::int32_t milliseconds) { return origin + std::chrono::milliseconds{milliseconds}; }
std::string name_of(unsigned job) { return "job" + std::to_string(job); }

// The alerts of each workload, one for each second for which tocsin's fires, as the other engines report them.
class Found final : public stream::AlertSink {
 public:
  void transition(const stream::AlertTransition& transition) override {
    const auto workload = static_cast<std::size_t>(transition.rule.back() - '0');
    const auto job = static_cast<std::uint16_t>(transition.subject.back() - '0');
    const auto rank = static_cast<std::uint16_t>(*transition.member.rank);
    const std::int64_t second = (transition.at - origin) / 1s;
    if (transition.state == stream::AlertState::firing) {
      open_[transition.id] = second;
      if (workload != 4) return;
      const double age = transition.evidence.at(0).second;  // at the end of the tick's wait for late samples
      const auto arrival = (transition.at - origin) / 1ms + 5000 - static_cast<std::int64_t>(age * 1000 + 0.5);
      silences_.push_back({job, rank, static_cast<std::int32_t>(arrival)});
      return;
    }
    if (workload != 4)
      for (std::int64_t each = open_.at(transition.id); each < second; ++each)
        alerts_[workload].add(workload, job, rank, each * 1000);
    open_.erase(transition.id);
  }
  void verdict(const stream::Verdict&) override {}
  [[nodiscard]] std::size_t still_firing() const { return open_.size(); }
  // An alert of w4 knows when the last sample arrived; the others give its time.
  [[nodiscard]] Alerts alerts(const Log& log) const {
    Alerts all = alerts_;
    for (const Silence& silence : silences_) {
      std::int32_t last = -1;
      for (std::size_t i = 0; i < log.samples.size() && log.arrivals[i] <= silence.since; ++i)
        if (log.samples[i].job == silence.job && log.samples[i].rank == silence.rank)
          last = std::max(last, log.samples[i].t);
      all[4].add(4, silence.job, silence.rank, last);
    }
    return all;
  }

 private:
  struct Silence {
    std::uint16_t job, rank;
    std::int32_t since;  // ms
  };
  Alerts alerts_{};
  std::vector<Silence> silences_;
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
  explicit Single(const Log& log) {
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
    for (std::size_t i = 0; i < log.samples.size(); ++i) {
      const Sample& sample = log.samples[i];
      times_.push_back(time_of(sample.t));
      arrivals_.push_back(time_of(log.arrivals[i]));
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
      member.entry.appended = member.entry.arrival = arrivals_[i];
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
  std::vector<Time> times_, arrivals_;
  std::vector<float> values_;
  std::vector<std::uint32_t> of_;
};

// Samples as messages of a log: each with those of `width` ranks of a job that arrived within a second, at its end.
class Encoded {
 public:
  Encoded(const Log& log, unsigned width) {
    const auto second = [&](std::size_t i) { return (log.arrivals[i] + 999) / 1000; };
    for (std::size_t from = 0, end = 0; from < log.samples.size(); from = end) {
      while (end < log.samples.size() && second(end) == second(from)) ++end;
      std::vector<Sample> sent(log.samples.begin() + static_cast<std::ptrdiff_t>(from),
                               log.samples.begin() + static_cast<std::ptrdiff_t>(end));
      const auto sender = [width](const Sample& s) { return std::pair{s.job, s.rank / width}; };
      std::sort(sent.begin(), sent.end(), [&](const Sample& a, const Sample& b) {
        return std::tuple{sender(a), a.t, a.rank} < std::tuple{sender(b), b.t, b.rank};
      });
      for (std::size_t i = 0; i < sent.size();) {
        const auto from_sender = sender(sent[i]);
        schemas::EntryBuilder builder;
        builder.about(name_of(sent[i].job));
        for (; i < sent.size() && sender(sent[i]) == from_sender; ++i) {
          const schemas::EntryBuilder::Value value[] = {{"value", static_cast<double>(sent[i].value), {}, false}};
          builder.sample(time_of(sent[i].t), schemas::EntryBuilder::rank(sent[i].rank), value);
        }
        messages_.add(schemas::encode(builder.entry()));
        ends_.push_back(from + i);
        arrivals_.push_back(time_of(second(from) * 1000));
      }
    }
  }
  void feed(Engine& engine, std::size_t from, std::size_t end) {
    if (from == 0) next_ = 0;
    for (; next_ < ends_.size() && ends_[next_] <= end; ++next_) engine.consume(messages_[next_], arrivals_[next_]);
  }

 private:
  bench::Messages messages_;
  std::vector<std::size_t> ends_;  // of each: how many samples the messages up to it hold
  std::vector<Time> arrivals_;
  std::size_t next_ = 0;
};

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The whole log, a beat after each second.
std::pair<double, double> pass(const stream::LoadedPack& rules, const Log& log, unsigned seconds, auto& source,
                               Alerts& alerts) {
  Engine engine{rules};
  for (unsigned job = 0; job < bench::peers::jobs; ++job)
    for (const auto& message : bench::Load{bench::peers::ranks, {}, {}, name_of(job)}.start())
      engine.consume(message, bench::begin);
  const auto beat = bench::Load::beat();
  const double wall = wall_seconds();
  const auto cpu = Clock::now();
  std::size_t at = 0;
  for (unsigned s = 0; s < seconds + beats_at_end; ++s) {
    if (s == seconds / 2) bench::start_counting();
    if (s == seconds) bench::stop_counting("second half");
    std::size_t end = at;
    while (end < log.arrivals.size() && log.arrivals[end] <= static_cast<std::int32_t>(s * 1000)) ++end;
    source.feed(engine, at, end);
    engine.consume(beat, origin + std::chrono::seconds{s});
    at = end;
  }
  const std::pair took{std::chrono::duration<double>(Clock::now() - cpu).count(), wall_seconds() - wall};
  const stream::Counters& counted = engine.shard.counters();
  if (engine.sink.still_firing() != 0 || counted.samples != log.samples.size() || counted.alerts_over_limit != 0 ||
      counted.late + counted.unwanted + counted.unknown_signal + counted.duplicates != 0)
    fmt::print(stderr,
               "not all was judged: {} alerts fire, {} samples of {}, {} late, {} unwanted, {} unknown, {} duplicates, "
               "{} alerts over the limit\n",
               engine.sink.still_firing(), counted.samples, log.samples.size(), counted.late, counted.unwanted,
               counted.unknown_signal, counted.duplicates, counted.alerts_over_limit),
        std::exit(1);
  alerts = engine.sink.alerts(log);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string workloads = argc > 1 ? argv[1] : "";
  if (argc != 6 || workloads.empty() || workloads.find_first_not_of("12345") != std::string::npos)
    std::fprintf(stderr, "usage: bench_peers_tocsin WORKLOADS RANKS ordered|late SECONDS PASSES\n"), std::exit(2);
  const auto number = [&](int i) { return static_cast<unsigned>(std::atoi(argv[i])); };
  const unsigned ranks = number(2), seconds = number(4), passes = number(5);
  const auto rules = pack(workloads, seconds);
  const Log log = bench::peers::log_of(seconds, std::string{argv[3]} == "late");
  const auto judge = [&](auto source) {
    bench::peers::report(workloads, log.samples.size(), passes,
                         [&](Alerts& alerts) { return pass(rules, log, seconds, source, alerts); });
  };
  if (ranks == 0) judge(Single{log});
  else judge(Encoded{log, ranks});
  return 0;
}
