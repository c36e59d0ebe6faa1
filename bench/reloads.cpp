// What reloads cost the shard that judges: five jobs of 512 ranks x 20 signals, whose rules change once a second, with
// the store of packs, the runner and the records of the state as in the service, but without a broker. Printed is the
// CPU time between two reads of the log (a pause), and what the heap holds. Each pack is compiled by another thread,
// outside the measured time. Repeat with: build/release/bench/bench_reloads [--quick] [--without] [--times N] [--jobs
// N] [--ranks N]
// --without: the same time without a reload, to compare the memory, which grows until the windows are full.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "adapters/kafka/state_records.h"
#include "adapters/packs/compile.h"
#include "adapters/packs/pack_store.h"
#include "adapters/runtime/shard_runner.h"
#include "bench/load.h"
#include "bench/machine.h"

namespace {

using namespace tocsin;
using bench::begin;
using bench::Clock;
using stream::Time;

constexpr unsigned settling = 45, behind = 15;  // seconds before the first reload, and behind the last
constexpr unsigned lead = 3;                    // seconds: a pack takes effect so much after its record
constexpr unsigned reads_a_second = 125;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// The shipped rules and those of the chaos tests, in a version of their own.
stream::LoadedPack pack_of(dsl::PackFiles files, unsigned version) {
  files["chaos.lua"] = fmt::format("-- Version {}\n", version) + files["chaos.lua"];
  stream::LoadedPack loaded;
  std::thread{[&] {
    auto outcome = adapters::packs::compile(files);
    if (!outcome.pack) fmt::print(stderr, "{}\n", dsl::list(outcome.errors())), std::exit(2);
    loaded = std::move(*outcome.pack);
  }}.join();
  ::malloc_trim(0);  // as the service does
  return loaded;
}

dsl::PackFiles rule_files() {
  auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  if (!files) fmt::print(stderr, "{}\n", files.error().message), std::exit(2);
  std::ifstream added{TOCSIN_SOURCE_DIR "/tests/chaos/rules/chaos.lua"};
  (*files)["chaos.lua"] = std::string{std::istreambuf_iterator<char>{added}, {}};
  return *files;
}

class Log final : public stream::LogReader {
 public:
  void add(std::vector<std::byte> message, Time at) { messages_.push_back({std::move(message), at}); }
  stream::Result<const stream::Entry*> next() override {
    if (messages_.empty()) return static_cast<const stream::Entry*>(nullptr);
    const auto& [bytes, at] = messages_.front();
    auto entry = decoder_.decode(bytes, stream::Position{position_}, stream::Position{position_ + 1}, at);
    ++position_;
    messages_.pop_front();  // an entry has its own copy
    return entry;
  }
  stream::Result<void> seek(stream::Position) override { return {}; }
  stream::Result<stream::Position> oldest() override { return stream::Position{}; }

 private:
  std::deque<std::pair<std::vector<std::byte>, Time>> messages_;
  std::uint64_t position_ = 0;
  schemas::Decoder decoder_;
};

// Makes the records that a transaction would write, and copies them as a producer's queue does.
class State final : public stream::BundleSink, public stream::SnapshotStore {
 public:
  stream::Result<void> keep(const stream::Bundle& bundle) override {
    auto records = adapters::kafka::write_state(bundle, 0, index_);
    if (!records) return records.error();
    for (const auto& record : *records) {
      const std::vector<std::byte> queued = record.value;
      bytes += queued.size();
    }
    sections += bundle.sections.size();
    reports += bundle.reports.size();
    ++bundles;
    return {};
  }
  stream::Result<std::optional<stream::Stored>> newest() override { return std::optional<stream::Stored>{}; }
  std::size_t bytes = 0, sections = 0, reports = 0, bundles = 0;

 private:
  adapters::kafka::StateIndex index_;
};

struct Pause {
  unsigned second = 0;
  Clock::duration all{}, handing_over{};
};

struct Memory {
  double in_use = 0, resident = 0;  // MiB
};
Memory memory() {
  const auto heap = ::mallinfo2();
  std::ifstream statm{"/proc/self/statm"};
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return {static_cast<double>(heap.uordblks + heap.hblkhd) / 1048576.0,
          static_cast<double>(resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) / 1048576.0};
}

class Run {
 public:
  Run(unsigned jobs, unsigned ranks)
      : files_(rule_files()),
        first_(pack_of(files_, 0)),
        hold_(store_),
        runner_(first_, {log_, state_, store_, &state_, true}) {
    store_.add(first_);
    for (unsigned job = 0; job < jobs; ++job)
      loads_.emplace_back(ranks, bench::gpu_signals, bench::rank_signals, "load" + std::to_string(job));
    for (const auto& load : loads_)
      for (auto& message : load.start()) log_.add(std::move(message), begin);
  }

  void reloads(unsigned times, bool without) {
    for (unsigned s = 1; s < settling + times + behind; ++s) {
      const bool reload = s >= settling && s < settling + times;
      if (s == settling) before_ = memory();
      if (reload && (s - settling) % std::max(1u, times / 10) == 0) on_the_way_.push_back(memory());
      if (reload && !without) announce(s);
      second(s);
      if (reload && s + 1 == settling + times) after_ = memory();
    }
    end_ = memory();
    ::malloc_trim(0);
    const double trimmed = memory().resident;
    print("before the reloads", 15, settling);
    print("while reloads went on", settling, settling + times + lead + 1);
    fmt::print("heap before the first {:.0f} MiB, behind the last {:.0f}, at the end {:.0f}; on the way",
               before_.in_use, after_.in_use, end_.in_use);
    for (const Memory& one : on_the_way_) fmt::print(" {:.0f}", one.in_use);
    fmt::print("\nresident before the first {:.0f} MiB, behind the last {:.0f}, at the end {:.0f}; on the way",
               before_.resident, after_.resident, end_.resident);
    for (const Memory& one : on_the_way_) fmt::print(" {:.0f}", one.resident);
    fmt::print("; {:.0f} once the allocator gave back what is free", trimmed);
    fmt::print("\npacks in the store {}, {} of them compiled; {} bundles with {} sections, {:.0f} MB, and {} reports\n",
               store_.kept(), store_.compiled_now(), state_.bundles, state_.sections,
               static_cast<double>(state_.bytes) / 1e6, state_.reports);
    std::uint64_t all = 0;
    for (const auto& [job, digest] : runner_.shard().digests()) all = all * 31 + digest;
    fmt::print("digest of all jobs {:016x}\n", all);
  }

 private:
  void announce(unsigned s) {
    const stream::LoadedPack pack = pack_of(files_, s);
    store_.add(pack);
    schemas::EntryBuilder record;
    record.pack(pack.pack->hash, begin + std::chrono::seconds{s + lead}, pack.pack->text);
    log_.add(schemas::encode(record.entry()), begin + std::chrono::seconds{s});
  }
  // The messages of all jobs are spread over the second.
  void second(unsigned s) {
    std::vector<std::vector<std::vector<std::byte>>> messages;
    for (const auto& load : loads_) messages.push_back(load.second_of(s));
    const std::size_t nodes = messages.front().size();
    for (unsigned read = 0; read < reads_a_second; ++read) {
      const Time now = begin + std::chrono::seconds{s} + std::chrono::milliseconds{1000 / reads_a_second} * read;
      for (std::size_t node = nodes * read / reads_a_second; node < nodes * (read + 1) / reads_a_second; ++node)
        for (auto& of_job : messages) log_.add(std::move(of_job[node]), now);
      if (read == 0) log_.add(bench::Load::beat(), now);
      judge(s, read == 0);
    }
  }
  void judge(unsigned s, bool answer) {
    Pause pause{s, {}, {}};
    const auto begun = Clock::now();
    while (*runner_.step(1024, adapters::runtime::ShardRunner::ticks_a_step, true) > 0) {
      if (!runner_.waits()) continue;
      const auto handed = Clock::now();
      if (auto kept = runner_.hand_over(); !kept) fmt::print(stderr, "{}\n", kept.error().message), std::exit(1);
      pause.handing_over += Clock::now() - handed;
    }
    if (answer) hold_.needs(runner_.shard().packs_in_use(), runner_.shard().packs_to_come());
    pause.all = Clock::now() - begun;
    pauses_.push_back(pause);
  }
  void print(const char* what, unsigned from, unsigned to) const {
    std::vector<Pause> some;
    Clock::duration all{};
    for (const Pause& pause : pauses_)
      if (pause.second >= from && pause.second < to) some.push_back(pause), all += pause.all;
    std::sort(some.begin(), some.end(), [](const Pause& a, const Pause& b) { return a.all > b.all; });
    const auto above = [&](double ms) {
      return std::count_if(some.begin(), some.end(), [&](const Pause& p) { return milliseconds(p.all) > ms; });
    };
    fmt::print(
        "pauses {}: longest {:.1f} ms ({:.1f} of them to hand over), the tenth {:.1f} ({:.1f}); above 50 ms {}, above "
        "20 ms {}; {:.1f} % "
        "of a core\n",
        what, milliseconds(some.front().all), milliseconds(some.front().handing_over), milliseconds(some[9].all),
        milliseconds(some[9].handing_over), above(50), above(20), milliseconds(all) / 10 / (to - from));
  }

  dsl::PackFiles files_;
  stream::LoadedPack first_;
  adapters::packs::PackStore store_;
  adapters::packs::PackStore::Hold hold_;
  Log log_;
  State state_;
  adapters::runtime::ShardRunner runner_;
  std::vector<bench::Load> loads_;
  std::vector<Pause> pauses_;
  Memory before_, after_, end_;
  std::vector<Memory> on_the_way_;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned times = 200, jobs = 5, ranks = 512;
  bool without = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&](unsigned& to) {
      i + 1 < argc ? static_cast<void>(to = static_cast<unsigned>(std::atoi(argv[++i]))) : std::exit(2);
    };
    if (argument == "--quick") times = 20;
    else if (argument == "--without") without = true;
    else if (argument == "--times") number(times);
    else if (argument == "--jobs") number(jobs);
    else if (argument == "--ranks") number(ranks);
    else
      fmt::print(stderr, "usage: bench_reloads [--quick] [--without] [--times N] [--jobs N] [--ranks N]\n"),
          std::exit(2);
  }
  bench::name_machine();
  fmt::print("{} reloads, one a second{}, of {} jobs of {} ranks x 20 signals; CPU time of the thread that judges\n",
             times, without ? ", left out" : "", jobs, ranks);
  Run run{jobs, ranks};
  run.reloads(times, without);
  return 0;
}
